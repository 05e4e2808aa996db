"""Catalogues for tests: random ones with everything that is nasty in real ones."""

import random
from collections.abc import Callable
from pathlib import Path

NASTY = [
    "2004", "-0044", "+2004", "20040", "2004-05", "2004-13", "2004-02-29", "2003-02-29", "1900-02-29", "2000-02-29",
    "2004-05-01T12:30", "2004-05-01T24:00:00", "2004-05-01T12:30:59.123456789Z", "2004-05-01 12:30:00+02:00",
    "2004Z", "2004-05Z", "2004+01:00", "2004-01:00", "-2004-05-01", "+2004-05-01", "123456789-01-01",
    "1234567890-01-01",
    " 2004 ", "\t17\n", "1-12-31", "", " ", "+", "-", ".", "1.", ".5", "1e5", "1E+05", "1e1234567890", "12x", "0x1F",
    "9" * 38, "9" * 39, "-" + "9" * 45, "1" * 4000, "1" * 4001, "00012", "٢٠٠٤", "2004‑05", "2004-05-31", "2004-06-31",
    "2004-05-01T1:00", "2004-05-01T12:60", "a\nb", 'say "no"', "back\\slash", "\\n", "Ünïcödé 𝔘", "2004\u00a0",
    "1860/1880",
    "[199-]", "Unknown", "2004-5-1", "2004-05-01,", "2004-05-01T12:30:59,5", "2004-W01", "0000", "0000-01-01", "\u0b01",
]  # fmt: skip

DC = "http://purl.org/dc/elements/1.1/"
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
FOAF = "http://xmlns.com/foaf/0.1/"


def literal(generator: random.Random) -> str:
    text = generator.choice(NASTY)
    written = "".join({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"}.get(one, one) for one in text)
    end = generator.choice(
        ["", "", "@en", "@EN-gb", f"^^<{XSD}gYear>", f"^^<{XSD}integer>", f"^^<{XSD}string>", f"^^<{XSD}date>"]
    )
    return f'"{written}"{end}'


def write_lines(path: Path, seed: int, resources: int = 40, quads: bool = False) -> Path:
    """A file of N-Triples with repeated triples, blank nodes with and without names, and some broken lines."""
    generator = random.Random(seed)
    lines = []
    for i in range(resources):
        subject = f"<http://example.org/{i}>"
        for _ in range(generator.randint(1, 6)):
            name = generator.choice(["title", "date", "creator", "subject"])
            value = generator.choice(
                [
                    literal(generator),
                    literal(generator),
                    f"<http://example.org/{generator.randrange(resources)}>",
                    f"_:n{generator.randrange(6)}",
                    '"again"',
                ]
            )
            lines.append(f"{subject} <{DC}{name}> {value}")
        if generator.random() < 0.5:
            lines.append(f"{subject} <{RDF}type> <{DC}{generator.choice(['article', 'book'])}>")
        if generator.random() < 0.2:
            lines.append(lines[-1])
    lines += [
        f'_:n0 <{RDF}value> "Named"',
        f'_:n0 <{FOAF}name> "Named too"@en',
        f"_:n1 <{RDF}value> _:n2",
        f'_:n2 <{FOAF}name> "Through"',
        f"_:n3 <{DC}title> <http://example.org/no-name>",
        f'_:n4 <{RDF}_1> "member"',
        f'_:alone <{FOAF}name> "nobody refers to me"',
        '<http://example.org/odd\\u00e9> <http://example.org/p> "\\u00e9\\U0001F600"',
        '<http://example.org/%zz> <http://example.org/p> "bad escape"',
        '<not an iri> <http://example.org/p> "x"',
        '<http://example.org/a> <http://example.org/p> "unfinished',
    ]
    generator.shuffle(lines)
    graphs = [" <http://example.org/graph>", "", " _:g"] if quads else [""]
    text = "".join(f"{line}{generator.choice(graphs)} .{generator.choice(['', '', chr(13)])}\n" for line in lines)
    path.write_text("# a comment\n\n" + text, encoding="utf-8", newline="")
    return path


def write_subscriptions(path: Path, seed: int, number: int) -> Path:
    """Queries with a lot in common, so that many cover others, and two lines that are none."""
    generator = random.Random(seed)

    def word() -> str:
        return generator.choice(["a", "ag", "again", "Named", "Na", "2004", "No", "Through", "\\u00cc", "e"])

    def range_of(name: str) -> str:
        low = generator.choice([1990, 2000, 2003, 2004, 2005])
        return generator.choice(
            [f"{name} >= {low}", f"{name} = {low}", f"{name} >= {low} & {name} <= {low + 5}", f"{name} > 2003"]
        )

    lines = ["# subscriptions", "", "nonsense", "X : t(X, dc:date, D) & D < 2 & D > 3"]

    def kind() -> str:
        return f"dc:{generator.choice(['article', 'book'])}"

    makers: list[Callable[[], str]] = [
        lambda: f'X : t(X, dc:title, T) & T contains "{word()}"',
        lambda: "X : t(X, dc:creator, C)",
        lambda: f'Y : t(Y, dc:creator, C) & C = "{word()}"',
        lambda: f'X : t(X, dc:creator, C) & t(X, dc:date, D) & C contains "{word()}" & {range_of("D")}',
        lambda: f"X : t(X, dc:date, D) & {range_of('D')}",
        lambda: f"X : t(X, dc:date, D) & ({range_of('D')} | {range_of('D')})",
        lambda: f'X : t(X, dc:title, T) & t(X, dc:creator, C) & (T contains "{word()}" | C contains "{word()}")',
        lambda: f"X : t(X, rdf:type, {kind()}) & t(X, dc:date, D) & {range_of('D')}",
        lambda: f'X : t(X, dc:subject, S) & S like "{word()}*"',
        lambda: f"X : t(X, dc:creator, <http://example.org/{generator.randrange(3)}>)",
        lambda: "X : t(X, dc:date, D) & D >= 2004-05-01",
    ]
    lines += [generator.choice(makers)() for _ in range(number)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
