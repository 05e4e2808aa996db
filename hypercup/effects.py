"""What a member asks of whoever drives it."""

from __future__ import annotations

from typing import NamedTuple

from hypercup.messages import AnyMessage
from hypercup.view import View


class Send(NamedTuple):
    """Carry a message to an address. It may be lost."""

    address: str
    message: AnyMessage


class ViewChanged(NamedTuple):
    """The member is in another view from now on."""

    view: View


class Stopped(NamedTuple):
    """The member has left, and somebody has heard its farewell or there is nobody to hear it."""

    heard: bool


Effect = Send | ViewChanged | Stopped
