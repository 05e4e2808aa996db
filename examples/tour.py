"""A tour of what Superpeer can do today; every step checks itself. Run it with `make demo`."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from rdflib import Literal, URIRef

import qel

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

    say("Mistakes are explained where they were made:")
    run("qel", "check", 'X : t(X, dc:creator, Y) & Y > "Nejdl"', expected=2)
    run("qel", "check", "X : t(X, dc:date, D) & D > 2010 & D < 2004", expected=2)

    say(f"All of it was checked on the way, in {time.monotonic() - started:.1f} seconds. Next: docs/qel.md")


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
