"""The chapter's Figure 6: an off-line notification, a rendezvous and a migration, step by step.

A has the access point AP, B the access point AP2. A goes off-line, and is notified of what B publishes when it is back.
When it asks for the resource itself, B is off-line: so they have a rendezvous. B comes and uploads the resource to AP,
and leaves; and A, which has moved to AP3 meanwhile, gets it there.
"""

from __future__ import annotations

from rdflib import DC, Literal, URIRef

from superpeer.sim import Network

AP, AP2, AP3 = 0, 1, 2
RESOURCE = URIRef("http://example.org/papers/publish-subscribe")


def main() -> None:
    network = Network(super_peers=4, seed=6)
    a, b = network.add_peer(at=AP), network.add_peer(at=AP2)

    say("B advertises what it will publish, and A subscribes.")
    b.advertise(schemas=["dc:"])
    b.offer(RESOURCE, b"%PDF the paper itself")
    a.subscribe('X : t(X, dc:creator, Y) & Y contains "Koubarakis"', "papers of Koubarakis")
    network.run()

    say("A goes off-line. B publishes, and the notification waits for A at AP.")
    a.disconnect()
    b.publish([(RESOURCE, DC.creator, Literal("Manolis Koubarakis")), (RESOURCE, DC.date, Literal("2004"))])
    network.run()
    assert not a.inbox

    say("A comes back and is notified.")
    a.connect()
    (notification,) = a.inbox
    print(f"    {notification.kind}: {notification.triples[0][0]}")
    print(f"    matched: {', '.join(notification.subscriptions)}; published at {notification.access_point}")
    assert (notification.publisher, notification.access_point) == (b.id, "sp1")

    say("B goes off-line. A asks for the resource: a rendezvous.")
    b.disconnect()
    download = a.fetch(RESOURCE, notification)
    network.run()
    assert download.content is None

    say("A goes off-line, too. B comes back, is asked to upload the resource, and AP keeps it for A.")
    a.disconnect()
    b.connect()
    network.run()
    b.disconnect()
    assert download.content is None

    say("While both are off-line, a third peer publishes.")
    c = network.add_peer(at=3)
    c.advertise(properties=["dc:creator"])
    c.publish([(URIRef("http://example.org/papers/2"), DC.creator, Literal("M. Koubarakis"))])
    network.run()

    say("A connects to AP3. AP hands over the file and the notification that waited, and forgets A.")
    a.migrate(to=AP3)
    network.run()
    assert download.content == b"%PDF the paper itself"
    assert [note.publisher for note in a.inbox] == [b.id, c.id]
    assert a.id not in network.super_peers[AP].running_node.state.peers
    print(f"    {len(download.content)} bytes of {download.resource}, and {len(a.inbox)} notifications in all")

    say("A's subscription is in place at AP3: what is published from now on arrives there.")
    assert a.is_active("papers of Koubarakis")
    b.connect()
    b.publish([(URIRef("http://example.org/papers/3"), DC.creator, Literal("Koubarakis, M."))])
    network.run()
    assert len(a.inbox) == 3
    print("Every step did what the chapter says.")


def say(text: str) -> None:
    print(f"- {text}")


if __name__ == "__main__":
    main()
