"""From the first process to the last: set the stage, tell the story, and leave nothing behind."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

from superpeer.cli.contexts import Context, Contexts, write_contexts
from superpeer.demo.backbone import Backbone
from superpeer.demo.stage import Stage
from superpeer.demo.story import told

FEWEST, MOST = 3, 16


async def tell(super_peers: int, *, keep: bool) -> None:
    """Tell the story. With `keep`, all stays until it is interrupted."""
    directory = Path(tempfile.mkdtemp(prefix="superpeer-demo-"))
    stage = Stage()
    backbone = Backbone(directory, super_peers)
    try:
        await _set_up(stage, backbone)
        async with told(stage, backbone, directory) as story:
            await story.tell()
            places = dict(story.places)
        if keep:
            await _stay(backbone, directory, places)
    finally:
        left = await asyncio.to_thread(backbone.stop)
        shutil.rmtree(directory, ignore_errors=True)
    with stage.scene("The curtain"):
        stage.check(left == 0, "every process has ended")
        stage.check(not directory.exists(), "and nothing is left on the disk")
    stage.summarize()


async def _set_up(stage: Stage, backbone: Backbone) -> None:
    with stage.scene(f"A backbone of {len(backbone)} super-peers, each a process"):
        await backbone.start()
        reports = await backbone.agreed()
        stage.check(len(reports) == len(backbone), f"{len(reports)} super-peers see each other")
        for name, (label, address) in sorted((await backbone.labels()).items(), key=lambda item: item[1]):
            stage.say(f"{label:<5} {name:<5} {address}")


async def _stay(backbone: Backbone, directory: Path, places: dict[str, int]) -> None:
    """The peers are closed, so that commands can be them."""
    config = directory / "config"
    named = {name: Context(backbone[place].contact, str(directory / name)) for name, place in places.items()}
    named |= {one.name: Context(one.contact, admin_socket=str(one.socket)) for one in backbone.super_peers}
    write_contexts(Contexts(named, "reader"), config / "superpeer" / "contexts.toml")
    print("\nEverything stays until you press Ctrl-C. In another terminal:")
    print(f"  export XDG_CONFIG_HOME={config}")
    print("  superpeer context list")
    print("  superpeer listen")
    print("  superpeer publish --context hannover examples/data/hannover.ttl")
    print(f"  superpeer poset --context sp{places['colleague']}", flush=True)
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()
