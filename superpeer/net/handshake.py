"""The handshake: two ends inside TLS find out who the other is and on what they agree. No socket in here.

    whoever connects                     listener
      Hello                   ──────>                 versions, party, key, network, nonce, limits, certificate
                              <──────  Hello          the same
                              <──────  Challenge      'prove that you are the key in your hello'
      Answer                  ──────>                 signed
                              <──────  Welcome

The listener's key needs no proof of its own: TLS gave it, and whoever connects has checked it against the one it
expects before a byte of this leaves (see `certificates`). The other key is proved by the answer, a signature over the
role, both keys, the listener's fresh nonce and the *channel*:

    channel = BLAKE2b-256 of: "superpeer/channel/1", listener's certificate, client's hello, listener's hello

with each part preceded by its length. Python's ssl gives no name for a TLS 1.3 connection (the exporter of RFC 9266),
and this one is as good, for this reason. Suppose that listener S accepts an answer with nonce n as proof of C. C
signed it, and C signs only for the listener whose key its own connection is pinned to, so C has a TLS connection K
with S, and got n over K. TLS tells C that what comes over K was sent by S over K. An honest S sends a fresh nonce
once, over the connection on which it expects the answer. So that connection is K: whoever speaks to S there is C. A
dishonest listener M that C connects to can carry nothing over to S: what C signs for it names M's key. An answer that
was recorded serves nobody, as its nonce does not come back. The hellos in the channel add that both ends saw the same
versions, parties and limits.

The hello of every version starts with the fields of version 1, in this order, and ignores what follows them.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

import msgspec

from auth import (
    AdmissionError,
    Answer,
    AuthError,
    Certificate,
    Challenge,
    Challenger,
    InvalidValue,
    KeyRevoked,
    PublicKey,
    Role,
    check,
    read_value,
    respond,
    write_value,
)
from superpeer.net.certificates import same_key
from superpeer.net.endpoint import Endpoint, Other, Party
from superpeer.net.errors import Reason, Violation
from superpeer.net.limits import MAX_FRAME_BYTES, MAX_PATIENCE_MS, MIN_FRAME_BYTES, MIN_PATIENCE_MS

MIN_VERSION = 1
MAX_VERSION = 1
NONCE_BYTES = 32

Version = Annotated[int, msgspec.Meta(ge=1, le=65535)]
Nonce = Annotated[bytes, msgspec.Meta(min_length=NONCE_BYTES, max_length=NONCE_BYTES)]


class Hello(msgspec.Struct, frozen=True, array_like=True, tag="hello"):
    min_version: Version
    max_version: Version
    party: Party
    key: PublicKey
    root: PublicKey | None
    nonce: Nonce
    max_frame_bytes: Annotated[int, msgspec.Meta(ge=MIN_FRAME_BYTES, le=MAX_FRAME_BYTES)]
    patience_ms: Annotated[int, msgspec.Meta(ge=MIN_PATIENCE_MS, le=MAX_PATIENCE_MS)]
    certificate: Certificate | None


class Welcome(msgspec.Struct, frozen=True, array_like=True, tag="welcome"):
    """The handshake is complete."""


_decoder = msgspec.msgpack.Decoder(Hello | Challenge | Answer | Welcome, dec_hook=read_value)
_encoder = msgspec.msgpack.Encoder(enc_hook=write_value)


class ClientHandshake:
    """The side that connected. `certificate` is the listener's, which holds the `expected` key."""

    def __init__(self, endpoint: Endpoint, expected: PublicKey, certificate: bytes) -> None:
        self._endpoint = endpoint
        self._expected = expected
        self._certificate = certificate
        self._hello = write(hello_of(endpoint))
        self._answered = False
        self._candidate: Other | None = None
        self.other: Other | None = None
        """The other end, once the handshake is complete."""

    def begin(self) -> list[bytes]:
        return [self._hello]

    def receive(self, data: bytes) -> list[bytes]:
        """What to say to a message. Raises a `Violation`."""
        message = read(data)
        if isinstance(message, Hello) and self._candidate is None:
            self._candidate = self._meet(message, data)
            return []
        if isinstance(message, Challenge) and self._candidate is not None and not self._answered:
            self._answered = True
            return [write(self._answer(message, self._candidate.channel))]
        if isinstance(message, Welcome) and self._answered:
            self.other = self._candidate
            return []
        raise _out_of_order(message)

    def _meet(self, hello: Hello, data: bytes) -> Other:
        if not same_key(hello.key, self._expected):
            raise Violation(Reason.WRONG_KEY, "the hello gives another key than the certificate; do not trust it")
        if hello.party is not Party.SUPER_PEER:
            raise Violation(
                Reason.ROLE_REFUSED, f"a {hello.party.value} listens at the address; connect to a super-peer"
            )
        other = meet(self._endpoint, hello, channel(self._certificate, self._hello, data))
        if self._endpoint.admissions is not None:
            require_admitted(self._endpoint, hello)
        return other

    def _answer(self, challenge: Challenge, name: bytes) -> Answer:
        try:
            return respond(self._endpoint.identity, challenge, ROLES[self._endpoint.party], name, self._expected)
        except AuthError as error:
            raise Violation(Reason.NOT_PROVED, f"a challenge that is not for us ({error}); do not answer") from error


class ServerHandshake:
    """The side that listens, with the certificate that it shows in TLS."""

    def __init__(self, endpoint: Endpoint, certificate: bytes) -> None:
        self._endpoint = endpoint
        self._certificate = certificate
        revocations = None if endpoint.admissions is None else endpoint.admissions.revocations
        self._challenger = Challenger(
            endpoint.identity.public,
            endpoint.random,
            time_limit_s=endpoint.limits.handshake_s,
            max_open=1,
            revocations=revocations,
        )
        self._candidate: Other | None = None
        self.other: Other | None = None
        """The other end, once the handshake is complete."""

    def begin(self) -> list[bytes]:
        return []

    def receive(self, data: bytes) -> list[bytes]:
        """What to say to a message. Raises a `Violation`."""
        message = read(data)
        if isinstance(message, Hello) and self._candidate is None:
            return self._meet(message, data)
        if isinstance(message, Answer) and self._candidate is not None and self.other is None:
            self._check(message, self._candidate.channel)
            self.other = self._candidate
            return [write(Welcome())]
        raise _out_of_order(message)

    def _meet(self, hello: Hello, data: bytes) -> list[bytes]:
        endpoint = self._endpoint
        if hello.party is Party.ADMIN and hello.key not in endpoint.admins:
            raise Violation(Reason.ROLE_REFUSED, f"{hello.key} is no admin here; add it to the admins if it should be")
        if same_key(hello.key, endpoint.identity.public):
            raise Violation(Reason.WRONG_KEY, "somebody connects with our own key; check for a second process with it")
        own_hello = write(hello_of(endpoint))
        self._candidate = meet(endpoint, hello, channel(self._certificate, data, own_hello))
        if hello.party is Party.SUPER_PEER:
            require_admitted(endpoint, hello)
        asked = self._challenger.challenge(ROLES[hello.party], hello.key, self._candidate.channel, endpoint.clock())
        return [own_hello, write(asked)]

    def _check(self, answer: Answer, name: bytes) -> None:
        try:
            self._challenger.check(answer, name, self._endpoint.clock())
        except AuthError as error:
            raise Violation(Reason.NOT_PROVED, f"the key was not proved ({error}); refuse it") from error


# An admin is identified as a peer is: neither is a member of the backbone. That it comes as an admin is said in its
# hello, which the channel, and so the signature, covers.
ROLES = {Party.SUPER_PEER: Role.MEMBER, Party.PEER: Role.PEER, Party.ADMIN: Role.PEER}


def hello_of(endpoint: Endpoint) -> Hello:
    nonce = endpoint.random(NONCE_BYTES)
    limits = endpoint.limits
    return Hello(
        MIN_VERSION,
        MAX_VERSION,
        endpoint.party,
        endpoint.identity.public,
        endpoint.root,
        nonce,
        limits.max_frame_bytes,
        int(limits.patience_s * 1000),
        endpoint.certificate,
    )


def meet(endpoint: Endpoint, hello: Hello, name: bytes) -> Other:
    """What two hellos agree on, whichever end we are."""
    version = min(MAX_VERSION, hello.max_version)
    if version < max(MIN_VERSION, hello.min_version):
        spoken = f"versions {hello.min_version} to {hello.max_version}, we {MIN_VERSION} to {MAX_VERSION}"
        raise Violation(Reason.VERSION, f"the other end speaks {spoken}; update the older one")
    # Who knows no root belongs to no network yet: a peer that only has a super-peer's key.
    if endpoint.root is not None and hello.root is not None and not same_key(hello.root, endpoint.root):
        raise Violation(Reason.WRONG_NETWORK, f"the other end belongs to the network {hello.root}; check the root key")
    return Other(hello.party, hello.key, hello.root, version, hello.max_frame_bytes, hello.patience_ms / 1000, name)


def require_admitted(endpoint: Endpoint, hello: Hello) -> None:
    """The other end is a super-peer of our network, by the certificate that it shows or one that we know."""
    admissions = endpoint.admissions
    if admissions is None:
        raise Violation(Reason.WRONG_NETWORK, "we belong to no network that could admit a super-peer; give a root key")
    now = endpoint.clock()
    try:
        if hello.certificate is not None:
            check(hello.certificate, admissions.root, hello.key, now, admissions.revocations)
            admissions.learn(hello.certificate, now)
        admissions.require(hello.key, now)
    except (AdmissionError, KeyRevoked, InvalidValue) as error:
        raise Violation(Reason.NOT_ADMITTED, f"{hello.key} is no super-peer of the network: {error}") from error


def channel(certificate: bytes, client_hello: bytes, server_hello: bytes) -> bytes:
    """A name of the connection that both ends compute from what they sent and received."""
    digest = hashlib.blake2b(digest_size=32)
    for part in (b"superpeer/channel/1", certificate, client_hello, server_hello):
        digest.update(len(part).to_bytes(4, "big") + part)
    return digest.digest()


def write(message: Hello | Challenge | Answer | Welcome) -> bytes:
    return _encoder.encode(message)


def read(data: bytes) -> Hello | Challenge | Answer | Welcome:
    try:
        message: Hello | Challenge | Answer | Welcome = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, InvalidValue, RecursionError) as error:
        raise Violation(
            Reason.MALFORMED_MESSAGE, f"this is no message of the handshake ({error}); refuse it"
        ) from error
    return message


def _out_of_order(message: Any) -> Violation:
    name = type(message).__name__
    return Violation(Reason.OUT_OF_ORDER, f"a {name} has no place at this point of the handshake; close the connection")
