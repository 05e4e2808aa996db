"""Keys and identifiers as values: bytes of one length, with a text form that catches typing errors.

The text form is a prefix that tells the kind, and the bytes with a checksum in base32, lower case:

    spk-...   a public key        32 bytes and a checksum of 3: 56 characters after the prefix
    spi-...   a public id         32 and 3: 56 characters
    kid-...   the id of a key     16 and 4: 32 characters

The checksum is a hash of prefix and bytes. One typing error in 2^24 goes unnoticed, and none turns one kind into
another. These characters need no quoting in a shell, a URL or a file name.
"""

from __future__ import annotations

from base64 import b32decode, b32encode
from binascii import Error as Base32Error
from functools import lru_cache
from typing import ClassVar, NoReturn, Self

from auth.errors import InvalidIdentifier, InvalidKey, InvalidValue
from auth.statements import Domain, digest


class Value:
    """An immutable string of bytes of one length and one meaning; equal only to its own kind."""

    __slots__ = ("raw",)

    SIZE: ClassVar[int]
    CHECK_SIZE: ClassVar[int]
    PREFIX: ClassVar[str]
    WHAT: ClassVar[str]
    ERROR: ClassVar[type[InvalidValue]]

    raw: bytes

    def __init__(self, raw: bytes) -> None:
        if len(raw) != self.SIZE:
            raise self.ERROR(f"{self.WHAT} has {self.SIZE} bytes; copy it again, whole")
        object.__setattr__(self, "raw", raw)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text form; capital letters and surrounding white space are forgiven."""
        written = text.strip().lower()
        expected = len(cls.PREFIX) + (cls.SIZE + cls.CHECK_SIZE) * 8 // 5
        if not written.startswith(cls.PREFIX):
            raise cls.ERROR(f"{cls.WHAT} starts with {cls.PREFIX}; check that you copied the right thing")
        if len(written) != expected:
            raise cls.ERROR(f"{cls.WHAT} has {expected} characters, not {len(written)}; copy it again, whole")
        try:
            decoded = b32decode(written[len(cls.PREFIX) :].upper())
        except (Base32Error, ValueError) as error:
            raise cls.ERROR(f"{cls.WHAT} has only letters and the digits 2 to 7 after its prefix") from error
        raw, check = decoded[: cls.SIZE], decoded[cls.SIZE :]
        if check != cls._check(raw):
            raise cls.ERROR(f"{cls.WHAT} is mistyped: its checksum does not fit; copy it again")
        return cls(raw)

    @property
    def text(self) -> str:
        return _written(self.PREFIX, self.raw, self.CHECK_SIZE)

    @classmethod
    def _check(cls, raw: bytes) -> bytes:
        return _checksum(cls.PREFIX, raw, cls.CHECK_SIZE)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{type(self).__name__}.parse({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return self.raw == other.raw if isinstance(other, Value) and type(other) is type(self) else NotImplemented

    def __lt__(self, other: Self) -> bool:
        return self.raw < other.raw if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.PREFIX, self.raw))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self.WHAT} is immutable: {name} cannot be set")

    def __reduce__(self) -> tuple[type[Self], tuple[bytes]]:
        return type(self), (self.raw,)


@lru_cache(maxsize=65_536)
def _written(prefix: str, raw: bytes, check_size: int) -> str:
    """The text form. Remembered, because those who serve many peers call them by it again and again."""
    return prefix + b32encode(raw + _checksum(prefix, raw, check_size)).decode().lower()


def _checksum(prefix: str, raw: bytes, size: int) -> bytes:
    return digest(Domain.TEXT_CHECK, prefix.encode(), raw, size=size)


class KeyId(Value):
    """A short name of a key for logs and tables: a hash, so it cannot be chosen to look like another's."""

    __slots__ = ()

    SIZE = 16
    CHECK_SIZE = 4
    PREFIX = "kid-"
    WHAT = "a key id"
    ERROR = InvalidIdentifier


class PublicKey(Value):
    """An Ed25519 public key: who somebody is."""

    __slots__ = ()

    SIZE = 32
    CHECK_SIZE = 3
    PREFIX = "spk-"
    WHAT = "a public key"
    ERROR = InvalidKey

    @property
    def id(self) -> KeyId:
        return KeyId(digest(Domain.KEY_ID, self.raw, size=KeyId.SIZE))
