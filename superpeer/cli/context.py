"""`superpeer context`: remember which super-peer and which identity to use."""

from pathlib import Path
from typing import Annotated

import typer

from superpeer.cli.choosing import JsonOption, complete_context
from superpeer.cli.contexts import Context, contexts_path, default_directory, read_contexts, write_contexts
from superpeer.cli.output import complain, print_json, print_table

app = typer.Typer(
    name="context",
    help="Remember which super-peer and which identity to use.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of a context.", autocompletion=complete_context)
]


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the contexts; the current one has a star.

    superpeer context list
    """
    contexts = read_contexts()
    if as_json:
        print_json(
            [
                {"name": name, "is_current": name == contexts.current, **context.settings}
                for name, context in sorted(contexts.named.items())
            ]
        )
        return
    if not contexts.named:
        complain(f"there are no contexts in {contexts_path()}; `superpeer context add` makes one")
        return
    rows = [
        ["*" if name == contexts.current else "", name, _shortened(context.super_peer), _place(name, context)]
        for name, context in sorted(contexts.named.items())
    ]
    print_table(["", "name", "super-peer", "directory or admin socket"], rows)


@app.command()
def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A context; else the current one.", autocompletion=complete_context)
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Show one context with all it says.

    superpeer context show anna
    """
    from superpeer.cli.choosing import NothingChosen

    contexts = read_contexts()
    name = name or contexts.current
    if not name:
        raise NothingChosen("no context is in use; name one, or choose one with `superpeer context use`")
    context = contexts.get(name)
    settings = {"name": name, "is_current": name == contexts.current, **context.settings}
    if as_json:
        print_json(settings)
        return
    for key, value in settings.items():
        print(f"{key.replace('_', ' '):<14}{value}")


@app.command()
def use(name: NameArgument) -> None:
    """Use a context from now on, where nothing else is said.

    superpeer context use anna
    """
    write_contexts(read_contexts().using(name))
    print(f"{name} is the current context")


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for it; one that there is is changed.")],
    super_peer: Annotated[
        str, typer.Option("--super-peer", metavar="HOST:PORT#KEY", help="The super-peer, as its operator gives it out.")
    ] = "",
    directory: Annotated[
        str, typer.Option("--directory", "-d", metavar="DIR", help="The peer's directory; by default one of that name.")
    ] = "",
    admin_socket: Annotated[
        str, typer.Option("--admin-socket", metavar="PATH", help="For admins: the socket of a super-peer here.")
    ] = "",
    admin_key: Annotated[
        str,
        typer.Option("--admin-key", metavar="FILE", help="For admins: the key file to connect with from elsewhere."),
    ] = "",
    use_it: Annotated[
        bool, typer.Option("--use/--no-use", help="Make it the current one; the first one is, anyway.")
    ] = False,
) -> None:
    """Add a context, or change what one says; what is not said stays.

    \b
    superpeer context add anna --super-peer 127.0.0.1:7400#spk-... --use
    superpeer context add ops --admin-socket /var/lib/superpeer/admin.socket
    """
    from superpeer.daemon.config import parse_contact

    if super_peer:
        parse_contact(super_peer)
    contexts = read_contexts()
    before = contexts.named.get(name, Context())
    after = Context(
        super_peer=super_peer or before.super_peer,
        directory=_absolute(directory) or before.directory,
        admin_socket=_absolute(admin_socket) or before.admin_socket,
        admin_key=_absolute(admin_key) or before.admin_key,
    )
    changed = contexts.with_context(name, after, use=use_it or not contexts.named)
    write_contexts(changed)
    print(f"{name} is {'the current' if changed.current == name else 'a'} context")


@app.command()
def remove(name: NameArgument) -> None:
    """Forget a context. The directory that it names stays.

    superpeer context remove anna
    """
    contexts = read_contexts()
    context = contexts.get(name)
    write_contexts(contexts.without(name))
    print(f"{name} is forgotten; the peer's directory stays: {context.directory or default_directory(name)}")


def _absolute(path: str) -> str:
    """A context is used from anywhere."""
    return str(Path(path).expanduser().absolute()) if path else ""


def _shortened(contact: str) -> str:
    address, number_sign, key = contact.partition("#")
    return f"{address}#{key[:12]}…" if number_sign else contact


def _place(name: str, context: Context) -> str:
    return context.admin_socket or context.admin_key or context.directory or str(default_directory(name))
