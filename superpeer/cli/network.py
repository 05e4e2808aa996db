"""`superpeer init` and `superpeer admit`: make a network, and let super-peers into it."""

from pathlib import Path
from typing import Annotated

import typer

from superpeer.cli.choosing import JsonOption, new_passphrase, passphrase_for
from superpeer.cli.output import complain, print_json

DaysOption = Annotated[int, typer.Option("--days", metavar="N", min=1, max=36_500, help="How long it is admitted.")]


def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The data directory of the first super-peer.")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What the first super-peer is called.")] = "first",
    days: DaysOption = 3650,
    passphrase: Annotated[
        bool, typer.Option("--passphrase", help="Protect the root key: asked for, or from SUPERPEER_PASSPHRASE.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a new network: its root key, and the data directory of its first super-peer.

    superpeer init /var/lib/superpeer
    """
    from superpeer.daemon.network import ROOT_KEY_FILE, init

    made = init(directory, name, days=days, passphrase=new_passphrase() if passphrase else None)
    root_file = made.directory / ROOT_KEY_FILE
    if as_json:
        print_json(
            {
                "directory": str(made.directory),
                "root": str(made.root),
                "root_key_file": str(root_file),
                "key": str(made.key),
            }
        )
        return
    print(f"A new network is made, and the directory of its first super-peer, {name}: {made.directory}")
    print(f"  its root key    {made.root}")
    print(f"  the super-peer  {made.key}")
    print(f"Start it with     superpeer serve --data {made.directory}")
    print(f"Move {root_file} to where it is safe: whoever has it can admit super-peers, and nothing else needs it.")


def admit(
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="The super-peer's public key, spk-..., or its data directory here.")
    ],
    root: Annotated[Path, typer.Option("--root", metavar="FILE", help="The root key file that `superpeer init` made.")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What the super-peer is called.")],
    days: DaysOption = 3650,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the certificate there, not here.")
    ] = None,
) -> None:
    """Admit a super-peer to the network: sign a certificate for its key, which is no secret.

    With a directory on this machine in place of the key, a key is made there if there is none, and the certificate is
    put where `superpeer serve` looks for it.

    \b
    superpeer admit spk-... --root root.key --name crete > certificate.txt
    superpeer admit network/crete --root network/first/root.key --name crete
    """
    from auth import PublicKey
    from superpeer.daemon.network import admit, install, prepare

    here = None if key.startswith("spk-") else _directory(key, root)
    public = PublicKey.parse(key) if here is None else prepare(here)
    certificate = admit(root, public, name, days=days, passphrase=passphrase_for(root))
    if here is not None:
        install(here, certificate)
        complain(f"{name} is admitted, and its certificate is in {here}")
    elif output is not None:
        _write(output, certificate.text)
        complain(f"{name} is admitted; hand {output} to its operator")
    else:
        print(certificate.text)


def _directory(text: str, root: Path) -> Path:
    from superpeer.daemon.errors import CannotServe

    if not root.is_file():
        raise CannotServe(f"there is no root key in {root}; name the file that `superpeer init` made")
    directory = Path(text)
    is_plausible = directory.is_dir() or (directory.parent.is_dir() and not directory.exists())
    if not text or not is_plausible:
        raise CannotServe(f"{text!r} is neither a key, spk-..., nor a directory that could be a super-peer's")
    return directory


def _write(path: Path, text: str) -> None:
    from superpeer.daemon.errors import CannotServe

    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise CannotServe(f"{path} cannot be written: {error.strerror}; name another file") from error
