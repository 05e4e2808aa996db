"""Reads RDF files as they are found, not as they should be.

A bad record costs that record and a warning, never the file. What a record is depends on the format: a line
of N-Triples or N-Quads, an element under the root of RDF/XML, a statement of Turtle, a value in JSON-LD.
An IRI that is none (it has spaces, brackets or pipes, say) costs only the triples it is in. Relative IRIs are
resolved against the base, by default the file's own URI. Of named graphs only the triples are kept.

Reading streams: memory goes with the largest record, not with the file.
"""

from superpeer.rdf.reader import FORMATS, format_of, read
from superpeer.rdf.source import Problem, UnreadableFile

__all__ = ["FORMATS", "Problem", "UnreadableFile", "format_of", "read"]
