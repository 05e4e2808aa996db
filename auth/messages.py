"""What a peer and a super-peer say to each other when the peer attaches: to register, or to arrive from elsewhere.

    peer                                super-peer
      Challenge               ──────>                     'prove that you are s'
                              <──────  Greeting           the proof, and a nonce of the super-peer's own
      RegistrationRequest     ──────>                     sealed: Registering    (or ArrivalRequest: Arriving)
                              <──────  RegistrationReply  sealed: Granting       (or ArrivalReply)

Requests and replies name the other side's nonce in the clear and carry a letter that is signed over both nonces, the
channel and both keys.
"""

from __future__ import annotations

from auth.challenge import Answer, Challenge
from auth.identifiers import PrivateId
from auth.migration import Attachment, MigrationOrder
from auth.wire import Address, Hash, Letter, Message, Nonce, decode_with, decoder_of


class Greeting(Message, frozen=True, tag="greeting"):
    """The super-peer's answer to the challenge, with the nonce that makes the request a proof in turn."""

    answer: Answer
    nonce: Nonce


class RegistrationRequest(Message, frozen=True, tag="registration request"):
    nonce: Nonce
    letter: Letter


class RegistrationReply(Message, frozen=True, tag="registration reply"):
    nonce: Nonce
    letter: Letter


class ArrivalRequest(Message, frozen=True, tag="arrival request"):
    nonce: Nonce
    letter: Letter


class ArrivalReply(Message, frozen=True, tag="arrival reply"):
    nonce: Nonce
    letter: Letter


class Registering(Message, frozen=True, tag="registering"):
    """Under seal: where the peer can be reached, and its signed word that this is its access point now."""

    address: Address
    attachment: Attachment


class Arriving(Message, frozen=True, tag="arriving"):
    """Under seal: the same from a peer with a past, which brings its identifiers and lets itself be handed over."""

    address: Address
    attachment: Attachment
    order: MigrationOrder
    salt: Hash
    private_id: PrivateId


class Granting(Message, frozen=True, tag="granting"):
    """Under seal: the private id, and the salt from which, with its key, the peer derives its public id."""

    salt: Hash
    private_id: PrivateId


ExchangeMessage = Challenge | Greeting | RegistrationRequest | RegistrationReply | ArrivalRequest | ArrivalReply
_decoder = decoder_of(ExchangeMessage)


def decode_message(data: bytes) -> ExchangeMessage:
    """Read any message of the exchange. Whatever is wrong with the bytes, the error is a `MalformedMessage`."""
    message: ExchangeMessage = decode_with(_decoder, data)
    return message
