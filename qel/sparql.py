"""The bridge between QEL and SPARQL 1.1: `to_sparql` writes a query, `from_sparql` reads the star-shaped subset.

A QEL query is a star: triples on one subject, and tests of one variable each. In SPARQL that is one basic graph
pattern and FILTERs, since both languages bind the variables first and test them afterwards. What SPARQL has not is
the views of a literal (see `qel.values`). They are computed from its lexical form, once for each variable, with BIND,
which leaves the new variable unbound, and so every test of it failed, where a value has no such view.

Where a query that `to_sparql` has written may answer otherwise than QEL, on an engine that keeps to the standard:

    integers   Values of more than 18 digits are left to the engine: some have 64 bits. Constants that long are refused.
    decimals   Compared as xsd:double, which is exact up to 15 digits. Constants of more digits are refused.
    dates      As QEL, for every value. Constants before the year 0 or after 9999 are refused.
    words      REGEX ignores case one letter at a time, QEL folds it: there, "ß" is also "ss". QEL composes letters and
               accents first (NFC); SPARQL takes the text as it is. Chains whose bounds exceed 100 words are refused.
    within     The hierarchy is that of the data queried, and the way up may pass through blank nodes.
    similar    Refused: SPARQL cannot count words.

A head that occurs twice is selected under another name the second time. Engines have faults of their own: rdflib knows
no \\p{L} in patterns, so it cannot run `words`; and stores that keep numbers and dates by value (pyoxigraph's is one)
answer with another spelling of a literal than they were given.

Where the query that `from_sparql` returns means more or less than SPARQL does. QEL sees of a literal what is written,
not its datatype and, without `lang`, not its language:

    ?y = "text", and in a triple         any literal with these characters; with "text"@en also lang(Y) = "en"
    ?d >= 2004, ?d = 2004                the integer view: so 2004-05-01 counts, and 2004.5 does not
    ?d < 3.5, 2e3                        the decimal view
    "2004"^^xsd:gYear                    the integer view
    "2004-05-01"^^xsd:date, ...          the date view: = means "within", so that a moment of the day counts
    CONTAINS(?y, "a"), STR(?y) = "a"     literals only, with or without STR
    LANG(?y) = "en"                      without regard to case
    VALUES, IN                           alternatives of equalities, as above

All else that SPARQL has is refused with a `QelUnsupported` that names it. `from_sparql(to_sparql(q))` is equivalent
to q for every q that `to_sparql` takes, unless its alternatives are nested too deeply for the parser.
"""

from qel.sparql_reader import from_sparql
from qel.sparql_writer import to_sparql

__all__ = ["from_sparql", "to_sparql"]
