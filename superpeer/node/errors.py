"""What a super-peer refuses, and why.

SuperpeerError
 └── Refused                 changes nothing; the sentence says what to do
      ├── BadRequest         it makes no sense here: an unknown subscription, a name that is taken
      ├── BadPublication     not one subject, unreadable, not signed by its publisher
      ├── Nonconforming      not what the peer advertised; `missing` names what it did not
      ├── LimitReached       too large, too many, too often
      ├── OutOfTurn          what has to come before it is not here
      ├── NotHere            whoever it is for is not a peer of this super-peer
      └── Malformed          it cannot be read
"""

from __future__ import annotations

from superpeer.errors import SuperpeerError


class Refused(SuperpeerError):
    """A super-peer will not do what it was asked; nothing has changed."""

    serial = 0
    """Of the publication that it is about, of several that were handed in together; 0 if it is about no single one."""


class BadRequest(Refused):
    pass


class BadPublication(Refused):
    pass


class Nonconforming(Refused):
    def __init__(self, missing: tuple[str, ...]) -> None:
        self.missing = missing
        super().__init__(f"not advertised: {', '.join(missing)}; advertise it before publishing")


class LimitReached(Refused):
    def __init__(self, what: str, limit: float, advice: str) -> None:
        self.what = what
        self.limit = limit
        super().__init__(f"{what}: the limit is {limit:,.15g}; {advice}")


class OutOfTurn(Refused):
    pass


class NotHere(Refused):
    pass


class Malformed(Refused):
    pass
