"""Random things that happen to a peer's memory; as a process, on a journal, until it is killed."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from auth import Credentials, Identity, PrivateId, Proof, PublicKey
from superpeer.client.downloads import KeptDownload
from superpeer.client.journal import Journal
from superpeer.client.memory import Memory
from superpeer.node.body import Body, Term
from superpeer.node.publications import Draft, Kind, Publication
from superpeer.node.records import Subscription
from superpeer.node.requests import Notice

ANNA = Identity(b"a" * 32)
Step = tuple[str, int, int]
KINDS = (
    *("post", "logged", "acknowledged", "refused", "take", "mark", "subscribe", "unsubscribe", "attach", "attaching"),
    *("brought", "handed over", "advertise", "choose", "download", "take", "post", "mark", "acknowledged"),
)


class Model:
    """The same memory without a disk: a journal in all that is compared."""

    def __init__(self) -> None:
        self.memory = Memory(ANNA)
        self.logged: set[int] = set()
        self.held: dict[str, bytes] = {}
        self.access_point = ""
        self.kept: dict[str, KeptDownload] = {}


def steps(seed: str) -> Iterator[Step]:
    chance = random.Random(seed)
    while True:
        yield chance.choice(KINDS), chance.randrange(6), chance.randrange(1, 40)


def body(number: int) -> bytes:
    statements = (("http://example.org/p", Term("l", str(number))),)
    return msgspec.msgpack.encode(Body(Term("u", f"http://example.org/{number % 5}"), statements))


def credentials(number: int, serial: int = 1) -> Credentials:
    access_point = PublicKey(bytes([number]) * 32)
    return Credentials(ANNA.public, access_point, serial, b"s" * 32, PrivateId(bytes([serial % 250]) * 32))


def publication(which: int, number: int) -> Publication:
    proof = Proof(0, 1, b"", b"x" * 64)
    draft = Draft(PublicKey(bytes([which + 1]) * 32), b"s" * 32, number, Kind.NEW, body(number), proof)
    return Publication(bytes([which + 9]) * 32, (1, number), 0.0, draft)


def perform(target: Journal | Model, step: Step) -> None:
    """What a step means: to a journal by its methods, to the model by its memory's."""
    kind, which, number = step
    if isinstance(target, Journal):
        _perform_on_disk(target, kind, which, number)
    else:
        _perform_in_memory(target, kind, which, number)


def _posting(memory: Memory, which: int) -> Any:
    serials = sorted(memory.outbox)
    return memory.outbox[serials[which % len(serials)]] if serials else None


def _perform_on_disk(journal: Journal, kind: str, which: int, number: int) -> None:
    memory = journal.memory
    posting = _posting(memory, which)
    match kind:
        case "post":
            journal.post(Kind.DELETED if which == 0 else Kind.NEW, [body(number), body(number + 1)])
        case "logged" if posting:
            journal.are_logged([posting])
        case "acknowledged" if posting:
            journal.acknowledged([posting.serial])
        case "refused" if posting:
            journal.withdraw([posting.serial])
        case "take" if not memory.has(Notice(0, publication(which, number), (), True)):
            journal.take(publication(which, number))
        case "mark":
            journal.mark([publication(which, number)])
        case "subscribe":
            journal.subscribe(Subscription(str(which), str(number), 0.0))
        case "unsubscribe":
            journal.unsubscribe(str(which))
        case "attach":
            journal.attach(credentials(which + 1, number))
        case "attaching":
            journal.attaching(number)
        case "brought":
            journal.brought()
        case "handed over":
            journal.handed_over(bytes([which + 1]) * 32)
        case "advertise":
            journal.advertise((("schema", str(number)),) if which else None, is_known=True)
        case "choose":
            journal.choose(str(number))
        case "download":
            journal.keep_download(KeptDownload(str(which), "r", "o", b"k", bytes(number)))


def _perform_in_memory(model: Model, kind: str, which: int, number: int) -> None:
    memory = model.memory
    posting = _posting(memory, which)
    match kind:
        case "post":
            for each in (number, number + 1):
                memory.post(Kind.DELETED if which == 0 else Kind.NEW, body(each))
        case "logged" if posting:
            _log(model, posting)
        case "acknowledged" if posting:
            _log(model, posting)
            memory.acknowledged(posting.serial)
            model.logged.discard(posting.serial)
        case "refused" if posting:
            memory.acknowledged(posting.serial)
            model.logged.discard(posting.serial)
        case "take" if not memory.has(Notice(0, publication(which, number), (), True)):
            memory.note(publication(which, number))
        case "mark":
            memory.mark(publication(which, number))
        case "subscribe":
            memory.subscriptions[str(which)] = Subscription(str(which), str(number), 0.0)
        case "unsubscribe":
            memory.subscriptions.pop(str(which), None)
        case "attach":
            memory.attach(credentials(which + 1, number))
            model.logged.clear()
        case "attaching":
            memory.attachment_serial = number
        case "brought":
            memory.has_brought = True
        case "handed over":
            memory.handed_over(bytes([which + 1]) * 32)
        case "advertise":
            memory.elements = (("schema", str(number)),) if which else None
        case "choose":
            model.access_point = str(number)
        case "download":
            model.kept[str(which)] = KeptDownload(str(which), "r", "o", b"k", bytes(number))


def _log(model: Model, posting: Any) -> None:
    if posting.serial not in model.logged:
        model.logged.add(posting.serial)
        subject = msgspec.msgpack.decode(posting.body, type=Body).subject.text
        if posting.kind is Kind.DELETED:
            model.held.pop(subject, None)
        else:
            model.held[subject] = posting.body


def picture(target: Journal | Model) -> dict[str, object]:
    """All that has to be the same."""
    memory = target.memory
    if isinstance(target, Journal):
        held, downloads = dict(target.holdings()), {one.id: one for one in target.downloads()}
    else:
        held, downloads = target.held, target.kept
    return {
        "credentials": memory.credentials,
        "attachment serial": memory.attachment_serial,
        "has brought": memory.has_brought,
        "subscriptions": memory.subscriptions,
        "elements": memory.elements,
        "marks": memory.marks,
        "outbox": memory.outbox,
        "serial": memory.serial,
        "formers": memory.formers,
        "seen": {key: list(order) for key, (_, order) in memory._seen.items()},
        "logged": target.logged,
        "held": held,
        "access point": target.access_point,
        "downloads": downloads,
    }


if __name__ == "__main__":
    opened = Journal(Path(sys.argv[1]), ANNA)
    for each in steps(sys.argv[2]):
        perform(opened, each)
        sys.stdout.write("done\n")
        sys.stdout.flush()
