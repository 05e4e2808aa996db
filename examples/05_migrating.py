"""A peer moves to another super-peer, with its identity, its subscriptions and what waits for it."""

from rdflib import DC, Graph, Literal, URIRef

from superpeer import SyncPeer
from superpeer.demo.backbone import local_backbone


def article(number: int) -> Graph:
    graph = Graph()
    graph.add((URIRef(f"http://example.org/articles/{number}"), DC.creator, Literal("Wolfgang Nejdl")))
    return graph


with local_backbone(2) as backbone, SyncPeer.open(backbone.directory / "library", backbone[0].contact) as library:
    library.advertise(properties=["dc:creator"])
    with SyncPeer.open(backbone.directory / "reader", backbone[0].contact) as reader:
        reader.subscribe('X : t(X, dc:creator, Y) & Y contains "Nejdl"', "nejdl").active()

    library.publish(article(1)).acknowledged()  # It waits for the reader at the first super-peer.
    with SyncPeer.open(backbone.directory / "reader") as reader:
        reader.migrate(backbone[1].contact)
        library.publish(article(2))
        subjects = [str(one.subject) for one in reader.notifications(timeout=2)]
        print(f"{reader.access_point.partition('#')[0]} is the reader's access point now")
        print(*subjects, sep="\n")
assert subjects == ["http://example.org/articles/1", "http://example.org/articles/2"]
print("What had waited there has come along, and nothing came twice.")
