"""The names of blank nodes put in their place, for a whole catalogue: the rule of `superpeer.rdf.lifting` in columns.

A blank node belongs to its file. So a task takes all triples of a file that have one, or of several small files; of a
very large one it takes those of a share of its nodes, chosen by hash. What comes of it is written and scanned at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from superpeer.catalog.columns import LITERAL, TRIPLES, blank_ends, codes_of, is_kind, mark_of
from superpeer.catalog.hashing import hash_texts
from superpeer.catalog.scanning import BATCH_ROWS, Scanned, Scanner, Wanted, joined
from superpeer.catalog.tasks import prepare
from superpeer.catalog.units import find_parquet, open_parquet
from superpeer.catalog.writing import TableWriter
from superpeer.rdf.lifting import MAX_DEPTH, MEMBER, NAMES

SHARE_BYTES = 16 << 20
"""How much of Parquet a task takes: about a million triples."""

_MEMBER = re.compile(MEMBER)


@dataclass(frozen=True, slots=True)
class Share:
    """The blank nodes of some tables whose hashes leave `part` when they are divided by `parts`."""

    uris: tuple[str, ...]
    part: int
    parts: int


@dataclass(frozen=True)
class Lifted:
    """How many rows came of it, how many blank subjects are spoken for by nobody, and what was scanned."""

    rows: int = 0
    anonymous: int = 0
    scanned: Scanned = Scanned()  # noqa: RUF009 - it is frozen

    def __add__(self, other: Lifted) -> Lifted:
        return Lifted(self.rows + other.rows, self.anonymous + other.anonymous, self.scanned + other.scanned)


@dataclass(frozen=True)
class _Nodes:
    """Rows with blank nodes, by the numbers of these: what a row is about, and what it leads to, or -1."""

    labels: pa.Array
    about: Any
    leads_to: Any
    is_name: Any
    """Rows whose object is the name of the subject."""
    leads_on: Any
    """Rows whose object is a node whose name is that of the subject, too."""


def shares_of(uri: str) -> list[Share]:
    """All that is to be lifted in a directory of tables, whose names begin with a mark of their file."""
    found: list[Share] = []
    small: list[str] = []
    small_bytes = 0
    for _, group in groupby(find_parquet(uri), key=lambda table: mark_of(table[0])):
        some = list(group)
        names, size = [name for name, _ in some], sum(size for _, size in some)
        if size > SHARE_BYTES:
            parts = -(-size // SHARE_BYTES)
            found += [Share(tuple(names), part, parts) for part in range(parts)]
            continue
        small += names
        small_bytes += size
        if small_bytes > SHARE_BYTES:
            found.append(Share(tuple(small), 0, 1))
            small, small_bytes = [], 0
    return [*found, Share(tuple(small), 0, 1)] if small else found


def lift_shares(shares: Iterable[Share], table: str, pieces: str, name: str, wanted: Wanted) -> Lifted:
    """Runs in a task: writes what is lifted to a file of the directory `table`, and what is scanned to `pieces`."""
    prepare()
    scanner = Scanner(pieces, name, wanted)
    lifted = Lifted()
    with TableWriter(table, f"{name}.parquet", TRIPLES, scanner) as writer:
        for share in shares:
            held = _held(share)
            nodes = _nodes_of(held)
            writer.add(_lift(held, nodes))
            lifted += Lifted(anonymous=_count_anonymous(nodes, share))
    return lifted + Lifted(writer.rows, 0, scanner.close())


def _lift(rows: pa.RecordBatch, nodes: _Nodes) -> pa.RecordBatch:
    """The rows with a URI as subject, with names in the place of blank objects that have any."""
    assert MAX_DEPTH == 2
    own, through = np.flatnonzero(nodes.is_name), np.flatnonzero(nodes.leads_on)
    outer, inner = _pairs(nodes.leads_to[through], nodes.about[own])
    named = np.concatenate([nodes.about[own], nodes.about[through][outer]])
    name = np.concatenate([own, own[inner]])
    uses = np.flatnonzero((nodes.about < 0) & (nodes.leads_to >= 0))
    use, found = _pairs(nodes.leads_to[uses], named)
    nameless = np.setdiff1d(np.arange(len(uses)), use)
    subjects = pa.array(np.concatenate([uses[use], uses[nameless]]))
    objects = pa.array(np.concatenate([name[found], uses[nameless]]))
    columns = [rows.column(one).take(subjects if one in TRIPLES.names[:3] else objects) for one in TRIPLES.names]
    return pa.RecordBatch.from_arrays(columns, schema=TRIPLES)


def _count_anonymous(nodes: _Nodes, share: Share) -> int:
    """How many blank subjects are spoken for by nobody: they have no name, or nobody refers to them."""
    own, through = np.flatnonzero(nodes.is_name), np.flatnonzero(nodes.leads_on)
    outer, _ = _pairs(nodes.leads_to[through], nodes.about[own])
    size = len(nodes.labels)
    is_subject, has_name, is_referred_to = np.zeros(size, bool), np.zeros(size, bool), np.zeros(size, bool)
    is_subject[nodes.about[nodes.about >= 0]] = True
    has_name[nodes.about[own]] = True
    has_name[nodes.about[through][outer]] = True
    is_referred_to[nodes.leads_to[nodes.leads_to >= 0]] = True
    return int(np.count_nonzero(is_subject & ~(has_name & is_referred_to) & _is_in(nodes.labels, share)))


def _pairs(keys: Any, others: Any) -> tuple[Any, Any]:
    """The places of all pairs that are equal."""
    order = np.argsort(others, kind="stable")
    low, high = (np.searchsorted(others[order], keys, side) for side in ("left", "right"))
    counts = high - low
    before = np.cumsum(counts) - counts
    return np.repeat(np.arange(len(keys)), counts), order[np.arange(counts.sum()) + np.repeat(low - before, counts)]


def _held(share: Share) -> pa.RecordBatch:
    """All triples that say something of the nodes of a share."""
    found = [_of_share(rows, share) for rows in _read(share.uris)]
    if share.parts > 1:
        rows = joined(found)
        middles = rows.column("object").filter(pa.array(_nodes_of(rows).leads_on)).unique()
        middles = middles.filter(pa.array(~_is_in(middles, share)))
        if len(middles):
            found += [_names_among(rows, middles) for rows in _read(share.uris)]
    return joined(found)


def _of_share(rows: pa.RecordBatch, share: Share) -> pa.RecordBatch:
    if share.parts == 1:
        return rows
    about, leads_to = _is_in(rows.column("subject"), share), _is_in(rows.column("object"), share)
    blank_subject, blank_object = blank_ends(rows)
    return rows.filter(pa.array((about & blank_subject) | (leads_to & blank_object)))


def _names_among(rows: pa.RecordBatch, nodes: pa.Array) -> pa.RecordBatch:
    """The names of nodes of other shares."""
    mine = pc.is_in(rows.column("subject"), nodes).to_numpy(zero_copy_only=False)
    return rows.filter(pa.array(_nodes_of(rows).is_name & mine))


def _is_in(names: pa.Array, share: Share) -> Any:
    if share.parts == 1:
        return np.ones(len(names), bool)
    hashes, _ = hash_texts(names, np.zeros(len(names), np.uint64))
    return hashes % np.uint64(share.parts) == share.part


def _nodes_of(rows: pa.RecordBatch) -> _Nodes:
    subject, leading = blank_ends(rows)
    found = [rows.column("subject").filter(pa.array(subject)), rows.column("object").filter(pa.array(leading))]
    labels = pa.concat_arrays(found).dictionary_encode()
    numbers = codes_of(labels)
    about, leads_to = np.full(len(rows), -1), np.full(len(rows), -1)
    about[subject], leads_to[leading] = numbers[: len(found[0])], numbers[len(found[0]) :]
    properties = rows.column("predicate")
    names = [name in NAMES or bool(_MEMBER.fullmatch(name)) for name in properties.dictionary.to_pylist()]
    naming = np.array(names, bool)[codes_of(properties)] & subject
    return _Nodes(labels.dictionary, about, leads_to, naming & is_kind(rows, LITERAL), naming & leading)


def _read(uris: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for uri in uris:
        with open_parquet(uri) as file:
            yield from file.iter_batches(BATCH_ROWS, columns=TRIPLES.names)
