"""A tour of what Superpeer can do today; every step checks itself. Run it with `make demo`."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pyoxigraph
from rdflib import Literal, URIRef

import qel
from superpeer.rdf import read
from superpeer.sim import Network, Peer

HERE = Path(__file__).parent
TWO_AUTHORS = HERE / "queries" / "two-authors.qel"
THIS_CENTURY = HERE / "queries" / "this-century.qel"
CATALOGUES = [HERE / "data" / "hannover.ttl", HERE / "data" / "crete.nt"]


def main() -> None:
    started = time.monotonic()
    say("A reader follows two authors. Her subscription is a query in QEL:")
    print(TWO_AUTHORS.read_text())

    say("What two libraries hold and she would have been told of:")
    run("qel", "match", str(TWO_AUTHORS), *map(str, CATALOGUES))

    say("Dates are compared as a librarian means them: a year, a date and a time are all the year 2004.")
    query = qel.parse("X : t(X, dc:date, D) & D = 2004")
    resource, date = URIRef("http://example.org/x"), URIRef("http://purl.org/dc/elements/1.1/date")
    for written in ("2004", "2004-05-10", "2004-07-25T09:00:00Z", "ca. 2004"):
        matched = qel.matches(query, [(resource, date, Literal(written))])
        assert matched is (written != "ca. 2004")
        print(f"    {written:24} {'matches' if matched else 'does not match'} D = 2004")

    say("A more general subscription covers hers, so in the network hers would not travel any further:")
    run("qel", "subsumes", str(THIS_CENTURY), str(TWO_AUTHORS))
    say("The other way round it does not, and here is what makes the difference:")
    run("qel", "subsumes", str(TWO_AUTHORS), str(THIS_CENTURY), expected=1)

    say("A library advertises what it will publish. Only where an advertisement covers it, a subscription travels:")
    subscription = qel.parse(TWO_AUTHORS.read_text())
    for about, advertisement, expected in (
        ("the schema dc:", qel.Advertisement(schemas=["dc:"]), True),
        ("dc:creator with the value 'P. Chirita'", qel.Advertisement(values={"dc:creator": ["P. Chirita"]}), False),
        ("dc:date from 2002 on", qel.Advertisement(values={"dc:date": qel.Range(2002, None)}), True),
        ("the schema foaf:", qel.Advertisement(schemas=["foaf:"]), False),
    ):
        covered = qel.covers(advertisement, subscription)
        assert covered is expected
        print(f"    {about:40} {'covers' if covered else 'does not cover'} it")

    say("Eight super-peers in a hypercube. The reader's access point crashes, and comes back, and nothing is lost:")
    simulate()

    say("Mistakes are explained where they were made:")
    run("qel", "check", 'X : t(X, dc:creator, Y) & Y > "Nejdl"', expected=2)
    run("qel", "check", "X : t(X, dc:date, D) & D > 2010 & D < 2004", expected=2)

    say(f"All of it was checked on the way, in {time.monotonic() - started:.1f} seconds. Next: docs/qel.md")


def simulate() -> None:
    """Two libraries and a reader on a simulated network."""
    net = Network(super_peers=8, seed=2004)
    hannover, crete, reader = net.add_peer(at=0), net.add_peer(at=3), net.add_peer(at=6)
    hannover.advertise(schemas=["dc:"])
    crete.advertise(schemas=["dc:"])
    net.run()
    asked = net.counters["QueriesChanged"]
    reader.subscribe(TWO_AUTHORS.read_text(), "two authors")
    net.run()
    print(
        f"    the subscription is in place after {net.counters['QueriesChanged'] - asked} messages between super-peers"
    )
    asked = net.counters["QueriesChanged"]
    reader.subscribe(TWO_AUTHORS.read_text().replace("D = 2004", "D = 2004 & D >= 2004-05"), "since May")
    net.run()
    print(f"    a more special one needs {net.counters['QueriesChanged'] - asked}: the first covers it")
    published = publish_articles(hannover, CATALOGUES[0])
    net.run()
    print(f"    Hannover publishes {published} articles, the reader is told of {len(reader.inbox)}")
    net.crash(6)
    publish_articles(crete, CATALOGUES[1])
    net.run()
    net.restart(6)
    net.run()
    print(f"    sp6 crashes, Crete publishes, sp6 is back: the reader is told of {len(reader.inbox)}")
    assert [sorted(note.subscriptions) for note in reader.inbox] == [["since May", "two authors"]] * 2


def publish_articles(peer: Peer, catalogue: Path) -> int:
    """Publishes each article of a catalogue by itself; how many there were."""
    found: dict[str, list[pyoxigraph.Triple]] = {}
    for triple in read(catalogue, print):
        found.setdefault(str(triple.subject), []).append(triple)
    articles = [triples for triples in found.values() if any("article" in str(triple.object) for triple in triples)]
    for triples in articles:
        peer.publish(triples)
    return len(articles)


def say(text: str) -> None:
    print(f"\n\N{BLACK RIGHT-POINTING TRIANGLE} {text}\n", flush=True)


def run(*arguments: str, expected: int = 0) -> None:
    """Shows a command and runs it; ends the tour where it does not do what it should."""
    shown = [argument if " " not in argument else f"'{argument}'" for argument in arguments]
    print(f"$ superpeer {' '.join(path.replace(str(HERE), 'examples') for path in shown)}", flush=True)
    result = subprocess.run([sys.executable, "-m", "superpeer", *arguments], stderr=subprocess.STDOUT, check=False)
    if result.returncode != expected:
        sys.exit(f"the command above should have ended with {expected}, not {result.returncode}")


if __name__ == "__main__":
    main()
