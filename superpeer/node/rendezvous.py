"""Rendezvous: a peer gets a resource whose owner may be offline (Section 5.1 of the chapter).

The requester's access point asks that of the owner. When the owner is there, it is asked to upload the resource, which
goes to the requester's access point and waits there until the requester has it. Each side remembers what it waits for
until the next step is on disk, and says it again in every view, so neither needs the other to be up at the same time. A
peer that moves takes its rendezvous along, and what comes for it afterwards follows.

If the owner's access point is gone, or does not know the owner any more, all super-peers are asked.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

import msgspec

from hypercup import View
from superpeer.node.forms import Form
from superpeer.node.records import FileDropped, FileKept, Rendezvous, RendezvousDropped, RendezvousKept
from superpeer.node.requests import FetchFailed, FileArrived, UploadWanted
from superpeer.node.workspace import Workspace

DIGEST_BYTES = 32


class RendezvousAsked(Form, frozen=True, tag="rendezvous asked"):
    """To the access point of an owner, or in a search to every super-peer."""

    rendezvous: Rendezvous
    is_search: bool = False


class OwnerUnknown(Form, frozen=True, tag="owner unknown"):
    """From the super-peer that was taken for the owner's access point."""

    requester: str
    id: str


class FileSent(Form, frozen=True, tag="file sent"):
    """To the access point of the requester: what the owner uploaded, or None if it has nothing of that name."""

    rendezvous: Rendezvous
    content: bytes | None
    sent_by: bytes


class FileStored(Form, frozen=True, tag="file stored"):
    """To the owner's access point: the requester's has it."""

    owner: str
    id: str


RendezvousMessage = RendezvousAsked | OwnerUnknown | FileSent | FileStored


class RendezvousDesk:
    """The rendezvous of a super-peer's own peers, as requesters and as owners."""

    def __init__(self, workspace: Workspace, is_here: Callable[[str], bool]) -> None:
        self._workspace = workspace
        self._state = workspace.state
        self._is_here = is_here
        self._view: View | None = None
        self._turned_away: dict[str, dict[str, None]] = {}
        """By peer, the rendezvous whose files came while too many waited; they are asked for when there is room."""

    def enter_view(self, view: View) -> None:
        self._view = view
        for name, kept in list(self._state.peers.items()):
            for one in list(kept.rendezvous.values()):
                self._look_after(name, one)

    def fetch(self, rendezvous: Rendezvous) -> None:
        """A local peer wants a resource."""
        self._workspace.keep(RendezvousKept(rendezvous.requester, rendezvous))
        self._look_after(rendezvous.requester, rendezvous)

    def take_over(self, peer: str, rendezvous: Rendezvous, content: bytes | None) -> None:
        """A peer came from elsewhere with a rendezvous that it had there, or with a file that waited for it."""
        if content is not None and rendezvous.id in self._state.peer(peer).files:
            return
        if content is not None and self._has_room(peer) and len(content) <= self._workspace.limits.file_bytes:
            self._keep_file(peer, rendezvous, content)
            return
        # What there is no room for is asked for again.
        here = self._workspace.key
        field = "owner_at" if rendezvous.owner == peer else "requester_at"
        moved = msgspec.structs.replace(rendezvous, **{field: here})
        self._workspace.keep(RendezvousKept(peer, moved))
        self._look_after(peer, moved)

    def connect(self, peer: str) -> None:
        """A peer is there: it is asked for what others want of it, and gets what has come for it."""
        kept = self._state.peers.get(peer)
        if kept is None:
            return
        for file in kept.files.values():
            self._workspace.tell(peer, FileArrived(file.rendezvous, file.content))
        for one in list(kept.rendezvous.values()):
            self._look_after(peer, one)

    def upload(self, owner: str, identity: str, content: bytes | None) -> None:
        """A local owner gives what it was asked for; it may have been given before."""
        kept = self._state.peers.get(owner)
        one = kept.rendezvous.get(identity) if kept else None
        if one is not None and one.owner == owner:
            self._pass(one.requester_at, FileSent(one, content, self._workspace.key))

    def file_taken(self, peer: str, identity: str) -> None:
        kept = self._state.peers.get(peer)
        if kept is not None and identity in kept.files:
            self._workspace.keep(FileDropped(peer, identity))
            self._ask_again(peer)

    def receive(self, sender: bytes, message: RendezvousMessage) -> None:
        match message:
            case RendezvousAsked(one, is_search):
                self._on_asked(sender, one, is_search=is_search)
            case OwnerUnknown(requester, identity):
                kept = self._state.peers.get(requester)
                if kept is not None and identity in kept.rendezvous:
                    self._search(kept.rendezvous[identity])
            case FileSent():
                self._on_file(message)
            case FileStored(owner, identity):
                kept = self._state.peers.get(owner)
                if kept is not None and identity in kept.rendezvous:
                    self._workspace.keep(RendezvousDropped(owner, identity))

    def tick(self) -> None:
        """Gives up what is too old, and looks again for owners that nobody knew."""
        oldest = self._workspace.now - self._workspace.limits.meeting_s
        for name, kept in list(self._state.peers.items()):
            for one in [one for one in kept.rendezvous.values() if one.asked_at < oldest]:
                if one.requester == name:
                    self._workspace.tell(name, FetchFailed(one, "nobody brought it in time"))
                self._workspace.keep(RendezvousDropped(name, one.id))
            for one in list(kept.rendezvous.values()):
                if one.requester == name and not one.failure and not self._is_member(one.owner_at):
                    self._search(one)
            for identity in [identity for identity, file in kept.files.items() if file.at < oldest]:
                self._workspace.keep(FileDropped(name, identity))
                self._ask_again(name)

    def _look_after(self, peer: str, one: Rendezvous) -> None:
        """Does what can be done now for a rendezvous of a local peer."""
        if one.failure:
            if peer in self._workspace.connected:
                self._workspace.tell(peer, FetchFailed(one, one.failure))
                self._workspace.keep(RendezvousDropped(peer, one.id))
        elif one.owner == peer:
            if self._is_member(one.requester_at):
                self._workspace.tell(peer, UploadWanted(one))
        elif self._is_member(one.owner_at):
            self._pass(one.owner_at, RendezvousAsked(one))
        else:
            self._search(one)

    def _on_asked(self, sender: bytes, one: Rendezvous, *, is_search: bool) -> None:
        if self._is_here(one.owner):
            here = msgspec.structs.replace(one, owner_at=self._workspace.key)
            kept = self._state.peer(one.owner)
            if one.id in kept.rendezvous or len(kept.rendezvous) < self._workspace.limits.meetings_per_peer:
                self._workspace.keep(RendezvousKept(one.owner, here))
                self._look_after(one.owner, here)
        elif one.owner in self._state.moved and not is_search:
            self._pass(self._state.moved[one.owner], RendezvousAsked(one))
        elif not is_search:
            self._pass(sender, OwnerUnknown(one.requester, one.id))

    def _on_file(self, sent: FileSent) -> None:
        one = sent.rendezvous
        peer = one.requester
        if not self._is_here(peer):
            if peer in self._state.moved:
                self._pass(self._state.moved[peer], sent)
            return
        kept = self._state.peer(peer)
        if one.id in kept.rendezvous:
            failure = self._failure_of(sent)
            if not failure and not self._has_room(peer):
                # Neither end forgets it: it is asked for again when the peer has taken one of those that wait.
                self._turned_away.setdefault(peer, {})[one.id] = None
                return
            self._workspace.keep(RendezvousDropped(peer, one.id))
            if failure:
                failed = msgspec.structs.replace(one, failure=failure)
                self._workspace.keep(RendezvousKept(peer, failed))
                self._look_after(peer, failed)
            elif sent.content is not None:
                self._keep_file(peer, one, sent.content)
        self._pass(sent.sent_by, FileStored(one.owner, one.id))

    def _failure_of(self, sent: FileSent) -> str:
        if sent.content is None:
            return "its owner has nothing of that name"
        most = self._workspace.limits.file_bytes
        return f"it is larger than the {most:,} bytes that this access point takes" if len(sent.content) > most else ""

    def _has_room(self, peer: str) -> bool:
        return len(self._state.peer(peer).files) < self._workspace.limits.files_per_peer

    def _ask_again(self, peer: str) -> None:
        """There is room for one more file."""
        turned_away, kept = self._turned_away.get(peer, {}), self._state.peer(peer)
        while turned_away:
            identity = next(iter(turned_away))
            del turned_away[identity]
            if identity in kept.rendezvous:
                self._look_after(peer, kept.rendezvous[identity])
                return
        self._turned_away.pop(peer, None)

    def _keep_file(self, peer: str, one: Rendezvous, content: bytes) -> None:
        """Lets a file wait for a peer."""
        digest = blake2b(content, digest_size=DIGEST_BYTES).digest()
        self._workspace.keep(FileKept(peer, one, digest, content, self._workspace.now))
        self._workspace.tell(peer, FileArrived(one, content))

    def _search(self, one: Rendezvous) -> None:
        if self._view is not None:
            for member in self._view.incarnations:
                self._pass(member, RendezvousAsked(one, is_search=True))

    def _is_member(self, super_peer: bytes) -> bool:
        return self._view is not None and super_peer in self._view

    def _pass(self, super_peer: bytes, message: RendezvousMessage) -> None:
        if super_peer == self._workspace.key:
            self.receive(super_peer, message)
        elif self._is_member(super_peer):
            self._workspace.send(super_peer, message)
