"""Contexts: which super-peer, which identity. They are kept in a file, so that commands need not be told every time.

The file is `contexts.toml` in `superpeer` under XDG_CONFIG_HOME, or ~/.config. It names where keys are and has none;
still it is for its owner's eyes only, as it says whom somebody talks to.

    current = "anna"

    [contexts.anna]
    super_peer = "sp.example.org:7400#spk-..."
    directory = "/home/anna/.local/share/superpeer/anna"
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from superpeer.errors import SuperpeerError

MAX_FILE_BYTES = 1_000_000
MAX_CONTEXTS = 1_000
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
DEFAULT_PEER = "default"


class BadContext(SuperpeerError):
    """A context that is not there, or a file of contexts that makes no sense."""


@dataclass(frozen=True)
class Context:
    """What a command would otherwise have to be told. Empty means that it was not said."""

    super_peer: str = ""
    """HOST:PORT#KEY."""
    directory: str = ""
    """A peer's directory: its key, its credentials, its memory and its outbox."""
    admin_socket: str = ""
    """The socket of a super-peer on this machine, for admins."""
    admin_key: str = ""
    """A key file with which an admin connects to the super-peer from elsewhere."""

    @property
    def settings(self) -> dict[str, str]:
        """What was said."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name))}


@dataclass(frozen=True)
class Contexts:
    """All contexts, and the one that is used when nothing else is said."""

    named: Mapping[str, Context] = field(default_factory=dict)
    current: str = ""

    def get(self, name: str) -> Context:
        found = self.named.get(name)
        if found is None:
            there = f"there are {', '.join(sorted(self.named))}" if self.named else "there is none yet"
            raise BadContext(f"there is no context {name!r}; {there}, and `superpeer context add` makes one")
        return found

    def with_context(self, name: str, context: Context, *, use: bool) -> Contexts:
        check_name(name)
        if len(self.named) >= MAX_CONTEXTS and name not in self.named:
            raise BadContext(f"there are {MAX_CONTEXTS:,} contexts, which is the limit; remove one first")
        return replace(self, named={**self.named, name: context}, current=name if use else self.current)

    def using(self, name: str) -> Contexts:
        self.get(name)
        return replace(self, current=name)

    def without(self, name: str) -> Contexts:
        self.get(name)
        left = {other: context for other, context in self.named.items() if other != name}
        return replace(self, named=left, current="" if self.current == name else self.current)


def check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise BadContext(
            f"{name!r} cannot be the name of a context; use up to 64 letters, digits, dots, dashes and underscores"
        )


def contexts_path() -> Path:
    """Where contexts are kept."""
    return _base("XDG_CONFIG_HOME", ".config") / "superpeer" / "contexts.toml"


def default_directory(name: str = DEFAULT_PEER) -> Path:
    """Where a peer is kept if nobody says where."""
    check_name(name)
    return _base("XDG_DATA_HOME", ".local/share") / "superpeer" / name


def read_contexts(path: Path | None = None) -> Contexts:
    import tomllib

    path = path or contexts_path()
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return Contexts()
    except OSError as error:
        raise BadContext(f"{path} cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_FILE_BYTES:
        raise BadContext(f"{path} has more than {MAX_FILE_BYTES:,} bytes, which is the limit")
    try:
        table = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadContext(f"{path} is no TOML ({error}); correct it, or remove it and add contexts anew") from error
    return _understood(path, table)


def write_contexts(contexts: Contexts, path: Path | None = None) -> None:
    """Put them in place of what there was, whole or not at all."""
    import tempfile

    path = path or contexts_path()
    lines = [f"current = {_quoted(contexts.current)}"] if contexts.current else []
    for name, context in sorted(contexts.named.items()):
        lines += ["", f"[contexts.{_quoted(name)}]"]
        lines += [f"{key} = {_quoted(value)}" for key, value in context.settings.items()]
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A temporary file has mode 0600 from the start.
        handle, begun = tempfile.mkstemp(prefix=".contexts.", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
                file.flush()
                os.fsync(file.fileno())
            Path(begun).replace(path)
        except BaseException:
            Path(begun).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadContext(f"{path} cannot be written: {error.strerror or error}") from error


def _understood(path: Path, table: Mapping[str, Any]) -> Contexts:
    named: dict[str, Context] = {}
    known = {each.name for each in fields(Context)}
    sections = table.get("contexts", {})
    current = table.get("current", "")
    unknown = table.keys() - {"contexts", "current"}
    if unknown or not isinstance(sections, dict) or not isinstance(current, str):
        raise BadContext(f"{path} has something else than `current` and tables [contexts.NAME]; correct it")
    for name, section in sections.items():
        check_name(name)
        is_plain = isinstance(section, dict) and all(isinstance(value, str) for value in section.values())
        if not is_plain or section.keys() - known:
            raise BadContext(
                f"{path}: the context {name!r} may have {', '.join(sorted(known))}, each a text; correct it"
            )
        named[name] = Context(**section)
    if current and current not in named:
        raise BadContext(f"{path} names {current!r} as the current context, which is not there; correct it")
    return Contexts(named, current)


def _base(variable: str, otherwise: str) -> Path:
    """As the XDG specification has it: a relative path in the variable counts as none."""
    said = Path(os.environ.get(variable) or "-")
    return said if said.is_absolute() else Path.home() / otherwise


def _quoted(text: str) -> str:
    """A string of TOML: JSON's are, but for one character that JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
