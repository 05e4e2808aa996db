"""What can be wrong with a super-peer that is to run, or with what is asked of one.

SuperpeerError
 └── DaemonError
      ├── BadConfiguration   an option is unknown, or its value makes no sense
      ├── CannotServe        something that it needs is missing or does not fit: key, certificate, address
      └── AdminError         an admin asked for something that cannot be done
"""

from __future__ import annotations

from superpeer.errors import SuperpeerError


class DaemonError(SuperpeerError):
    """A super-peer cannot run, or not as it was told to."""


class BadConfiguration(DaemonError):
    pass


class CannotServe(DaemonError):
    pass


class AdminError(DaemonError):
    pass
