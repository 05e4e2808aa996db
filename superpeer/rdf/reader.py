"""From a file to its triples, in the way of recovering that its format allows.

The parser is strict first, which is fast and leaves nothing to check, on as many records at a time as are
sensible. Only where it objects are those records read again one by one and leniently, and each term checked.
Turtle, TriG and JSON-LD have no boundaries that can be found from outside; there the parser is lenient from
the start and finds its own way to the next statement.
"""

import io
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, QuadParser, RdfFormat, Triple, parse

from superpeer.rdf.rdfxml import Broken, Record, records
from superpeer.rdf.source import JSON, TRIPLE_TERMS, Problem, Source, UnreadableFile, Utf8File

FORMATS = {
    ".nt": RdfFormat.N_TRIPLES,
    ".nq": RdfFormat.N_QUADS,
    ".ttl": RdfFormat.TURTLE,
    ".trig": RdfFormat.TRIG,
    ".rdf": RdfFormat.RDF_XML,
    ".xml": RdfFormat.RDF_XML,
    ".owl": RdfFormat.RDF_XML,
    ".jsonld": RdfFormat.JSON_LD,
    ".json": RdfFormat.JSON_LD,
}

BATCH_BYTES = 256 * 1024
MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_ERRORS_IN_PLACE = 100


def read(path: Path, warn: Callable[[Problem], None], base: str | None = None) -> Iterator[Triple]:
    """The triples of a file; `warn` is told of everything that had to be skipped.

    Raises UnreadableFile, before the first triple, for a file that is missing or of no known format.
    """
    if path.is_dir():
        raise UnreadableFile(path, "this is a directory, not a file")
    rdf_format = format_of(path)
    source = Source(path, warn)
    base = base or path.absolute().as_uri()
    if rdf_format in (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS):
        triples = _read_lines(source, rdf_format)
    elif rdf_format == RdfFormat.RDF_XML:
        triples = _read_xml(source, base)
    else:
        triples = _read_statements(source, rdf_format, base)
    return _closing(source, triples)


def format_of(path: Path) -> RdfFormat:
    """The format that the file's name promises."""
    name = path.name.lower().removesuffix(".gz")
    found = FORMATS.get(Path(name).suffix)
    if found is None:
        known = " ".join(FORMATS)
        raise UnreadableFile(path, f"no RDF format has this extension; known are {known}, each also with .gz")
    return found


def _closing(source: Source, triples: Iterator[Triple]) -> Iterator[Triple]:
    with source.stream:
        yield from triples


def _read_lines(source: Source, rdf_format: RdfFormat) -> Iterator[Triple]:
    line = 1
    for block in _line_blocks(source):
        try:
            triples = [quad.triple for quad in parse(block, rdf_format)]
        except SyntaxError:
            yield from _single_lines(source, block, rdf_format, line)
        else:
            yield from _supported(source, triples) if b"<<(" in block else triples
        line += block.count(b"\n")


def _line_blocks(source: Source) -> Iterator[bytes]:
    held = bytearray()
    for block in source.blocks(TRIPLE_TERMS):
        end = block.rfind(b"\n") + 1
        held += block[:end] if end else block
        if end:
            yield bytes(held)
            held = bytearray(block[end:])
        if len(held) > MAX_LINE_BYTES:
            source.warn(f"a line is longer than {MAX_LINE_BYTES} bytes; the rest of the file is skipped")
            return
    if held:
        yield bytes(held)


def _single_lines(source: Source, block: bytes, rdf_format: RdfFormat, first: int) -> Iterator[Triple]:
    for number, text in enumerate(block.split(b"\n"), first):
        try:
            triples = [quad.triple for quad in parse(text, rdf_format, lenient=True)]
        except SyntaxError as error:
            source.warn(f"{_reason(error)}; the line is skipped", number, error.offset)
        else:
            yield from _supported(source, triples, number)


def _read_xml(source: Source, base: str) -> Iterator[Triple]:
    batch: list[Record] = []
    size_bytes = 0
    for item in records(text.encode() for text in source.xml_text()):
        if isinstance(item, Broken):
            source.warn(item.message, item.line)
            continue
        batch.append(item)
        size_bytes += len(item.body)
        if size_bytes > BATCH_BYTES:
            yield from _record_batch(source, batch, base)
            batch, size_bytes = [], 0
    if batch:
        yield from _record_batch(source, batch, base)


def _record_batch(source: Source, batch: list[Record], base: str) -> Iterator[Triple]:
    document = b"".join([batch[0].head, *(record.body for record in batch), batch[0].tail])
    try:
        triples = [quad.triple for quad in parse(document, RdfFormat.RDF_XML, base_iri=base)]
    except SyntaxError:
        for record in batch:
            yield from _single_record(source, record, base)
    else:
        yield from triples


def _single_record(source: Source, record: Record, base: str) -> Iterator[Triple]:
    document = record.head + record.body + record.tail
    try:
        triples = [quad.triple for quad in parse(document, RdfFormat.RDF_XML, base_iri=base, lenient=True)]
    except SyntaxError as error:
        source.warn(f"{_reason(error)}; the record is skipped", record.line)
    else:
        yield from _supported(source, triples, record.line)


def _read_statements(source: Source, rdf_format: RdfFormat, base: str) -> Iterator[Triple]:
    brackets = JSON if rdf_format == RdfFormat.JSON_LD else TRIPLE_TERMS
    text = io.BufferedReader(Utf8File(source.text(brackets)))
    parser = parse(text, rdf_format, base_iri=base, lenient=True)
    return _supported(source, (quad.triple for quad in _recovering(source, parser)))


def _recovering(source: Source, parser: QuadParser) -> Iterator[Quad]:
    """Goes on after errors, as the parser can; several at one place are one problem."""
    place: tuple[int | None, int | None] | None = None
    in_place = 0
    while in_place < MAX_ERRORS_IN_PLACE:
        try:
            quad = next(parser)
        except StopIteration:
            return
        except SyntaxError as error:
            here = (error.lineno, error.offset)
            in_place = in_place + 1 if here == place else 0
            if in_place == 0 or here == (None, None):
                source.warn(f"{_reason(error)}; skipped", *here)
            place = here
        else:
            place, in_place = None, 0
            yield quad
    source.warn("too many errors in one place; the rest of the file is skipped", *(place or ()))


def _supported(source: Source, triples: Iterable[Triple], line: int | None = None) -> Iterator[Triple]:
    for triple in triples:
        wrong = _fault(triple)
        if wrong is None:
            yield triple
        else:
            source.warn(f"{wrong}; the triple is skipped", line)


def _fault(triple: Triple) -> str | None:
    """Why the triple is of no use: one of its terms should be an IRI and is none, or is itself a triple."""
    for term in triple:
        if isinstance(term, NamedNode):
            wrong = _iri_fault(term.value)
        elif isinstance(term, Literal):
            wrong = _iri_fault(term.datatype.value)
        else:
            wrong = None if isinstance(term, BlankNode) else "a triple inside a triple is not supported"
        if wrong is not None:
            return wrong
    return None


@lru_cache(maxsize=65536)
def _iri_fault(value: str) -> str | None:
    try:
        NamedNode(value)
    except ValueError as error:
        return f"<{value}> is not an IRI ({error})"
    return None


def _reason(error: SyntaxError) -> str:
    """The parser's message on one line, without the place, which a Problem has of its own."""
    message = re.sub(r"^Parser error .*?: (?=\S)", "", error.msg, count=1)
    if "LoadDocumentCallback" in message:
        return "a context that would have to be fetched is not known; write it into the file"
    return textwrap.shorten(message, 200, placeholder=" ...")
