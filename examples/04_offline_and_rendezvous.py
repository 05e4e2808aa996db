"""A reader is offline while something is published, and then wants a file whose owner is offline."""

from pathlib import Path

from superpeer import SyncPeer
from superpeer.demo.backbone import local_backbone

HERE = Path(__file__).parent
PAPER = "http://hannover.example.org/papers/esws04.txt"

with local_backbone(2) as backbone:
    library_directory, reader_directory = backbone.directory / "library", backbone.directory / "reader"
    with SyncPeer.open(reader_directory, backbone[1].contact) as reader:
        reader.subscribe((HERE / "queries" / "two-authors.qel").read_text(), "two authors").active()

    # The reader is offline now; its super-peer keeps what comes.
    paper = backbone.directory / "esws04.txt"
    paper.write_text("Publish/Subscribe for RDF-based P2P Networks")
    with SyncPeer.open(library_directory, backbone[0].contact) as library:
        library.advertise(schemas=["dc"])
        library.publish(HERE / "data" / "hannover.ttl").acknowledged()
        library.offer(PAPER, paper)

    # The reader is back, and the library is offline. A peer that is known need not be told where it belongs.
    with SyncPeer.open(reader_directory) as reader:
        notification = next(iter(reader.notifications(timeout=10)))
        print("waited for the reader:", notification.subject)
        download = reader.fetch(PAPER, notification)
        assert not download.has_ended

        with SyncPeer.open(library_directory):
            content = download.content(timeout=10)
print("fetched at a rendezvous:", content.decode())
assert content == b"Publish/Subscribe for RDF-based P2P Networks"
