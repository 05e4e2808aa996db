"""The command `superpeer`. Each group of commands is a module here that exports a typer app, or commands.

Those modules are imported at once, so that the help is complete; what is heavy they import inside their
commands, so that the help is quick.
"""

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from superpeer import __version__
from superpeer.cli import (
    admin,
    asking,
    attaching,
    backbone,
    catalog,
    context,
    demo,
    keys,
    lab,
    network,
    poset,
    publishing,
    qel,
    serve,
    store,
    subscribing,
)
from superpeer.cli.output import complain
from superpeer.errors import is_user_error

EXIT_ERROR = 2
EXIT_NO_ANSWER = 3
EXIT_INTERRUPTED = 130
NO_ANSWER = (
    ("superpeer.cli.asking_admins", "NoSuperPeer"),
    ("superpeer.client.errors", "NoAnswer"),
    ("superpeer.net.errors", "ConnectionClosed"),
)

app = typer.Typer(
    name="superpeer",
    cls=serve.Group,
    help="Publish/subscribe for RDF over a backbone of super-peers.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
PEERS, RUNNING, ADMINS, TOOLS = "For peers", "Running a network", "For admins", "Tools"
COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    PEERS: (
        attaching.register,
        attaching.advertise,
        subscribing.subscribe,
        subscribing.unsubscribe,
        subscribing.subscriptions,
        subscribing.listen,
        publishing.publish,
        publishing.offer,
        asking.query,
        asking.fetch,
        attaching.migrate,
        attaching.leave,
    ),
    RUNNING: (network.init, network.admit, serve.serve),
    ADMINS: (admin.status, poset.poset, admin.indices, admin.peers, admin.queues, admin.explain, admin.shutdown),
}
for panel, commands in COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.add_typer(store.app, name="store", rich_help_panel=RUNNING)
app.add_typer(backbone.app, name="backbone", rich_help_panel=ADMINS)
app.command(rich_help_panel=TOOLS)(demo.demo)
app.add_typer(context.app, name="context", rich_help_panel=TOOLS)
app.add_typer(keys.app, name="key", rich_help_panel=TOOLS)
app.add_typer(qel.app, name="qel", rich_help_panel=TOOLS)
app.add_typer(catalog.app, name="catalog", rich_help_panel=TOOLS)
app.add_typer(lab.app, name="lab", rich_help_panel=TOOLS)


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
        sys.exit(EXIT_NO_ANSWER if is_no_answer(error) else EXIT_ERROR)


def is_no_answer(error: Exception) -> bool:
    """Whether nobody answered, so that the same command may well succeed later. Nothing is imported to find out."""
    loaded = ((sys.modules.get(module), name) for module, name in NO_ANSWER)
    return any(isinstance(error, getattr(module, name)) for module, name in loaded if module is not None)


def _discard_output() -> None:
    # What is left in the buffer is flushed at exit once more, and must not meet the closed pipe again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
