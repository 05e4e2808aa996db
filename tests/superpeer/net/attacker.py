"""A hostile client: speaks TCP, TLS and frames as well or as badly as it likes."""

from __future__ import annotations

import asyncio
from random import Random

from auth import Challenge, Identity, respond
from superpeer.net import Endpoint, Reason
from superpeer.net.certificates import client_context
from superpeer.net.errors import Violation
from superpeer.net.frames import FrameReader, Kind, read_closing, write_frame
from superpeer.net.handshake import ClientHandshake, read, write
from superpeer.net.limits import MEBIBYTE
from superpeer.net.tls import Tls
from tests.superpeer.net.helpers import HOST, PEER, SERVER, peer

CONTEXT = client_context()


class Attacker:
    """One hostile connection."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.tls = Tls(CONTEXT, server_side=False)
        self.frames = FrameReader()
        self.said: list[bytes] = []
        """The messages of the handshake that were sent."""

    async def connect(self, port: int) -> None:
        self.reader, self.writer = await asyncio.open_connection(HOST, port)

    def raw(self, data: bytes) -> None:
        """Bytes on TCP."""
        self.writer.write(data)

    def plain(self, data: bytes) -> None:
        """Bytes inside TLS."""
        self.tls.write(data)
        self.raw(self.tls.outgoing())

    async def encrypt(self, port: int) -> None:
        """Connect, and complete TLS."""
        await self.connect(port)
        while not self.tls.handshake():
            self.raw(self.tls.outgoing())
            self.tls.feed(await self.reader.read(65536))
        self.raw(self.tls.outgoing())

    async def next_message(self) -> bytes:
        """The next message of the handshake from the server."""
        while True:
            frame = self.frames.next()
            if frame is not None:
                assert frame.kind is Kind.HANDSHAKE
                return frame.body
            data = self.tls.read()
            if data:
                self.frames.feed(data)
                continue
            received = await self.reader.read(65536)
            assert received, "the server went on with the handshake"
            self.tls.feed(received)

    def say(self, message: bytes) -> None:
        self.said.append(message)
        self.plain(write_frame(Kind.HANDSHAKE, message))

    async def authenticate(self, port: int, endpoint: Endpoint | None = None) -> None:
        """Go through the whole handshake, honestly."""
        await self.encrypt(port)
        handshake = self.handshake(endpoint or peer())
        self.say(handshake.begin()[0])
        while handshake.other is None:
            for answer in handshake.receive(await self.next_message()):
                self.say(answer)
        self.frames.open(MEBIBYTE)

    async def answer_falsely(self, port: int, claimed: Identity, signer: Identity) -> None:
        """Claim one key and sign with another."""
        await self.encrypt(port)
        handshake = self.handshake(peer(claimed))
        self.say(handshake.begin()[0])
        handshake.receive(await self.next_message())
        challenge = read(await self.next_message())
        assert isinstance(challenge, Challenge)
        assert handshake._candidate is not None
        asked = Challenge(challenge.role, challenge.challenger, signer.public, challenge.nonce)
        answer = respond(signer, asked, challenge.role, handshake._candidate.channel)
        fields = {name: getattr(answer, name) for name in answer.__struct_fields__}
        self.say(write(type(answer)(**{**fields, "responder": claimed.public})))

    def handshake(self, endpoint: Endpoint) -> ClientHandshake:
        certificate = self.tls.certificate()
        assert certificate is not None
        return ClientHandshake(endpoint, SERVER.public, certificate)

    async def finish(self) -> Reason | None:
        """Say no more, and read to the end what the server gives as its reason, if it gives one."""
        reason = None
        try:
            self.writer.write_eof()
            while data := await self.reader.read(65536):
                self.tls.feed(data)
                reason = reason or self._look_for_reason()
        except OSError:
            pass
        self.writer.close()
        return reason

    def vanish(self) -> None:
        """Break the connection off."""
        self.writer.transport.abort()

    def _look_for_reason(self) -> Reason | None:
        try:
            while data := self.tls.read():
                self.frames.feed(data)
                while (frame := self.frames.next()) is not None:
                    if frame.kind is Kind.CLOSE:
                        return Reason(read_closing(frame.body).reason)
        except Violation:
            return None
        return None

    def mutated(self, data: bytes) -> bytes:
        """The same with a few bytes changed, dropped or doubled."""
        changed = bytearray(data)
        for _ in range(self.random.randint(1, 4)):
            place = self.random.randrange(len(changed))
            match self.random.randrange(3):
                case 0:
                    changed[place] ^= self.random.randint(1, 255)
                case 1 if len(changed) > 1:
                    del changed[place]
                case _:
                    changed.insert(place, changed[place])
        return bytes(changed)


async def recorded_handshake(port: int) -> list[bytes]:
    """What an honest peer says, for replaying."""
    attacker = Attacker(Random(0))
    await attacker.authenticate(port, peer(PEER))
    await attacker.finish()
    return attacker.said
