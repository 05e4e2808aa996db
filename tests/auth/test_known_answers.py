"""Every construction with fixed inputs and its bytes, so that the format cannot change unnoticed.

Where a value does not depend on this package's own hashing, another test derives it in a second way: the RFC's vectors,
libsodium's sealed box, a tree built after RFC 6962, and statements written out byte by byte.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from auth import (
    ArrivalRequest,
    Challenger,
    Identity,
    Item,
    Origin,
    PeerExchange,
    PublicId,
    Purpose,
    RegistrationReply,
    RegistrationRequest,
    Revocations,
    Role,
    SuperPeerExchange,
    admit,
    attach,
    encode,
    entry_signer,
    order_migration,
    respond,
    revoke_certificate,
    revoke_key,
    save_identity,
    sign,
    sign_batch,
    write_letter,
)
from auth.identifiers import make_private_id, make_salt
from auth.identity import sealing_key_of
from auth.keyfile import MINIMAL_COST
from auth.letters import unseal
from auth.merkle import leaf_hash, node_hash
from auth.statements import Domain, digest, number, statement
from tests.auth.helpers import (
    CHANNEL,
    NOW,
    PEER,
    ROOT,
    SECOND_SUPER_PEER,
    SUPER_PEER,
    Dice,
    contents,
    registered,
    registry_of,
)

FIXED = Identity(bytes(range(32)))
PUBLIC_ID = PublicId.derive(PEER.public, bytes(range(32)))
CERTIFICATE = admit(ROOT, SUPER_PEER.public, 1_100_000_000, 1_200_000_000, "Hannover")
ORIGIN = Origin(PEER.public, bytes(range(32)), SUPER_PEER.public)


def challenge() -> tuple[bytes, bytes]:
    made = Challenger(SUPER_PEER.public, Dice()).challenge(Role.PEER, PEER.public, CHANNEL, NOW)
    return encode(made), encode(respond(PEER, made, Role.PEER, CHANNEL))


def exchange(step: int, past: bool = False) -> bytes:
    """The messages of an exchange, and what is under the seals."""
    before = registered(PEER, SECOND_SUPER_PEER, registry_of(SECOND_SUPER_PEER), NOW - 60)[0] if past else None
    peer = PeerExchange(PEER, SUPER_PEER.public, "peer.example.org:5000", CHANNEL, Dice("peer"), past=before)
    super_peer = SuperPeerExchange(SUPER_PEER, registry_of(SUPER_PEER), CHANNEL, Dice("super-peer"))
    begun = peer.begin(NOW)
    greeting = super_peer.receive(begun, NOW)
    request = peer.receive(greeting, NOW)
    assert isinstance(request, ArrivalRequest if past else RegistrationRequest)
    reply = super_peer.receive(request, NOW)
    assert past or isinstance(reply, RegistrationReply)
    letters = [unseal(SUPER_PEER, request.letter), unseal(PEER, getattr(reply, "letter", b""))]
    return [encode(begun), encode(greeting), encode(request), encode(reply), *letters][step]


def record() -> bytes:
    registry = registry_of(SUPER_PEER)
    registered(PEER, SUPER_PEER, registry)
    (kept,) = registry.records()
    assert contents(registry) == [kept]
    return encode(kept)


def key_file(directory: Path, passphrase: str | None) -> bytes:
    path = directory / "key"
    save_identity(path, FIXED, passphrase, cost=MINIMAL_COST, random=Dice())
    return path.read_bytes()


def revocations() -> bytes:
    known = Revocations(ROOT.public)
    known.merge([revoke_key(PEER, PEER.public, NOW), revoke_certificate(ROOT, bytes(16), NOW)])
    return known.digest()


CONSTRUCTIONS: dict[str, Callable[[], bytes]] = {
    "public key": lambda: FIXED.public.raw,
    "text of a public key": FIXED.public.text.encode,
    "text of a key id": FIXED.id.text.encode,
    "sealing secret": lambda: bytes(FIXED.sealing_key()),
    "sealing public key": lambda: bytes(sealing_key_of(FIXED.public)),
    "statement": lambda: statement(Purpose.ATTACHMENT, b"part", number(7)),
    "signature": lambda: sign(FIXED, Purpose.ATTACHMENT, b"part", number(7)),
    "hash": lambda: digest(Domain.KEY_ID, b"part"),
    "private id": lambda: make_private_id(PEER.public, "s:1", "p:1", NOW + 0.25, Dice()).reveal(),
    "verifier": lambda: make_private_id(PEER.public, "s:1", "p:1", NOW + 0.25, Dice()).verifier(PEER.public),
    "salt": lambda: make_salt(PEER.public, "s:1", "p:1", NOW + 0.25, Dice()),
    "public id": lambda: PUBLIC_ID.raw,
    "text of a public id": PUBLIC_ID.text.encode,
    "letter": lambda: write_letter(PEER, SUPER_PEER.public, Purpose.ARRIVAL_REPLY, (b"context",), b"body", Dice()),
    "challenge": lambda: challenge()[0],
    "answer": lambda: challenge()[1],
    "exchange: challenge": lambda: exchange(0),
    "exchange: greeting": lambda: exchange(1),
    "exchange: registration request": lambda: exchange(2),
    "exchange: registration reply": lambda: exchange(3),
    "exchange: registering, opened": lambda: exchange(4),
    "exchange: granting, opened": lambda: exchange(5),
    "exchange: arrival request": lambda: exchange(2, past=True),
    "exchange: arrival reply": lambda: exchange(3, past=True),
    "exchange: arriving, opened": lambda: exchange(4, past=True),
    "attachment": lambda: encode(attach(PEER, SUPER_PEER.public, 7)),
    "migration order": lambda: encode(
        order_migration(PEER, PUBLIC_ID, SUPER_PEER.public, SECOND_SUPER_PEER.public, 7, NOW)
    ),
    "registration record": record,
    "key revocation": lambda: encode(revoke_key(PEER, PEER.public, NOW)),
    "key revocation by the root": lambda: encode(revoke_key(ROOT, PEER.public, NOW)),
    "certificate revocation": lambda: encode(revoke_certificate(ROOT, CERTIFICATE.serial, NOW)),
    "digest of revocations": revocations,
    "certificate": lambda: encode(CERTIFICATE),
    "serial of a certificate": lambda: CERTIFICATE.serial,
    "text of a certificate": CERTIFICATE.text.encode,
    "membership signature": lambda: entry_signer(SUPER_PEER)(b"statement"),
    "membership signature with certificate": lambda: entry_signer(SUPER_PEER, CERTIFICATE)(b"statement"),
    "leaf": lambda: leaf_hash(b"id", b"new", b"body"),
    "node": lambda: node_hash(bytes(32), bytes(range(32))),
    "origin": lambda: encode(ORIGIN),
    "proof": lambda: encode(sign_batch(PEER, ORIGIN, [Item(bytes([i]), "new", b"body") for i in range(3)])[1]),
}

KNOWN = {
    "public key": "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
    "text of a public key": (
        "73706b2d616f7171707037747a79696c34686c7133756d6f6f733661746674366a767271746f73713278793533736467696573766767"
        "346e6a6b6d63"
    ),
    "text of a key id": "6b69642d6e636b773668626363656475706c6378367a6a7136346963676c35756f626f67",
    "sealing secret": "3894eea49c580aef816935762be049559d6d1440dede12e6a125f1841fff8e6f",
    "sealing public key": "4701d08488451f545a409fb58ae3e58581ca40ac3f7f114698cd71deac73ca01",
    "statement": (
        "000000107375706572706565722f617574682f310000000a6174746163686d656e740000000470617274000000080000000000000007"
    ),
    "signature": (
        "5105953562e5a2d0a963ef9cd7c8494444fed2751d98d719e944e4cd55701e6b956a0e6877e0f11fbf19909dcfad67a5ebe31874404a"
        "6a1358b8bbb4a2b0ec0b"
    ),
    "hash": "9c3c8b26332e05f6864b37f1512d7dcb060fe70bec820e3a66f4caf6d0bc6607",
    "private id": "d5e99e8303ec6574d53992616eda34b066dcb0ec5387386d6df8573c12e3c5b7",
    "verifier": "2c70116f2aed3f3cc6af5b66b75276100cccd97ab7fa9ba9f27f4921ad23e9eb",
    "salt": "5dde331590695c441a64827edeb4c710253f31243781eaa17b1d6392a6c2ecbd",
    "public id": "47d505e604e9c13b6b4381b35a280622cf23a94c338588d1dd447fbd4c003e4a",
    "text of a public id": (
        "7370692d69376b716c7a7165356861747732326471677a76756b6167656c6873686b6b6d676f637972756f356972373332746161687a"
        "666b33776535"
    ),
    "letter": (
        "db4cbd3e7d54bd4ca63dfe9e7bfa5b9b7bc58445e30ed0a050110e9f9da09e2a068af48919a8234248007154036c1cc023c2c12e5467"
        "b06e172e504da6655170a48e081edb547aa5d950c8539326a74bcfd36091e11154cd22495b9d99995a1bf91760a8e06a67fa4981f07b"
        "8e2daea86dc582b71f1d6a0a2d377f489e17b0ca2eca811033515109554a74772e825fc359eda602"
    ),
    "challenge": (
        "95a96368616c6c656e6765a470656572c4202ef05353448d39b078684d60d3e9c649777fff6277c7fa336181aa6ffac3cf91c420778e"
        "0451c29470cd5288d770c2b25d6c4bb7ff39e58d5c772928a6b162cca044c42072bd9465283a366f69da71f38153c37d47fccff371df"
        "9942c64ad8f074904e62"
    ),
    "answer": (
        "97a6616e73776572a470656572c4202ef05353448d39b078684d60d3e9c649777fff6277c7fa336181aa6ffac3cf91c420778e0451c2"
        "9470cd5288d770c2b25d6c4bb7ff39e58d5c772928a6b162cca044c42072bd9465283a366f69da71f38153c37d47fccff371df9942c6"
        "4ad8f074904e62c41e746865206368616e6e656c206f66207468697320636f6e6e656374696f6ec4400671dda69cc9551c06c7bf179d"
        "9b7920be3d34397de60431bc3713476d2434c816b2b39e83af65eab1b4f92d6fd986b6a5298d268505f61cbf5bf414ac158903"
    ),
    "exchange: challenge": (
        "95a96368616c6c656e6765aa73757065722d70656572c420778e0451c29470cd5288d770c2b25d6c4bb7ff39e58d5c772928a6b162cc"
        "a044c4202ef05353448d39b078684d60d3e9c649777fff6277c7fa336181aa6ffac3cf91c420d21408decc015e468312a777b950edea"
        "12d6288d6c779bc7ff39352d9d1fda82"
    ),
    "exchange: greeting": (
        "93a86772656574696e6797a6616e73776572aa73757065722d70656572c420778e0451c29470cd5288d770c2b25d6c4bb7ff39e58d5c"
        "772928a6b162cca044c4202ef05353448d39b078684d60d3e9c649777fff6277c7fa336181aa6ffac3cf91c420d21408decc015e4683"
        "12a777b950edea12d6288d6c779bc7ff39352d9d1fda82c41e746865206368616e6e656c206f66207468697320636f6e6e656374696f"
        "6ec440f87fdc5f0ce1780def63a366af8c6a6157ce7567c449a2b875ca54eabb92bb5d68c1a31b0a053df44cb2895f0c3add024d4429"
        "89b79f77a0d89c028f254d850dc4207732096fcc2e2ac0d53df204c5763cfc329072f4c5efbd0cdac614c25c78dbad"
    ),
    "exchange: registration request": (
        "93b4726567697374726174696f6e2072657175657374c4207732096fcc2e2ac0d53df204c5763cfc329072f4c5efbd0cdac614c25c78"
        "dbadc5014ad197609ca5159827d6f0a3fd3b7a556a8c0748a91f5445087b442d937b5eb06856b6cab4f6a4e1cc10ba416414bdfc744c"
        "031e17085cddd5ad122104287a3a4fd211b8ee80f9e168252e179dfd5d3f6a7dd8d68f4d502dbd9e4e30357ed3d65addaf485dc21985"
        "7bc38b07c52799393f2efe125a1111c3f6dfadb1831fdb24a0fe7fc5bf42b5e0367713b502ddffb542bf1ee4f2fd0130ce66d3475734"
        "0e5ae47f319c0e09571da9667c896bb6e50bae177db26ad935b65ade52d62e69da7706e02380f118381aa810763cf3d9490151c29a0c"
        "7ee3bc4e29a6649813079f9331089058b6e751c85608d7b662e1a8686c163c603ffed3512543172155e4ba80bc3dceaadfdc0712de9a"
        "dad28eabcbb2b91ce2aab1fed8f64f4d2a0079ff9106c7d996ee4dfd7c9186ec85bb2ae5ae45054745c0db27caed7b49b42c0677252b"
        "81f444c0cda6765834153d"
    ),
    "exchange: registration reply": (
        "93b2726567697374726174696f6e207265706c79c420d21408decc015e468312a777b950edea12d6288d6c779bc7ff39352d9d1fda82"
        "c4de03cb6109b340a3060b418443f73104f6b1cbf68d50fb86535f3fff8aa5c6044be6485bda0127623f76e557a9e1dbe77993fd8d0f"
        "007a0385ee1d864a6d0fb2f0146de2315e52de1e23456f29e506636062791ea08f1af7c526cea36c43f05a037f06ab7f46f19a6fba53"
        "94ccf746b001748f9f1b152a6dc37ba8941228cd8eb2e8550e63ee5ca0d467d3df6fc13bb3a2fb8919841ae38d382a38c055e0c441f9"
        "6205391bf75a5d73169c1d596bedd78936f2e282d72822e5cf5b613f9bf7fe30ebb7f3d0ddfcd6b157ee67f99cf685ae50eb855b5c9c"
        "c861dada881cf4f9"
    ),
    "exchange: registering, opened": (
        "778e0451c29470cd5288d770c2b25d6c4bb7ff39e58d5c772928a6b162cca0442145e4d560ae081e9f94ccf95854fb4699861f407f52"
        "463504c0a5ae0b550f3b0fa9eb15eed485a0ab10a6f880008eebbdad2b7d699315b7b8aad5f2c308d20f93ab7265676973746572696e"
        "67b5706565722e6578616d706c652e6f72673a3530303095aa6174746163686d656e74c420778e0451c29470cd5288d770c2b25d6c4b"
        "b7ff39e58d5c772928a6b162cca044c4202ef05353448d39b078684d60d3e9c649777fff6277c7fa336181aa6ffac3cf91ce4190ab00"
        "c44050eae1eca819a22effcfb6d3fb357183dd797748bdb3174ca792519741bafdb231a840ab44b08c716cd1cc528dbd9e4468ea8f7a"
        "0823fa812f436f0a6feafb01"
    ),
    "exchange: granting, opened": (
        "2ef05353448d39b078684d60d3e9c649777fff6277c7fa336181aa6ffac3cf913ab2e10b2f626d03da606b924f753720be9eefeae2f5"
        "4cdfdade0711fac2f49c7d3b958fe001c658a8a69c96f2a5e133ee0e8651135eb1b7f44bfc2228134f0593a86772616e74696e67c420"
        "4acf9551f08f88e437dd0b74c2b0c4249aace76b21690717219404bc6f798edec420cb690cef64f9649b99bcf4d304c48c203bf37655"
        "6156210210b1ebc37cfbf85e"
    ),
    "exchange: arrival request": (
        "93af6172726976616c2072657175657374c4207732096fcc2e2ac0d53df204c5763cfc329072f4c5efbd0cdac614c25c78dbadc50275"
        "d197609ca5159827d6f0a3fd3b7a556a8c0748a91f5445087b442d937b5eb06863a84fa9d0d421dbe3abf010805668864c031e17085c"
        "ddd5ad122104287a3a4fd211b8ee80f9e168252e179dfd5d3f6a6a0bf73a5f15f49689eeb17ef6a50b4449572ba8392cb37c45fe2629"
        "4677884ebc14c5d36f54aa6b08a9073d3628f2d35add8303f271fa578049fb6969577045ba1df7e5e80135d36dc69b4936de58af7f3b"
        "d306015a15f7656bc03ef1b201abb2e7e38b0735a146d254d037c894744cc405cc613937dc500a547696f4e7f8bb51e85e0c862eea5d"
        "77fcd27916b99bb162a42bcb538fa2a2fd864b7a5a0ccef68885d62af6ebc961e56cb85b9fd320d73040abba9d53f98eb47b6ecc5385"
        "345f717a86857d7a8ea745de95bd3bcef7d35c8bde9e1616620db97721c6158970d91af8fe87560624ae3d7f3ee4dba5a28d4daae5e1"
        "2387364741517e6588e7254e36fedc5d53a564e54607bf611b37ef46208f7486907ef175216c4797481a3cb20845a8a306303fef59b8"
        "db3f09c33d75be6a38db1a9dc9139fd319250b2425dc4aa888fc9c06b3db21f587884843f98e5c29177e189eed3818e245efed314f60"
        "33addc9bbdd0ddd22021a7f544bf768cf3a75370b2a84ead7e7c292f372ecf1e519c10802589a3c720cc3331cb5e32b60ba481bf7d71"
        "d32591aa6ab298bb6f56b1532d786a1f7258bc4c9ce3254b160fa6f6a1601eb96020e3781fec1f7f8accd4dadc8b5515cc13434d4e61"
        "3eedc3615f85471328930bade6ca0a9beeb9638eb8a41cc6b526919a764892d87ea2e23ad23e3bfd427421df2cad387d7a3da900cfb1"
        "c7e88212699b6e19f16160057ebb5452af641c630b4ae6e1d842912963be84a42d74aa"
    ),
    "exchange: arrival reply": (
        "93ad6172726976616c207265706c79c420d21408decc015e468312a777b950edea12d6288d6c779bc7ff39352d9d1fda82c4de65c28a"
        "f2e0cc338b991fe2651d2a9c5eed0b68a877fb1cf1955b60b4ea4882758ae5634105e79b03ea0832115dab4dbfb6e3723be7cbb3a45d"
        "6a91eae30c3f5bf3845ee4ce172ce030cefa24941c3fa2d0f51bb5aec42f2811c7c3f6d27ac06e412703c00c45a74abcef16b03e18a5"
        "bc35f1d9eaa5f3ecefc5b94202459bc75b5fb362a3ab98f7082c49e6f7a53e6e098952f0fe6667c91e94ebae2007f47ddf3626b5144b"
        "3875a6fb7001761d16abee80355787c410c87d31c89ba503089e21a8f2ce7412643309b90f7fb2b4c0d7072b68476c7ddcc5c35a7c34"
        "cb8dde"
    ),
    "exchange: arriving, opened": (
        "778e0451c29470cd5288d770c2b25d6c4bb7ff39e58d5c772928a6b162cca0443696c56072ebd13588344db2d02226580d7e7cb58467"
        "703282b584426abbbe4a9d433c9c9091ec3d7c141046a9f35898190f6dc1d9570fd64ff09b9977a0170896a86172726976696e67b570"
        "6565722e6578616d706c652e6f72673a3530303095aa6174746163686d656e74c420778e0451c29470cd5288d770c2b25d6c4bb7ff39"
        "e58d5c772928a6b162cca044c4202ef05353448d39b078684d60d3e9c649777fff6277c7fa336181aa6ffac3cf91ce4190ab00c44050"
        "eae1eca819a22effcfb6d3fb357183dd797748bdb3174ca792519741bafdb231a840ab44b08c716cd1cc528dbd9e4468ea8f7a0823fa"
        "812f436f0a6feafb0199af6d6967726174696f6e206f72646572c420778e0451c29470cd5288d770c2b25d6c4bb7ff39e58d5c772928"
        "a6b162cca044c4207f3f65b9afea377d324e368ae130b7fab75ad0ddfc98232539a98762149a1292c4200de606ea140347b6aaeb0c9c"
        "766db25341be1e05bb1cd4771e46263e60b7da78c4202ef05353448d39b078684d60d3e9c649777fff6277c7fa336181aa6ffac3cf91"
        "ce4190ab00ce4190ab00ce4190b910c440aa4219874a037eb93238bbd85ea95efa26ed81392b7f3fac1804bed1f7b5e97301b3919f4e"
        "a4926b6f6d8f050974a052efd7a6ab200ef5aee7c3dee896030108c42062f1e6329277db67e690a3711a68b3e22978ca4deb829fdc58"
        "e4f77461705973c420f3bad6b8658fd9c4050516bce7695f0d148f80ca22a3b79af2fb26ae78d06473"
    ),
    "attachment": (
        "95aa6174746163686d656e74c420778e0451c29470cd5288d770c2b25d6c4bb7ff39e58d5c772928a6b162cca044c4202ef05353448d"
        "39b078684d60d3e9c649777fff6277c7fa336181aa6ffac3cf9107c440710777b27dab021fff39662342886d4335d96d25b45af710ae"
        "044e68cf91b40d8c4f96c8eb947e339220d5a90f1876048c2f55c1a5871e85d32830aeb6b84207"
    ),
    "migration order": (
        "99af6d6967726174696f6e206f72646572c420778e0451c29470cd5288d770c2b25d6c4bb7ff39e58d5c772928a6b162cca044c42047"
        "d505e604e9c13b6b4381b35a280622cf23a94c338588d1dd447fbd4c003e4ac4202ef05353448d39b078684d60d3e9c649777fff6277"
        "c7fa336181aa6ffac3cf91c4200de606ea140347b6aaeb0c9c766db25341be1e05bb1cd4771e46263e60b7da7807ce4190ab00ce4190"
        "b910c440f6a85e69a68aa282f09b946a2d3372cfdba2d47bb34e37cbcb4e6fb16c23733ddc60778cbbe1adbb32dc9b65fff941fa5488"
        "db83af21e3548bc0435b0729a50c"
    ),
    "registration record": (
        "9aac726567697374726174696f6ec420778e0451c29470cd5288d770c2b25d6c4bb7ff39e58d5c772928a6b162cca044c4203ce0871b"
        "700e097adb623791aa6b999e32ff9f2ac30518e4ad22de31b7bb192cc4209418a7b45874c9513fab33ce8a5d19ad5937cb36432e8632"
        "2655ca715d33f99eb5706565722e6578616d706c652e6f72673a3530303095aa6174746163686d656e74c420778e0451c29470cd5288"
        "d770c2b25d6c4bb7ff39e58d5c772928a6b162cca044c4202ef05353448d39b078684d60d3e9c649777fff6277c7fa336181aa6ffac3"
        "cf91ce4190ab00c44050eae1eca819a22effcfb6d3fb357183dd797748bdb3174ca792519741bafdb231a840ab44b08c716cd1cc528d"
        "bd9e4468ea8f7a0823fa812f436f0a6feafb01cb41d0642ac0000000cb41d0642ac0000000c3c0"
    ),
    "key revocation": (
        "95ae6b6579207265766f636174696f6ec420778e0451c29470cd5288d770c2b25d6c4bb7ff39e58d5c772928a6b162cca044c420778e"
        "0451c29470cd5288d770c2b25d6c4bb7ff39e58d5c772928a6b162cca044ce4190ab00c440d2e990460fbe461b7ecf8d2b093da61a9c"
        "19ca38e73c58639048fd52d79a5e709e18466ab7f8b8d40a5777b7c5cf175dd44f174a39be4488b858e0fd54dff105"
    ),
    "key revocation by the root": (
        "95ae6b6579207265766f636174696f6ec420778e0451c29470cd5288d770c2b25d6c4bb7ff39e58d5c772928a6b162cca044c420b9dc"
        "00ad5c6b33a1f1b2185d1f440fe992619264dd08438be4b0986b0da59550ce4190ab00c440e7ce05f8eeecb05900f82b63c278ce8874"
        "f051a58ac1ac9c1d069bdbffdebfedf9ab192a443f53fd08a204ef41dd1489d691bf436e6a23ddd1c32553c288a20d"
    ),
    "certificate revocation": (
        "95b66365727469666963617465207265766f636174696f6ec410cc228f8b096cadff0431c65a4d9f336cc420b9dc00ad5c6b33a1f1b2"
        "185d1f440fe992619264dd08438be4b0986b0da59550ce4190ab00c440b9d9953f3ad8e709dcf9e7cb2ec0a7776accf8c26dd6e609eb"
        "42e43a1bc07f91609e3d6ea0d88dcd81ca051a0f8369e8a77af1276367c8a6886035458e8aee0a"
    ),
    "digest of revocations": "c634df82e1d6782a8284bb3ab704f4f0e5a85ae9ed64446478a703434908acce",
    "certificate": (
        "97ab6365727469666963617465c420b9dc00ad5c6b33a1f1b2185d1f440fe992619264dd08438be4b0986b0da59550c4202ef0535344"
        "8d39b078684d60d3e9c649777fff6277c7fa336181aa6ffac3cf91a848616e6e6f766572ce4190ab00ce47868c00c440a7b35499909a"
        "3a9490683c72b7c5d6c6517db220e106b4a75f04090c2426a6b0b386c2ce250fa1ab4bfafa0970846e4e6bb462ff5328dd2bc16f13c7"
        "1da7c40d"
    ),
    "serial of a certificate": "cc228f8b096cadff0431c65a4d9f336c",
    "text of a certificate": (
        "7370632d6c36746a5a584a3061575a70593246305a63516775647741725678724d3648787368686448305150365a4a686b6d54644345"
        "4f4c354c43596177326c6c5644454943377755314e456a546d776547684e594e5070786b6c33665f3969643866364d324742716d5f36"
        "77382d5271456868626d3576646d56797a6b47517177444f5234614d414d524170374e556d5a43614f7053516144787974385857786c"
        "4639736944684272536e5877514a4443516d7072437a68734c4f4a512d68713076362d676c776847354f613752695f314d6f33537642"
        "62785048486166454451"
    ),
    "membership signature": (
        "caf5c3e91489f4f0b4f09a6e417446585178f9e678cc55ed3b4f627309bfc80af1a8b80eaf61690f067672dc0108397fbdf52b59d94a"
        "718bf59de07e6eb87508"
    ),
    "membership signature with certificate": (
        "caf5c3e91489f4f0b4f09a6e417446585178f9e678cc55ed3b4f627309bfc80af1a8b80eaf61690f067672dc0108397fbdf52b59d94a"
        "718bf59de07e6eb8750897ab6365727469666963617465c420b9dc00ad5c6b33a1f1b2185d1f440fe992619264dd08438be4b0986b0d"
        "a59550c4202ef05353448d39b078684d60d3e9c649777fff6277c7fa336181aa6ffac3cf91a848616e6e6f766572ce4190ab00ce4786"
        "8c00c440a7b35499909a3a9490683c72b7c5d6c6517db220e106b4a75f04090c2426a6b0b386c2ce250fa1ab4bfafa0970846e4e6bb4"
        "62ff5328dd2bc16f13c71da7c40d"
    ),
    "leaf": "a9926c25c86d6b39d880bea7c6e85ff520ba7df39251cab16e09e0457f4e6e2f",
    "node": "db93b72b7da8db986ec78db7101634f70339744a809d884ba8031ab6f9a9c0c3",
    "origin": (
        "94a66f726967696ec420778e0451c29470cd5288d770c2b25d6c4bb7ff39e58d5c772928a6b162cca044c42000010203040506070809"
        "0a0b0c0d0e0f101112131415161718191a1b1c1d1e1fc4202ef05353448d39b078684d60d3e9c649777fff6277c7fa336181aa6ffac3"
        "cf91"
    ),
    "proof": (
        "95a570726f6f660103c4408a4f41fd4c38f99254e5912a41f75cb94f9c5f9c663ab0f9c0daba2b059260d3777b0257939ec775a72e53"
        "9a8c8adfe681388056e0ec158aa5578caae229fb67c440453113066402595e1751abce967faa33ffcb06d9e379391f1b3023b4fd4cc0"
        "cca9dcfe878eaf76be6f6f4fe08e1177c242ca05bde4083906dead2b0d6ae0e602"
    ),
    "open key file": (
        "73706b657966696c010003a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8000102030405060708090a0b"
        "0c0d0e0f101112131415161718191a1b1c1d1e1f"
    ),
    "protected key file": (
        "73706b657966696c010103a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8000000010000000000002000"
        "f853c450feb1d59416fc9a7bf1036f940b5d58423b0a13ddd7f9c6709dc4b772f7e71be5346e39231efb919fddb5d305aa116fb1c5bd"
        "85e0561ee0197747442e6f3ada77e81bf84056cb7979e7e81b3227609106d51072e8"
    ),
}


@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_known_answer(name: str) -> None:
    assert CONSTRUCTIONS[name]().hex() == KNOWN[name]


def test_every_known_answer_is_asked_for() -> None:
    assert set(KNOWN) == {*CONSTRUCTIONS, "open key file", "protected key file"}


@pytest.mark.parametrize(("name", "passphrase"), [("open key file", None), ("protected key file", "correct horse")])
def test_known_key_file(name: str, passphrase: str | None, tmp_path: Path) -> None:
    assert key_file(tmp_path, passphrase).hex() == KNOWN[name]
