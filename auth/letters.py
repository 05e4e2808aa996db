"""Letters: signed inside, sealed outside. For the messages that carry an address or a private id.

    letter = seal(recipient, sender's key ‖ signature ‖ body)
    signature over (sender's key, recipient's key, context..., body)

The seal is libsodium's sealed box: an X25519 key pair for this letter alone, and a box (XSalsa20-Poly1305) between it
and the recipient, with the hash of both keys as nonce. Nobody but the recipient reads it, and not even the sender can
open it again. The signature inside says who wrote it, *for whom* and in which context (the nonces of the exchange and
the channel). So a recipient cannot pass a letter on as if it had been written to somebody else, and a letter means
nothing in another exchange. The sender's key stays under the seal, as the chapter asks.

libsodium draws the letter's key pair itself; here its seed is passed in, so that a simulation can be repeated. The
format is the same: `crypto_box_seal_open` opens it.
"""

from __future__ import annotations

from hashlib import blake2b

import nacl.exceptions
from nacl.bindings import crypto_box, crypto_box_seal_open
from nacl.public import PrivateKey as SealingPrivateKey

from auth.errors import MalformedMessage, SealBroken, WrongKey
from auth.identity import SIGNATURE_BYTES, Identity, Random, draw, sealing_key_of, sign, verify
from auth.statements import Purpose
from auth.values import PublicKey

SEAL_BYTES = 48
LETTER_OVERHEAD_BYTES = SEAL_BYTES + PublicKey.SIZE + SIGNATURE_BYTES
MAX_LETTER_BYTES = 4096


def write_letter(
    sender: Identity, recipient: PublicKey, purpose: Purpose, context: tuple[bytes, ...], body: bytes, random: Random
) -> bytes:
    signature = sign(sender, purpose, sender.public.raw, recipient.raw, *context, body)
    letter = seal(recipient, sender.public.raw + signature + body, random)
    assert len(letter) == LETTER_OVERHEAD_BYTES + len(body) <= MAX_LETTER_BYTES
    return letter


def open_letter(
    recipient: Identity, sender: PublicKey, purpose: Purpose, context: tuple[bytes, ...], letter: bytes
) -> bytes:
    """The body of a letter that `sender` is to have written, for this purpose and in this context."""
    content = unseal(recipient, letter)
    if len(content) < PublicKey.SIZE + SIGNATURE_BYTES:
        raise MalformedMessage("a letter holds a key and a signature; check that both sides run the same version")
    named, content = PublicKey(content[: PublicKey.SIZE]), content[PublicKey.SIZE :]
    signature, body = content[:SIGNATURE_BYTES], content[SIGNATURE_BYTES:]
    if named != sender:
        raise WrongKey
    verify(sender, purpose, signature, sender.raw, recipient.public.raw, *context, body)
    return body


def seal(recipient: PublicKey, content: bytes, random: Random) -> bytes:
    """A sealed box for the owner of a key."""
    once = SealingPrivateKey(draw(random, SealingPrivateKey.SIZE))
    public, reader = bytes(once.public_key), bytes(sealing_key_of(recipient))
    nonce = blake2b(public + reader, digest_size=24).digest()
    return public + crypto_box(content, nonce, reader, bytes(once))


def unseal(recipient: Identity, sealed: bytes) -> bytes:
    """Open a sealed box. Whatever is wrong with it, the answer is the same."""
    if not SEAL_BYTES <= len(sealed) <= MAX_LETTER_BYTES:
        raise SealBroken
    secret = recipient.sealing_key()
    try:
        return crypto_box_seal_open(sealed, bytes(secret.public_key), bytes(secret))
    except nacl.exceptions.CryptoError as error:
        raise SealBroken from error
