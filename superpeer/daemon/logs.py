"""Structured logs: a line for each event, as key=value or as JSON.

An event is a short sentence with fields: `note(log, "a peer connected", peer=...)`. Fields are public: ids that anybody
may see, addresses, counts and reasons. Nothing that authenticates somebody is ever given to a logger.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
FIELDS = "superpeer_fields"


def note(log: logging.Logger, event: str, level: int = logging.INFO, **fields: object) -> None:
    """Log an event with its fields, if somebody listens."""
    if log.isEnabledFor(level):
        log.log(level, "%s", event, extra={FIELDS: fields})


def set_up(log_format: str, level: str, stream: TextIO | None = None) -> None:
    """Send everything that is logged to one stream, standard error by default."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if log_format == "json" else KeyValues())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(LEVELS[level])


class KeyValues(logging.Formatter):
    """time=... level=... event="..." key=value ..."""

    def format(self, record: logging.LogRecord) -> str:
        return " ".join(f"{key}={_plain(value)}" for key, value in _contents(self, record).items())


class JsonLines(logging.Formatter):
    """{"time": ..., "level": ..., "event": ..., ...}"""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(_contents(self, record), default=str, ensure_ascii=False)


def _contents(formatter: logging.Formatter, record: logging.LogRecord) -> dict[str, Any]:
    time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    contents: dict[str, Any] = {
        "time": time.replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "from": record.name.removeprefix("superpeer."),
        "event": record.getMessage(),
    }
    contents.update(getattr(record, FIELDS, {}))
    if record.exc_info:
        contents["error"] = formatter.formatException(record.exc_info)
    return contents


def _plain(value: object) -> str:
    """A value that can be told from the next key: quoted if there is anything unusual in it."""
    text = str(value)
    is_plain = text and text.isprintable() and not any(character in text for character in ' "=\\')
    return text if is_plain else json.dumps(text, ensure_ascii=False)
