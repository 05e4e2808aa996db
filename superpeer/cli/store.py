"""`superpeer store`: copy a super-peer's disk, and recover what can be read of a damaged one."""

from pathlib import Path
from typing import Annotated

import typer

from superpeer.cli.choosing import JsonOption
from superpeer.cli.output import print_json

app = typer.Typer(
    name="store",
    help="Copy the disk of a super-peer, and recover what can be read of a damaged one.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

DataArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The data directory of a super-peer, or its store.")]
TargetArgument = Annotated[Path, typer.Argument(metavar="TARGET", help="The directory to make; it must not exist yet.")]


@app.command()
def backup(directory: DataArgument, target: TargetArgument) -> None:
    """Copy the store of a super-peer that does not run, as one consistent whole that can be opened again.

    superpeer store backup /var/lib/superpeer /backup/store-2004-05-10
    """
    from superpeer.store.store import Store

    with Store(_store(directory)) as store:
        store.backup(target)
    print(f"the store is copied to {target}")


@app.command()
def recover(directory: DataArgument, target: TargetArgument, as_json: JsonOption = False) -> None:
    """Make a new store with what can be read of a damaged one, and say what was lost. The old one stays as it is.

    superpeer store recover /var/lib/superpeer /var/lib/superpeer/store.recovered
    """
    from superpeer.store.recovery import recover

    found = recover(_store(directory), target)
    if as_json:
        print_json(
            {
                "peers": found.peers,
                "publications": found.publications,
                "waiting": found.waiting,
                "lost": dict(found.lost),
                "is_new_log": found.is_new_log,
            }
        )
        return
    print(found)
    print(f"The new store is {target}; put it in the place of the old one, and start the super-peer.")


def _store(directory: Path) -> Path:
    """The store itself, also for those who name the directory around it. Nothing is made where there is none."""
    from superpeer.store.errors import StoreUnusable
    from superpeer.store.opening import DATABASE

    for found in (directory / "store", directory):
        if (found / DATABASE).is_file():
            return found
    raise StoreUnusable(directory, "there is no store of a super-peer")
