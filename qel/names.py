"""IRIs and their short names: prefixes, namespaces, and how a name in a text becomes an IRI."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF_TYPE = RDF + "type"

PREFIXES: Mapping[str, str] = MappingProxyType(
    {
        "dc": "http://purl.org/dc/elements/1.1/",
        "dcterms": "http://purl.org/dc/terms/",
        "rdf": RDF,
        "rdfs": RDFS,
        "foaf": "http://xmlns.com/foaf/0.1/",
        "skos": SKOS,
        "bibo": "http://purl.org/ontology/bibo/",
        "schema": "http://schema.org/",
        "xsd": XSD,
    }
)
"""The prefixes that need no declaration."""

LOCAL_NAME = re.compile(r"\w(?:[\w.%~-]*[\w%~-])?")
_SHORT_NAME = re.compile(r"([A-Za-z][\w-]*|):(.*)", re.DOTALL)
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*")


def namespace(iri: str) -> str:
    """An IRI up to its last `#` or `/` or, failing both, its last `:`."""
    end = max(iri.rfind("#"), iri.rfind("/"))
    if end < 0:
        end = iri.rfind(":")
    return iri[: end + 1] if end >= 0 else iri


def expand(name: str, prefixes: Mapping[str, str] = PREFIXES) -> str:
    """The IRI that a name between angle brackets stands for: `dc:creator`, or an IRI as it is."""
    short = _SHORT_NAME.fullmatch(name)
    if short and short[1] in prefixes and not short[2].startswith("//"):
        return prefixes[short[1]] + short[2]
    return name


def is_iri(text: str) -> bool:
    """Whether the text can stand as an absolute IRI in RDF."""
    return _IRI.fullmatch(text) is not None


def write_iri(iri: str, prefixes: Mapping[str, str] = PREFIXES) -> str:
    """The shortest way to write an IRI in QEL: `dc:creator`, else `<http://...>`."""
    for prefix, start in prefixes.items():
        local = iri[len(start) :]
        if iri.startswith(start) and LOCAL_NAME.fullmatch(local):
            return f"{prefix}:{local}"
    return write_full_iri(iri, prefixes)


def write_full_iri(iri: str, prefixes: Mapping[str, str] = PREFIXES) -> str:
    """An IRI between angle brackets. One that would be taken for a short name has its colon escaped."""
    written = "".join(_escape(character) for character in iri)
    if expand(iri, prefixes) != iri:
        written = written.replace(":", "\\u003A", 1)
    return f"<{written}>"


def code_point(character: str) -> str:
    """A character as the escape that QEL has for any."""
    code = ord(character)
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _escape(character: str) -> str:
    if character > " " and character not in '<>"{}|^`\\' and character.isprintable():
        return character
    return code_point(character)
