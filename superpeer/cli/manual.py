"""The manual of the command line, docs/cli.md, written by the commands themselves: `python -m superpeer.cli.manual`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from superpeer.cli import app
from superpeer.cli.serve import build

WIDTH = 110
HEAD = """# The command line

This page is written by the commands themselves (`python -m superpeer.cli.manual > docs/cli.md`), and a test compares
the two. How to run a network is in [operations.md](operations.md), the language of queries in [qel.md](qel.md).

## Contexts

A context remembers which super-peer and which identity to use, so that commands need not be told every time:

    superpeer context add anna --super-peer sp.example.org:7400#spk-... --use
    superpeer register
    superpeer subscribe two-authors.qel
    superpeer listen

What options say wins over the context. The context is the one that `--context` names, else that of the variable
`SUPERPEER_CONTEXT`, else the one that `superpeer context use` chose. Contexts are in `superpeer/contexts.toml` under
`XDG_CONFIG_HOME` (else `~/.config`); a peer whose directory nobody named is in `superpeer/NAME` under `XDG_DATA_HOME`
(else `~/.local/share`).

A peer's directory has all that it is: its key, its credentials, its subscriptions, its outbox and how far it got. One
process uses it at a time: while `superpeer listen` runs, other commands for the same peer are refused.

Admins have a context with `--admin-socket` (the super-peer runs on this machine, and they may use its directory), or
with `--super-peer` and `--admin-key` (from elsewhere, with a key that is among the `admins` of its configuration).

## Exit codes

| code | meaning |
|---|---|
| 0 | done; or "yes" |
| 1 | the answer is "no", or there is nothing (yet) |
| 2 | an error, which is one sentence on standard error: wrong usage, bad input, or a refusal of the super-peer |
| 3 | nobody answered in time; the same may succeed later, and what is in an outbox stays there |
| 130 | interrupted with Ctrl-C; nothing is lost |

The code is 1 for: `qel subsumes` that says no; `query` without answers; `listen --count` that ended before so many
came; `fetch` of what has not come yet; `explain --peer` of a notification that did not reach the peer.

## Output

Listings are tables, or JSON with `--json`. What comes to a peer is printed as tables, as JSON lines or as Turtle
(`--format`). What is not the answer itself (counts, warnings, progress) goes to standard error. Text that comes from
files or from the network cannot command the terminal: what is no character of a line is replaced.

## Variables

| variable | meaning |
|---|---|
| `SUPERPEER_CONTEXT` | the context to use |
| `SUPERPEER_PASSPHRASE` | the passphrase of a key file, for those who cannot type it |

## Shell completion

`superpeer --install-completion` sets it up for the shell it is run in: bash, zsh, fish or PowerShell.
`superpeer --show-completion` prints it instead. Commands, options and the names of contexts are completed.
"""


def manual() -> str:
    """The whole page."""
    return "\n".join([HEAD, "## Commands", "", *_sections()])


def _sections() -> Iterator[str]:
    root: Any = typer.main.get_command(app)
    for names, command in _commands(root, ()):
        yield f"### superpeer {' '.join(names)}".rstrip()
        yield ""
        yield "```text"
        yield _help(build() if names == ("serve",) else command, " ".join(("superpeer", *names)))
        yield "```"
        yield ""


def _commands(group: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if command.hidden:
            continue
        yield (*names, name), command
        if hasattr(command, "commands"):
            yield from _commands(command, (*names, name))


def _help(command: Any, name: str) -> str:
    context = command.make_context(
        name, [], resilient_parsing=True, terminal_width=WIDTH, max_content_width=WIDTH, color=False
    )
    return "\n".join(line.rstrip() for line in command.get_help(context).strip().splitlines())


if __name__ == "__main__":
    print(manual(), end="")
