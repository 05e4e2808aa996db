"""`superpeer key`: make key files, and show the public key of one."""

from pathlib import Path
from typing import Annotated

import typer

from superpeer.cli.choosing import ContextOption, JsonOption, choose, new_passphrase
from superpeer.cli.output import print_json

app = typer.Typer(
    name="key",
    help="Make key files, and show the public key of one. A key is an identity: whoever has the file is the peer.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

PEER_KEY_FILE = "peer.key"

PathArgument = Annotated[str, typer.Argument(metavar="FILE", help="A key file; else that of the peer of the context.")]


@app.command()
def new(
    file: PathArgument = "",
    passphrase: Annotated[
        bool, typer.Option("--passphrase", help="Protect it: asked for, or taken from SUPERPEER_PASSPHRASE.")
    ] = False,
    context: ContextOption = "",
    as_json: JsonOption = False,
) -> None:
    """Make a new key, in a file that only its owner can read. A file that is there is never overwritten.

    \b
    superpeer key new
    superpeer key new --passphrase admin.key
    """
    import os

    from auth import Identity, save_identity

    path = _path(file, context)
    identity = Identity.generate(os.urandom)
    _make_parent(path)
    save_identity(path, identity, new_passphrase() if passphrase else None)
    _print_key(path, str(identity.public), str(identity.public.id), passphrase, as_json)


@app.command()
def show(file: PathArgument = "", context: ContextOption = "", as_json: JsonOption = False) -> None:
    """Show the public key of a key file, which is no secret and needs no passphrase.

    \b
    superpeer key show
    superpeer key show /var/lib/superpeer/super-peer.key
    """
    from auth import is_protected, load_public_key

    path = _path(file, context)
    key = load_public_key(path)
    _print_key(path, str(key), str(key.id), is_protected(path), as_json)


def _path(file: str, context: str) -> Path:
    if file:
        path = Path(file).expanduser()
        return path / PEER_KEY_FILE if path.is_dir() else path
    return choose(context).directory / PEER_KEY_FILE


def _make_parent(path: Path) -> None:
    from superpeer.cli.choosing import NothingChosen

    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise NothingChosen(f"{path.parent} cannot be made: {error.strerror}; name another file") from error


def _print_key(path: Path, key: str, identity: str, is_protected: bool, as_json: bool) -> None:
    if as_json:
        print_json({"file": str(path), "key": key, "id": identity, "is_protected": is_protected})
    else:
        print(key)
