"""Opening a peer: its directory, its key, and super-peers that are not what they should be."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest
from rdflib import DC, Literal, URIRef

import superpeer
from auth import Banned, Identity, PassphraseWrong, WrongPrivateId
from qel import QelSyntaxError
from superpeer.client.address import Address
from superpeer.client.errors import BadAddress, DirectoryInUse, NoAccessPoint, NoAnswer
from superpeer.client.peer import Peer
from superpeer.client.refusals import refusal_of
from superpeer.client.sync import SyncPeer
from superpeer.net import ConnectionClosed, Reason, WrongServerKey
from superpeer.net.peer_messages import Refused as RefusedMessage
from superpeer.node import errors
from tests.superpeer.client.backbone import QUICK, live, running, wait_for

KEY = Identity(b"k" * 32).public


def test_the_package_offers_the_client() -> None:
    assert superpeer.Peer is Peer
    assert superpeer.SyncPeer is SyncPeer
    with pytest.raises(AttributeError, match="Nothing"):
        superpeer.Nothing  # noqa: B018 - is not there


def test_addresses() -> None:
    for text in (f"example.org:7400#{KEY}", f"[::1]:7400#{KEY}"):
        assert str(Address.parse(text)) == text
    assert Address.parse(f"[::1]:7400#{KEY}").host == "::1"
    for text in ("example.org:7400", f"example.org#{KEY}", f"::1:7400#{KEY}", f"a:99999#{KEY}", "a:1#spk-nonsense", ""):
        with pytest.raises(BadAddress, match="HOST:PORT#KEY"):
            Address.parse(text)


def test_a_new_peer_has_to_know_where_to_go(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(NoAccessPoint):
            async with Peer.open(tmp_path / "anna"):
                pass
        nobody = f"127.0.0.1:9#{KEY}"
        with pytest.raises(NoAnswer, match="nobody could be reached"):
            async with Peer.open(tmp_path / "anna", nobody, patience_s=0.2, backoff=QUICK):
                pass

    live(main())


def test_a_peer_runs_once_and_goes_on_with_its_own_key(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone:
            async with backbone.peer("anna", passphrase="correct horse") as anna:
                key, public_id = anna.key, anna.id
                with pytest.raises(DirectoryInUse):
                    await backbone.peer("anna", passphrase="correct horse").__aenter__()
            with pytest.raises(PassphraseWrong):
                await backbone.peer("anna", passphrase="wrong").__aenter__()
            async with Peer.open(tmp_path / "anna", passphrase="correct horse", backoff=QUICK) as anna:
                await anna.connected()
                assert (anna.key, anna.id) == (key, public_id)
            for path in (tmp_path / "anna").iterdir():
                assert path.stat().st_mode & 0o077 == 0
            assert (tmp_path / "anna").stat().st_mode & 0o077 == 0

    live(main())


def test_a_super_peer_with_another_key_or_of_another_network(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone:
            wrong = Address.parse(backbone[0].address)._replace(key=KEY)
            with pytest.raises(WrongServerKey):
                await Peer.open(tmp_path / "anna", str(wrong), backoff=QUICK).__aenter__()
            with pytest.raises(ConnectionClosed) as closed:
                await Peer.open(tmp_path / "bert", backbone[0].address, root=str(KEY), backoff=QUICK).__aenter__()
            assert closed.value.reason in (Reason.WRONG_NETWORK, Reason.NOT_ADMITTED)

    live(main())


def test_a_peer_that_is_shut_out_is_told_and_comes_back_when_it_may(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("anna") as anna:
            registry = backbone[0].running.registry
            registry.ban(anna.key, time.time())
            backbone[0].cut()
            await wait_for(lambda: not anna.is_connected)
            with pytest.raises(Banned):
                await anna.subscriptions()
            assert isinstance(anna.problem, Banned)
            registry.lift_ban(anna.key)
            await wait_for(lambda: anna.is_connected)
            assert await anna.subscriptions() == []

    live(main())


def test_secrets_are_not_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        with caplog.at_level(logging.DEBUG):
            async with running(tmp_path) as backbone, backbone.peer("anna") as anna:
                await anna.advertise(["dc"])
                await anna.publish([(URIRef("http://example.org/a"), DC.title, Literal("x"))])
                backbone[0].cut()
                await wait_for(lambda: not anna.is_connected)
                await anna.subscriptions()
                private = anna._journal.memory.attached.private_id.reveal()
                shown = caplog.text + repr(anna) + repr(vars(anna)) + repr(anna._journal.memory)
                for secret in (private, anna._journal.memory.identity.reveal_seed()):
                    assert secret.hex() not in shown
                    assert repr(secret)[2:-1] not in shown

    live(main())


def test_a_peer_that_is_asked_in_vain_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as backbone, backbone.peer("anna", patience_s=0.3) as anna:
            await backbone[0].crash()
            with pytest.raises(NoAnswer, match="did not answer within"):
                await anna.subscriptions()
            with pytest.raises(NoAnswer, match="outbox"):
                await anna.publish([(URIRef("http://example.org/a"), DC.title, Literal("x"))])
            assert anna.outbox == 1

    live(main())


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (RefusedMessage(1, "BadRequest", "why"), errors.BadRequest),
        (RefusedMessage(1, "Nonconforming", "not advertised: a; advertise", ("a",)), errors.Nonconforming),
        (RefusedMessage(1, "LimitReached", "files: the limit is 1,000; take some away"), errors.LimitReached),
        (RefusedMessage(1, "LimitReached", "unreadable"), errors.Refused),
        (RefusedMessage(1, "WrongPrivateId", "why"), WrongPrivateId),
        (RefusedMessage(1, "QelSyntaxError", "why"), QelSyntaxError),
        (RefusedMessage(1, "SystemExit", "of a newer version"), errors.Refused),
        (RefusedMessage(1, "__class__", "of a newer version"), errors.Refused),
    ],
)
def test_refusals(message: RefusedMessage, kind: type[Exception]) -> None:
    error = refusal_of(message)
    assert type(error) is kind
    if kind is errors.Nonconforming:
        assert isinstance(error, errors.Nonconforming)
        assert error.missing == ("a",)
    elif kind is errors.LimitReached:
        assert isinstance(error, errors.LimitReached)
        assert (error.what, error.limit) == ("files", 1000)
    else:
        assert str(error) == message.text
