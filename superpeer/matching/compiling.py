"""Compiled where numba is installed, plain Python where it is not: the same functions, the same answers.

Compiled code is kept on disk, so that only the first start pays for compiling. numba looks at the file of a function
to see whether what it kept is still right, but not at the files of the functions and constants that it uses: after a
change in one of them it would run what is out of date, and answers would be wrong. So what is kept stands under a
digest of all sources of the function's package and of this one, in the user's cache. Where that cannot be written, code
is compiled at each start.

This module imports numba, so only modules that are imported when a matcher is made may import it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar, cast

try:
    import numba
    from numba.cpython.unsafe.numbers import trailing_zeros as _trailing_zeros
except ImportError:
    numba = None  # type: ignore[assignment]

Function = TypeVar("Function", bound=Callable[..., Any])

HAS_COMPILER = numba is not None
_HERE = Path(__file__).parent


def compiled(function: Function) -> Function:
    """Compiles on first use. Numbers wrap around as in C, and indices are not checked."""
    if numba is None:
        return function
    directory = kept_in(Path(function.__code__.co_filename).parent)
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = directory or before
    try:
        # Where functions are kept is decided here, not when they are compiled.
        return cast(Function, numba.njit(cache=directory is not None, nogil=True)(function))
    finally:
        settings.CACHE_DIR = before


@cache
def kept_in(package: Path = _HERE) -> str | None:
    """The directory of compiled code for these very sources, which only its owner may write."""
    digest = blake2b(digest_size=16, person=b"matching-kernels")
    sources = sorted({*_HERE.glob("*.py"), *package.glob("*.py")})
    if not sources:
        # They are in an archive, and nothing says which version they are.
        return None
    for path in sources:
        digest.update(blake2b(path.name.encode()).digest() + blake2b(path.read_bytes()).digest())
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    directory = base / "superpeer" / f"kernels-{digest.hexdigest()}"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_ours = directory.stat().st_uid == os.getuid() and not directory.stat().st_mode & 0o022
    except OSError:
        return None
    return str(directory) if is_ours and os.access(directory, os.W_OK) else None


if numba is not None:

    @compiled
    def lowest_bit(word: Any) -> Any:
        """The position of the lowest bit that is set."""
        return _trailing_zeros(word)  # type: ignore[call-arg]

else:

    def lowest_bit(word: Any) -> Any:
        """The position of the lowest bit that is set."""
        number = int(word)
        return (number & -number).bit_length() - 1
