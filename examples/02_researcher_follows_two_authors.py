"""A researcher follows two authors: what matches comes, wherever in the network it was published."""

from pathlib import Path

from superpeer import SyncPeer
from superpeer.demo.backbone import local_backbone

HERE = Path(__file__).parent
TWO_AUTHORS = (HERE / "queries" / "two-authors.qel").read_text()

with (
    local_backbone(2) as backbone,
    SyncPeer.open(backbone.directory / "hannover", backbone[0].contact) as library,
    SyncPeer.open(backbone.directory / "researcher", backbone[1].contact) as researcher,
):
    library.advertise(schemas=["dc"])
    subscription = researcher.subscribe(TWO_AUTHORS, "two authors")
    subscription.active()  # From now on, nothing that matches is missed.

    library.publish(HERE / "data" / "hannover.ttl")
    titles = []
    for notification in researcher.notifications(timeout=2):
        about = notification.bindings["two authors"]
        print(notification.subject, "by", " and ".join(about["Y"]), "of", *about["D"])
        titles.append(str(notification.subject))

assert titles == ["http://hannover.example.org/publications/esws04"]
print("One of the four publications matches.")
