"""`superpeer demo`: the chapter's story, told by processes on this machine."""

from typing import Annotated

import typer


def demo(
    super_peers: Annotated[
        int, typer.Option("--super-peers", "-n", metavar="N", min=3, max=16, help="How many super-peers.")
    ] = 8,
    keep: Annotated[
        bool, typer.Option("--keep", help="Let all of it run afterwards, until Ctrl-C, to play with.")
    ] = False,
) -> None:
    """Start a backbone of super-peers here, and walk through what they do. Each step checks itself.

    \b
    superpeer demo
    superpeer demo --keep
    """
    from superpeer.demo.telling import tell
    from superpeer.net import run

    run(tell(super_peers, keep=keep))
