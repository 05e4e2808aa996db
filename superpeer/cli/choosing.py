"""Which super-peer and which identity a command is about: what its options say, then the context, then defaults.

The context is the one that `--context` names, else SUPERPEER_CONTEXT, else the one chosen with `superpeer context use`.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from superpeer.cli.contexts import DEFAULT_PEER, Context, default_directory, read_contexts
from superpeer.errors import SuperpeerError

CONTEXT_VARIABLE = "SUPERPEER_CONTEXT"
PASSPHRASE_VARIABLE = "SUPERPEER_PASSPHRASE"


def complete_context(incomplete: str) -> list[str]:
    """For shells."""
    try:
        return [name for name in sorted(read_contexts().named) if name.startswith(incomplete)]
    except SuperpeerError:
        return []


ContextOption = Annotated[
    str,
    typer.Option(
        "--context",
        "-c",
        metavar="NAME",
        envvar=CONTEXT_VARIABLE,
        autocompletion=complete_context,
        help="The context to use; else the current one.",
    ),
]
SuperPeerOption = Annotated[
    str,
    typer.Option("--super-peer", metavar="HOST:PORT#KEY", help="The super-peer, instead of that of the context."),
]
DirectoryOption = Annotated[
    str,
    typer.Option("--directory", "-d", metavar="DIR", help="The peer's directory, instead of that of the context."),
]
AdminSocketOption = Annotated[
    str,
    typer.Option("--admin-socket", metavar="PATH", help="The admin socket of a super-peer on this machine."),
]
AdminKeyOption = Annotated[
    str,
    typer.Option("--admin-key", metavar="FILE", help="A key file of an admin, to connect with to --super-peer."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TimeoutOption = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0.1, max=86_400.0, help="How long to wait for the network.")
]


class NothingChosen(SuperpeerError):
    """A command was not told enough."""


@dataclass(frozen=True)
class Chosen:
    """A context with what was said on the command line put over it."""

    name: str
    context: Context

    @property
    def directory(self) -> Path:
        said = self.context.directory
        return Path(said).expanduser() if said else default_directory(self.name or DEFAULT_PEER)

    @property
    def super_peer(self) -> str:
        return self.context.super_peer


def choose(
    context: str = "", *, super_peer: str = "", directory: str = "", admin_socket: str = "", admin_key: str = ""
) -> Chosen:
    """What a command is about."""
    contexts = read_contexts()
    name = context or contexts.current
    known = contexts.get(name) if name else Context()
    # A socket that is named leads to one super-peer, and a key to another: whichever is said last is meant.
    is_socket_meant = bool(admin_socket) or not (admin_key or super_peer)
    return Chosen(
        name,
        Context(
            super_peer=super_peer or known.super_peer,
            directory=directory or known.directory,
            admin_socket=(admin_socket or known.admin_socket) if is_socket_meant else "",
            admin_key=admin_key or known.admin_key,
        ),
    )


def passphrase_for(path: Path | str) -> str | None:
    """The passphrase of a key file, if it has one: from the environment, or from whoever sits at the terminal."""
    from auth import KeyFileMissing, is_protected

    try:
        if not is_protected(path):
            return None
    except KeyFileMissing:
        return None
    said = os.environ.get(PASSPHRASE_VARIABLE)
    if said:
        return said
    if not sys.stdin.isatty():
        raise NothingChosen(f"{path} has a passphrase; give it in {PASSPHRASE_VARIABLE}, or ask at a terminal")
    return str(typer.prompt(f"Passphrase of {path}", hide_input=True, err=True))


def new_passphrase() -> str:
    """A passphrase for a new key file, asked for twice."""
    said = os.environ.get(PASSPHRASE_VARIABLE)
    if said:
        return said
    if not sys.stdin.isatty():
        raise NothingChosen(f"there is no terminal to ask for a passphrase; give it in {PASSPHRASE_VARIABLE}")
    return str(typer.prompt("Passphrase", hide_input=True, confirmation_prompt=True, err=True))
