"""`superpeer serve`: run a super-peer, with every option of its configuration on the command line.

The options are read off the configuration itself, so that the two cannot differ. That needs much that the help of
other commands does not, so the command is built when it is wanted: `Group` does that.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from superpeer.daemon.config import Config, Option

HELP = """Run a super-peer until it is told to stop.

Options may be in a TOML file, too: a name has underscores there, and those below with a first word of limits,
connections, listener or timing are in a table of that name. The command line goes over the file. A first
signal lets it leave the backbone in peace, a second one ends it at once; neither loses anything.

\b
superpeer serve --data /var/lib/superpeer
superpeer serve --data /var/lib/superpeer --join sp.example.org:7400#spk-...
superpeer serve --config superpeer.toml --log-format json
"""


class Group(TyperGroup):
    """All commands, of which one is built when it is run or its own help is asked for."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, build() if name == "serve" else command, rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """By whom they are for."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            if not command.hidden:
                panels.setdefault(command.rich_help_panel, []).append((name, command.get_short_help_str(limit=90)))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


def serve() -> None:
    """Run a super-peer until it is told to stop."""
    raise AssertionError("the group puts the real command in its place")


def build() -> Any:
    """The command, with all its options."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command("serve", help=HELP)(_with_options())
    return typer.main.get_command(app)


def run_super_peer(config: Path | None, said: dict[str, Any]) -> None:
    """Run a super-peer; `said` is what the command line says, by the names of the options."""
    from superpeer.daemon.config import read_config
    from superpeer.daemon.daemon import serve
    from superpeer.daemon.logs import set_up
    from superpeer.net import run

    changes = {name: value for name, value in said.items() if value is not None and value != []}
    read = _with_root(read_config(config, changes))
    set_up(read.log_format, read.log_level)
    _tell_passphrase(read)
    run(serve(read))


def _tell_passphrase(config: Config) -> None:
    """The daemon looks for it in the environment. Somebody at a terminal is asked, and some files need none."""
    import os

    from superpeer.cli.choosing import PASSPHRASE_VARIABLE, passphrase_for

    passphrase = passphrase_for(config.key_path)
    if passphrase is None:
        os.environ.pop(PASSPHRASE_VARIABLE, None)
    else:
        os.environ[PASSPHRASE_VARIABLE] = passphrase


def _with_root(config: Config) -> Config:
    """A certificate names the root that signed it: whoever was given one need not be given the root, too."""
    from msgspec.structs import replace

    from auth import AuthError, Certificate

    if config.root or config.root_path.exists():
        return config
    try:
        return replace(config, root=str(Certificate.parse(config.certificate_path.read_text("utf-8")).root))
    except (OSError, UnicodeDecodeError, AuthError):
        return config  # The daemon says what is the matter with it.


def _with_options() -> Any:
    """A function that has a parameter for each option, as typer reads commands off functions."""
    from superpeer.daemon.config import options

    names: dict[str, str] = {}
    config = Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="A TOML file with any of these options.")
    ]
    parameters = [inspect.Parameter("config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=config)]
    for option in options():
        parameter = option.name.replace(".", "__")
        names[parameter] = option.name
        parameters.append(
            inspect.Parameter(parameter, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(option))
        )

    def command(config: Path | None, **said: Any) -> None:
        run_super_peer(config, {names[parameter]: value for parameter, value in said.items()})

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _annotation(option: Option) -> Any:
    kind = option.kind
    flag = "--" + option.name.replace(".", "-").replace("_", "-")
    default = "" if option.default in ("", ()) else f" [default: {_shown(option.default)}]"
    about = typer.Option(
        f"{flag}/--no-{flag.removeprefix('--')}" if kind is bool else flag,
        help=" ".join((option.sentence + default).split()),
        metavar=None if kind is bool else _metavar(kind),
        rich_help_panel=None,
    )
    return Annotated[_plain(kind) | None, about]


def _plain(kind: Any) -> Any:
    """The type as a command line has it: several values are a list, and choices are checked by the configuration."""
    if get_origin(kind) is tuple:
        return list[str]
    if kind in (bool, int, float):
        return kind
    choices = [each for each in get_args(kind) if each is not type(None)]
    if choices and all(isinstance(each, type) for each in choices):
        return choices[0]
    return str


def _metavar(kind: Any) -> str:
    choices = [each for each in get_args(kind) if isinstance(each, str)]
    if choices:
        return "|".join(choices)
    return {int: "N", float: "NUMBER"}.get(_plain(kind), "TEXT")


def _shown(default: Any) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    return str(default)
