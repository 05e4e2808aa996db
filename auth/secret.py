"""What objects that hold a secret have in common: copies are the object itself, and no pickle carries it away."""

from __future__ import annotations

from typing import NoReturn, Self

from auth.errors import SecretNotPicklable


class Secret:
    """Base of the classes whose contents must not be duplicated or written by accident."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise SecretNotPicklable
