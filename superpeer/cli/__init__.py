"""The command `superpeer`. Each group of commands is a module here that exports a typer app.

Those modules are imported at once, so that the help is complete; what is heavy they import inside their
commands, so that the help is quick.
"""

import os
import sys
from typing import Annotated

import typer

from superpeer import __version__
from superpeer.cli import backbone, qel
from superpeer.cli.output import complain
from superpeer.errors import is_user_error

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="superpeer",
    help="Publish/subscribe for RDF over a backbone of super-peers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(qel.app, name="qel")
app.add_typer(backbone.app, name="backbone")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"superpeer {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Options that stand before any command."""


def main() -> None:
    """The console script: an error that the user can act on is one sentence, not a traceback."""
    try:
        try:
            app()
        finally:
            # Here a closed pipe can still be handled; when Python flushes on its way out, it cannot.
            sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        _discard_output()
        sys.exit(EXIT_ERROR)
    except Exception as error:
        if not is_user_error(error):
            raise
        complain(error)
        sys.exit(EXIT_ERROR)


def _discard_output() -> None:
    # What is left in the buffer is flushed at exit once more, and must not meet the closed pipe again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
