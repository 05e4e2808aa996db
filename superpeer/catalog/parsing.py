"""What a task does that reads RDF: splits of files become tables in Parquet, and pieces for the survey.

Tables are written under the name of their split: a task that runs again writes the same file again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from superpeer.catalog.columns import REJECTED, TRIPLES, blank_ends, file_mark
from superpeer.catalog.inputs import Split
from superpeer.catalog.offsets import UNPLACED, Part
from superpeer.catalog.reading import Reading, read_split, rejected_batch
from superpeer.catalog.scanning import Scanned, Scanner, Wanted
from superpeer.catalog.tasks import prepare
from superpeer.catalog.writing import TableWriter

PLAIN, NESTED, REJECTED_ROWS = "plain", "nested", "rejected"


@dataclass(frozen=True)
class Parsed:
    """How many rows were written to each table, how many lines were undecided, what was scanned of the plain ones, and
    the parts of files that are packed."""

    plain: int = 0
    nested: int = 0
    rejected: int = 0
    undecided: int = 0
    scanned: Scanned = Scanned()  # noqa: RUF009 - it is frozen
    parts: tuple[Part, ...] = ()

    def __add__(self, other: Parsed) -> Parsed:
        return Parsed(
            self.plain + other.plain,
            self.nested + other.nested,
            self.rejected + other.rejected,
            self.undecided + other.undecided,
            self.scanned + other.scanned,
            self.parts + other.parts,
        )


def parse_splits(splits: Iterable[Split], target: str, pieces: str, name: str, wanted: Wanted) -> Parsed:
    """Runs in a task. Tables go to the directory `target`, and the piece, under its name, to `pieces`."""
    prepare()
    scanner = Scanner(pieces, name, wanted)
    parsed = Parsed()
    for split in splits:
        parsed += _parse_split(split, target, scanner)
    return parsed + Parsed(scanned=scanner.close())


def _parse_split(split: Split, target: str, scanner: Scanner) -> Parsed:
    reading = Reading()
    name = f"{file_mark(split.file.uri)}-{split.start_bytes:015d}.parquet"
    plain = TableWriter(f"{target}/{PLAIN}", name, TRIPLES, scanner)
    nested = TableWriter(f"{target}/{NESTED}", name, TRIPLES)
    with plain, nested:
        for batch in read_split(split, reading):
            subject, leading = blank_ends(batch)
            if subject.any() or leading.any():
                nested.add(batch.filter(pa.array(subject | leading)))
                batch = batch.filter(pa.array(~(subject | leading)))  # noqa: PLW2901 - the rest of it
            plain.add(batch)
    is_part = split.file.compression is not None and not split.is_whole
    with TableWriter(f"{target}/{REJECTED_ROWS}", f"{UNPLACED if is_part else ''}{name}", REJECTED) as rejected:
        if reading.rejected:
            rejected.add(rejected_batch(reading.rejected))
    part = Part(split.file.uri, split.start_bytes, name, reading.size_bytes, rejected.rows > 0)
    return Parsed(plain.rows, nested.rows, rejected.rows, reading.undecided, parts=(part,) if is_part else ())
