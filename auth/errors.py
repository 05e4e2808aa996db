"""What can be refused in `auth`, each kind with its own class and a sentence that says what to do.

    AuthError
    ├── InvalidValue               bytes or text that are not a key, an identifier, an address or a name
    │   ├── InvalidKey
    │   ├── InvalidIdentifier
    │   ├── InvalidAddress
    │   └── InvalidName
    ├── LimitExceeded              more or larger than a stated limit; names the limit
    ├── SecretNotPicklable         a secret was about to leave through pickle
    ├── MalformedMessage           bytes that are not a message of this protocol
    │   └── TruncatedMessage       ... because their end is missing
    ├── BadSignature               altered, made by another key, or made for another purpose
    ├── SealBroken                 altered, or sealed for another recipient
    ├── KeyRevoked                 the key was revoked by its owner or by the network's root
    ├── ExchangeError              an answer or a message of an exchange that proves nothing here and now
    │   ├── UnknownChallenge       an answer to a challenge that was never made
    │   ├── Replayed               an answer, request or reply that served before
    │   ├── Expired                an answer or request that came too late
    │   ├── Reflected              our own challenge or answer, sent back to us
    │   ├── WrongRole              a statement about another relation of the two parties
    │   ├── WrongKey               a statement by another party than the expected one
    │   ├── WrongRecipient         a statement made for another party than us
    │   ├── WrongChannel           a statement made on another connection
    │   └── OutOfOrder             a message that has no place in this state of the exchange
    ├── RegistryError
    │   ├── UnknownPeer            nobody of that key or identifier is registered here
    │   ├── WrongPrivateId         the private id is not that of the peer
    │   ├── WrongPublicId          the public id does not belong to the key
    │   └── Banned                 the operator shut the peer out
    ├── MigrationError
    │   ├── OrderExpired           a migration order outside its time
    │   ├── OrderReplayed          a migration order that has been used
    │   ├── WrongPresenter         a migration order presented by a third super-peer
    │   ├── SameAccessPoint        a migration to where the peer is
    │   └── SerialStale            a statement older than what is known of the peer's attachment
    ├── ProofInvalid               a notification that is not part of the signed batch
    ├── AdmissionError
    │   ├── NotAdmitted            no certificate is known for a super-peer's key
    │   ├── WrongRoot              a certificate of another network
    │   ├── CertificateTampered    the root's signature does not fit the certificate
    │   ├── CertificateForAnother  a certificate for another key
    │   ├── CertificateNotYetValid
    │   ├── CertificateExpired
    │   └── CertificateRevoked
    └── KeyFileError               names the path
        ├── KeyFileMissing
        ├── KeyFileExists
        ├── KeyFileUnusable        the operating system refused; gives its reason
        ├── KeyFileNotRegular      a directory, a pipe, a device
        ├── KeyFileForeign         owned by another user
        ├── KeyFileExposed         others may read or write it
        ├── KeyFileMalformed       wrong size or content
        ├── KeyFileVersion         written by a later version
        ├── KeyFileCostly          asks for more memory or time than is ever honest
        ├── PassphraseNeeded
        ├── PassphraseWrong
        └── PassphraseUnexpected   a passphrase for a file that has none

No sentence contains a secret. What an error says may be shown to an operator; a remote party should be told the
class at most, because the sentence helps whoever tries things out.
"""

from __future__ import annotations

from typing import ClassVar


class AuthError(Exception):
    """The base of everything that `auth` raises. `sentence` is what it says when there is no more to say."""

    sentence: ClassVar[str] = "this was refused"

    def __init__(self, sentence: str | None = None) -> None:
        super().__init__(self.sentence if sentence is None else sentence)


class InvalidValue(AuthError):
    sentence = "this is not a value of the expected kind; copy it again, whole"


class InvalidKey(InvalidValue):
    sentence = "these bytes are not a usable Ed25519 public key; ask its owner for the right one"


class InvalidIdentifier(InvalidValue):
    sentence = "this is not an identifier; copy it again, whole"


class InvalidAddress(InvalidValue):
    sentence = "an address is printable text without spaces, such as host:port; correct it"


class InvalidName(InvalidValue):
    sentence = "a name is printable text; choose another one"


class LimitExceeded(AuthError):
    """`what` is limited to `limit`."""

    def __init__(self, what: str, limit: int, advice: str) -> None:
        super().__init__(f"there can be at most {limit} {what}; {advice}")
        self.what = what
        self.limit = limit


class SecretNotPicklable(AuthError, TypeError):
    sentence = "secrets are not pickled; write an identity to a key file, and send a private id in a sealed letter only"


class MalformedMessage(AuthError):
    sentence = "these bytes are not a message of this protocol; check that both sides run the same version"


class TruncatedMessage(MalformedMessage):
    sentence = "the end of this message is missing; send it again, whole"


class BadSignature(AuthError):
    sentence = "the signature does not fit: the statement was altered, or another key or purpose signed it; discard it"


class SealBroken(AuthError):
    sentence = "the letter cannot be opened: it was altered, or sealed for another recipient; ask for a new one"


class KeyRevoked(AuthError):
    sentence = "this key was revoked, so nothing that it signs counts; its owner has to register with a new key"


class ExchangeError(AuthError):
    sentence = "this message proves nothing here and now; start the exchange again"


class UnknownChallenge(ExchangeError):
    sentence = "no such challenge was made here; start the exchange again"


class Replayed(ExchangeError):
    sentence = "this was used before, and serves only once; start the exchange again"


class Expired(ExchangeError):
    sentence = "this came after the time limit of its challenge; start the exchange again"


class Reflected(ExchangeError):
    sentence = "this is our own statement, sent back to us; close the connection"


class WrongRole(ExchangeError):
    sentence = "this statement is about another relation of the two parties; close the connection"


class WrongKey(ExchangeError):
    sentence = "this comes from another key than the expected one; check the key that you were given"


class WrongRecipient(ExchangeError):
    sentence = "this was made for another party; close the connection"


class WrongChannel(ExchangeError):
    sentence = "this was made on another connection, so somebody may stand in between; close the connection"


class OutOfOrder(ExchangeError):
    """`message` arrived in the state `state`, which has no use for it."""

    def __init__(self, state: str, message: str) -> None:
        super().__init__(f"{message} has no place in the state {state}; start the exchange again")
        self.state = state
        self.message = message


class RegistryError(AuthError):
    sentence = "the registry of peers refused this"


class UnknownPeer(RegistryError):
    sentence = "no such peer is registered here; register first, or migrate"


class WrongPrivateId(RegistryError):
    sentence = "this private id is not that of the peer; register again with the same key to get a new one"


class WrongPublicId(RegistryError):
    sentence = "this public id does not belong to the key; use the one that came with the registration"


class Banned(RegistryError):
    sentence = "the operator of this super-peer shut this peer out; ask the operator"


class MigrationError(AuthError):
    sentence = "this migration is refused"


class OrderExpired(MigrationError):
    sentence = "the migration order is not valid at this time; let the peer make a new one and check both clocks"


class OrderReplayed(MigrationError):
    sentence = "the migration order was used before; a new migration needs a new one"


class WrongPresenter(MigrationError):
    sentence = "the migration order names another new access point than the one that presents it; discard it"


class SameAccessPoint(MigrationError):
    sentence = "the peer is attached there already; name another access point"


class SerialStale(MigrationError):
    sentence = "a later attachment of this peer is known; discard what is older"


class ProofInvalid(AuthError):
    sentence = "the notification is not part of a batch that its publisher signed; discard it"


class AdmissionError(AuthError):
    sentence = "this super-peer is not admitted to the network"


class NotAdmitted(AdmissionError):
    sentence = "no certificate of this super-peer is known; let the holder of the root key admit it"


class WrongRoot(AdmissionError):
    sentence = "the certificate belongs to another network; get one signed with this network's root key"


class CertificateTampered(AdmissionError):
    sentence = "the root's signature does not fit the certificate; copy the certificate again, whole"


class CertificateForAnother(AdmissionError):
    sentence = "the certificate was made for another key; get one for the key of this super-peer"


class CertificateNotYetValid(AdmissionError):
    sentence = "the certificate is not valid yet; wait, or check the clock"


class CertificateExpired(AdmissionError):
    sentence = "the certificate has expired; let the holder of the root key admit the super-peer again"


class CertificateRevoked(AdmissionError):
    sentence = "the certificate was revoked; ask the holder of the root key"


class KeyFileError(AuthError):
    """`path` is the file; the sentence names it."""

    def __init__(self, path: str, sentence: str | None = None) -> None:
        super().__init__(f"{path}: {self.sentence if sentence is None else sentence}")
        self.path = path


class KeyFileMissing(KeyFileError):
    sentence = "there is no such file; make a key first, or name the right file"


class KeyFileExists(KeyFileError):
    sentence = "the file exists and is not overwritten; choose another name, or move it away"


class KeyFileUnusable(KeyFileError):
    """`reason` is the operating system's."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, f"cannot be used ({reason}); check the directory and its permissions")
        self.reason = reason


class KeyFileNotRegular(KeyFileError):
    sentence = "is not a regular file; name the key file itself"


class KeyFileForeign(KeyFileError):
    sentence = "belongs to another user; run as that user, or change its owner"


class KeyFileExposed(KeyFileError):
    sentence = "others may read or write it; run chmod 600 on it, and make a new key if somebody may have read it"


class KeyFileMalformed(KeyFileError):
    sentence = "is not a key file, or is damaged; restore it from a backup"


class KeyFileVersion(KeyFileError):
    sentence = "was written by a later version of this program; use that version"


class KeyFileCostly(KeyFileError):
    sentence = "asks for more memory or time than any honest key file; restore it from a backup"


class PassphraseNeeded(KeyFileError):
    sentence = "is protected; give its passphrase"


class PassphraseWrong(KeyFileError):
    sentence = "does not open with this passphrase, or is damaged; try again, or restore it from a backup"


class PassphraseUnexpected(KeyFileError):
    sentence = "is not protected by a passphrase; load it without one, then save it with one if you want one"
