"""Compiling beside the work: a process that may not stand still has the matcher compiled, or loaded, in a thread.

This module imports nothing that is heavy.
"""

from __future__ import annotations

from threading import Lock, Thread

_lock = Lock()
_thread: Thread | None = None


def begin_warm_up() -> None:
    """Begins to make the matcher ready, once in a process."""
    global _thread  # noqa: PLW0603 - compiled code is the process's
    with _lock:
        if _thread is None:
            _thread = Thread(target=_warm_up, name="warm-up", daemon=True)
            _thread.start()


def is_warming_up() -> bool:
    """Whether whoever used the matcher now would have to wait."""
    return _thread is not None and _thread.is_alive()


def _warm_up() -> None:
    from superpeer.matching.warming import warm_up

    warm_up()
