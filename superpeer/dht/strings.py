"""DHTStrings as a routing strategy: string attributes under equality, prefix, suffix and containment.

A SubID is stored once for each constraint, at the owner of the hash of its text, in one of three lists that a node
has for each attribute. Beside it stands the text, since a node may own several. `N*E` is two entries, a prefix and a
suffix. An event asks for each of its values the owners of the value, of all its prefixes and of all its suffixes, and
then matches as `string_matching` describes. Its homes are told by separate messages, or by one to everybody where
that is cheaper.

Where the papers are not exact, this is: half of a containment is never taken for a prefix or suffix of its own; both
halves have to be met by one value; and they may overlap in it only where the query lets them (`N*N` does not match
"N").

Of QEL this supports `=` on strings and URIs, `like`, and properties with any value beside these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from math import log2

from qel.normal import Disjunct
from qel.regions import Region
from qel.topics import NO_TOPICS, Topics
from qel.values import Kind, Value
from superpeer.dht.publication import Publication
from superpeer.dht.regions import constant_of, constant_text, each_slot, operators_of, refuse
from superpeer.dht.simulation import Fabric
from superpeer.dht.strategy import Item, Store, Strategy, Subscription
from superpeer.dht.string_matching import SUBID_BYTES, Matching, SubId, run

_ABLE = "it places = and like on literals and = on URIs, beside properties with any value"


class ListKind(Enum):
    EQUALITY = "equality"
    PREFIX = "prefix"
    SUFFIX = "suffix"


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands in a list: a SubID with the text for which it is there, and what this entry is of its slot."""

    sub: SubId
    kind: ListKind
    attribute: str
    text: str
    slot: int
    is_half: bool = False
    least: int = 0


class Lists(Store[Entry]):
    """The lists of one node: by kind, attribute and text."""

    def __init__(self) -> None:
        super().__init__()
        self._lists: dict[tuple[ListKind, str, str], dict[tuple[str, int], Item[Entry]]] = {}

    def _enter(self, item: Item[Entry]) -> None:
        entry = item.content
        self._lists.setdefault((entry.kind, entry.attribute, entry.text), {})[item.id] = item

    def _withdraw(self, item: Item[Entry]) -> None:
        entry = item.content
        place = entry.kind, entry.attribute, entry.text
        del self._lists[place][item.id]
        if not self._lists[place]:
            del self._lists[place]

    def found(self, kind: ListKind, attribute: str, text: str) -> Iterator[Entry]:
        return (item.content for item in self._lists.get((kind, attribute, text), {}).values())


@dataclass(frozen=True, slots=True)
class _Question:
    """A list that an event asks for."""

    kind: ListKind
    text: str
    value: Value


class Strings(Strategy[Entry]):
    """DHTStrings."""

    routing = "strings"
    system = "DHTStrings"

    def __init__(
        self,
        fabric: Fabric,
        topics: Topics = NO_TOPICS,
        matching: Matching = Matching.HYBRID,
        selectivity: Callable[[str], float] | None = None,
    ) -> None:
        """`selectivity` estimates how long the lists of an attribute are; without it, the nodes of the event's values
        are asked, in a phase of its own."""
        super().__init__(fabric, topics)
        self.matching = matching
        self.selectivity = selectivity
        self.subids_sent = 0
        """In lists of any kind; one that is sent r times counts r times."""
        self.circles = 0
        """How often it was cheaper to tell everybody."""

    def _new_store(self) -> Lists:
        return Lists()

    def _place(self, subscription: Subscription[Entry], disjunct: Disjunct) -> Iterable[tuple[int, int, Entry]]:
        if disjunct.subject.kind is not None:
            raise refuse(self.system, "", "a constraint", _ABLE)
        for name, _, region in each_slot(disjunct):
            _check(name, region, self.system)
        declared = frozenset(name for name, _, region in each_slot(disjunct) if region.kind is not None)
        if not declared:
            raise refuse(self.system, next(iter(disjunct.slots)), "a query without any text or URI in it", _ABLE)
        present = disjunct.properties - declared
        sub = SubId(subscription.home, subscription.name, len(subscription.items), declared, present)
        placed = []
        for name, slot, region in each_slot(disjunct):
            for entry in _entries(sub, name, slot, region):
                key = self.table.key(entry.text)
                placed.append((key, key, entry))
        return placed

    def _publish(self, at: int, publication: Publication) -> None:
        values = publication.description.values
        order = self._order(at, publication)
        position, hops = at, 0
        is_coordinated = self.matching is Matching.COORDINATED
        local: dict[str, set[SubId]] = {}
        gathered: list[tuple[int, int]] = []
        for name in order:
            questions = list(_questions(values[name]))
            if is_coordinated:
                local[name], reach = self._gather(at, name, questions)
                hops = max(hops, reach)
                continue
            # One of the nodes that an attribute asks, that of a value itself, gathers for all.
            collector = self.table.owner(self.table.key(questions[0].text))
            local[name], reach = self._gather(collector, name, questions)
            gathered.append((collector, reach))
        outcome = run(self.matching, order, local, values.keys())
        if not is_coordinated:
            self.subids_sent += outcome.sent
            passed = 0
            for (collector, reach), onward, leaving in zip(gathered, outcome.passed, outcome.home, strict=True):
                size = publication.size_bytes + SUBID_BYTES * passed
                hops += self.fabric.route(position, self.table.identifier(collector), "match", size).hops + reach
                if leaving:
                    self.fabric.direct(collector, at, "lists", SUBID_BYTES * leaving)
                position, passed = collector, onward
            hops += 1
        items = [self.subscriptions[sub.key].items[sub.number] for sub in outcome.matched]
        self._announce(at, items, publication, hops)

    def _gather(self, collector: int, attribute: str, questions: list[_Question]) -> tuple[set[SubId], int]:
        """The collection phase for one attribute: asks for all lists, and makes the local list of them."""
        met: dict[SubId, set[int]] = {}
        halves: dict[tuple[SubId, int, int], set[ListKind]] = {}
        hops = 0
        for question in questions:
            size = len(attribute) + len(question.text)
            arrival = self.fabric.route(collector, self.table.key(question.text), "collect", size)
            store = self._store(arrival.node)
            assert isinstance(store, Lists)
            entries = list(store.found(question.kind, attribute, question.text))
            if arrival.node != collector:
                self.fabric.direct(arrival.node, collector, "lists", SUBID_BYTES * len(entries))
                self.subids_sent += len(entries)
                hops = max(hops, arrival.hops + 1)
            for entry in entries:
                if len(question.value.text) < entry.least:
                    continue
                if entry.is_half:
                    found = halves.setdefault((entry.sub, entry.slot, id(question.value)), set())
                    found.add(entry.kind)
                    if len(found) < 2:
                        continue
                met.setdefault(entry.sub, set()).add(entry.slot)
        return {sub for sub, slots in met.items() if len(slots) == self._slots(sub, attribute)}, hops

    def _slots(self, sub: SubId, attribute: str) -> int:
        return len(self.subscriptions[sub.key].items[sub.number].disjunct.slots[attribute])

    def _order(self, at: int, publication: Publication) -> list[str]:
        """The event's attributes, those that are expected to have short lists first."""
        names = sorted(name for name, values in publication.description.values.items() if any(_questions(values)))
        if self.matching is Matching.COORDINATED:
            return names
        if self.selectivity is not None:
            return sorted(names, key=self.selectivity)
        return sorted(names, key=lambda name: self._ask_size(at, name, publication.description.values[name]))

    def _ask_size(self, at: int, attribute: str, values: list[Value]) -> int:
        question = next(_questions(values))
        arrival = self.fabric.route(at, self.table.key(question.text), "sizes", len(attribute) + len(question.text))
        self.fabric.direct(arrival.node, at, "sizes", 4)
        store = self._store(arrival.node)
        assert isinstance(store, Lists)
        return sum(1 for _ in store.found(question.kind, attribute, question.text))

    def _announce(self, at: int, items: list[Item[Entry]], publication: Publication, hops: int) -> None:
        """The delivery phase. A SubID has the identifier of its node, not its address, so contact is over the hash
        table; where that takes more messages than there are nodes, all are told."""
        homes = self._by_home(items)
        members = len(self.table.nodes)
        if len(homes) * log2(max(members, 2)) / 2 < members:
            for home, names in sorted(homes.items()):
                self._tell(at, home, names, publication, hops)
            return
        self.circles += 1
        told = sum(len(name) for names in homes.values() for name in names)
        hops += self.fabric.circle(at, "notify", publication.size_bytes + told)
        for home, names in sorted(homes.items()):
            if home in self.table.nodes:
                self._arrive(sorted(names), publication, hops)
            else:
                self._leave_mail(self.table.owner(self.table.mail_key(home)), home, names, publication)

    def _tell(self, sender: int, home: int, names: Iterable[str], publication: Publication, hops: int) -> None:
        if home not in self.table.nodes:
            super()._tell(sender, home, names, publication, hops)
            return
        size = publication.size_bytes + sum(map(len, names))
        hops += self.fabric.route(sender, self.table.identifier(home), "notify", size).hops
        self._arrive(sorted(names), publication, hops)


def _questions(values: Iterable[Value]) -> Iterator[_Question]:
    """The lists that the values of one attribute ask for, those of the values themselves first."""
    distinct = list({(value.kind, value.text): value for value in values if value.kind is not Kind.BLANK}.values())
    for value in distinct:
        yield _Question(ListKind.EQUALITY, constant_text(value.kind, value.text), value)
    for value in distinct:
        if value.kind is Kind.LITERAL:
            for length in range(1, len(value.text) + 1):
                yield _Question(ListKind.PREFIX, value.text[:length], value)
                yield _Question(ListKind.SUFFIX, value.text[-length:], value)


def _entries(sub: SubId, attribute: str, slot: int, region: Region) -> Iterator[Entry]:
    constant = constant_of(region)
    if constant is not None:
        yield Entry(sub, ListKind.EQUALITY, attribute, constant, slot)
        return
    is_half = bool(region.prefix and region.suffix)
    if region.prefix:
        yield Entry(sub, ListKind.PREFIX, attribute, region.prefix, slot, is_half, region.least)
    if region.suffix:
        yield Entry(sub, ListKind.SUFFIX, attribute, region.suffix, slot, is_half, region.least)


def _check(name: str, region: Region, system: str) -> None:
    foreign = [operator for operator in operators_of(region) if operator not in ("=", "like")]
    if foreign:
        raise refuse(system, name, f"the operator {foreign[0]}", _ABLE)
    if region.kind is not None and constant_of(region) is None and not region.prefix and not region.suffix:
        raise refuse(system, name, "a literal without any text", _ABLE)
