"""A library publishes its catalogue. Run it with `python examples/01_library_publishes.py`.

It starts a super-peer of its own. To use yours, put its HOST:PORT#KEY in the place of `backbone[0].contact`.
"""

from pathlib import Path

from superpeer import SyncPeer
from superpeer.demo.backbone import local_backbone

CATALOGUE = Path(__file__).parent / "data" / "hannover.ttl"

with local_backbone(1) as backbone, SyncPeer.open(backbone.directory / "library", backbone[0].contact) as library:
    # What it will publish, as its catalogue has it: nobody is asked for what nobody has.
    advertisement = library.advertise_file(CATALOGUE, ["schemas"])
    print("advertised:", *sorted(advertisement.schemas))

    # One publication for each subject. It returns when the super-peer has them on disk.
    receipt = library.publish(CATALOGUE)
    print(f"published {len(receipt)} descriptions; the first is {receipt.ids[0]}")

    # When the network has acknowledged them, every subscriber's super-peer has them, too.
    receipt.acknowledged()
    assert library.outbox == 0
    print("The network has them all.")
