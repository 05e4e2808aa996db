"""DHTrie as a routing strategy: texts under equality, word patterns with proximity, and similarity.

A query is stored at the owner of one of its words, chosen at random; a publication goes to the owners of all words that
it has, by the recursive multi-send: sorted identifiers, one message that drops those it has reached (on the cube, one
that parts where their first bits differ). With a frequency cache, words whose owners the publisher knows cost
one message each.

A publication that is similar to a text need not have the word that was chosen from it. So a query is placed by a word
of an equality or a pattern where it has one, which every matching publication has; otherwise under the significant
words of a similarity, one of which every matching publication has.

Of QEL this supports all queries whose alternatives each have a word in `=`, `words` or `similar`; the rest of an
alternative is verified where the word is.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from qel.normal import Disjunct
from qel.text import Likeness, words_of
from qel.topics import NO_TOPICS, Topics
from qel.values import Kind
from superpeer.dht.errors import DhtError
from superpeer.dht.frequency_cache import FREQUENT_WORDS, FrequencyCache
from superpeer.dht.publication import Publication
from superpeer.dht.regions import each_slot, refuse
from superpeer.dht.simulation import KEY_BYTES, Fabric, Share
from superpeer.dht.strategy import Strategy, Subscription
from superpeer.dht.word_index import WordIndex, significant_words


class Sending(Enum):
    """How a publication gets to the owners of its words."""

    LOOKUPS = "lookups"
    """One message for each owner, each looked up by itself."""
    MULTISEND = "multi-send"


class Words(Strategy[tuple[str, ...]]):
    """DHTrie."""

    routing = "words"
    system = "DHTrie"

    def __init__(
        self,
        fabric: Fabric,
        topics: Topics = NO_TOPICS,
        sending: Sending = Sending.MULTISEND,
        cached_words: int = FREQUENT_WORDS,
    ) -> None:
        """Without room for cached words there is no cache."""
        super().__init__(fabric, topics)
        if cached_words < 0:
            raise DhtError(f"a cache has room for at least 0 words, not {cached_words}")
        self.sending = sending
        self._cached_words = cached_words
        self._caches: dict[int, FrequencyCache] = {}

    def _new_store(self) -> WordIndex:
        return WordIndex()

    def _place(
        self, _subscription: Subscription[tuple[str, ...]], disjunct: Disjunct
    ) -> Iterable[tuple[int, int, tuple[str, ...]]]:
        necessary: set[str] = set()
        likenesses: list[Likeness] = []
        for _, _, region in each_slot(disjunct):
            if region.exact is not None:
                necessary.update(words_of(region.exact))
            for chain in region.chains:
                necessary.update(chain.words)
            likenesses += region.likenesses
        if necessary:
            chosen: tuple[str, ...] = (self.fabric.random.choice(sorted(necessary)),)
        elif likenesses:
            chosen = min(map(significant_words, likenesses), key=len)
        else:
            able = 'each alternative needs a word in =, words or similar, as in words ("information")'
            raise refuse(self.system, next(iter(disjunct.slots)), "an alternative without a word", able)
        keys = {self.table.key(word): word for word in chosen}
        return [(key, key, (word,)) for key, word in keys.items()]

    def _publish(self, at: int, publication: Publication) -> None:
        keys = {
            self.table.key(word)
            for values in publication.description.values.values()
            for value in values
            if value.kind is Kind.LITERAL
            for word in value.words
        }
        for share in self._spread(at, sorted(keys), publication.size_bytes):
            store = self._store(share.node)
            assert isinstance(store, WordIndex)
            met = [item for item in store.candidates(publication.description) if self._is_met(item, publication)]
            self._notify(share.node, met, publication, share.hops)

    def _spread(self, at: int, keys: list[int], size: int) -> list[Share]:
        """Brings a publication to the owners of keys: first those whose addresses are known."""
        if not self._cached_words:
            return self._send_all(at, keys, size)
        cache = self._caches.setdefault(at, FrequencyCache(self._cached_words))
        known: dict[int, list[int]] = {}
        unknown = []
        for key in keys:
            address = cache.address(key)
            if address is None:
                unknown.append(key)
            else:
                known.setdefault(address, []).append(key)
        shares = []
        for address, expected in known.items():
            if address not in self.table.nodes:
                # Nobody answers, which is a message in vain.
                self.fabric.note("publish", 1)
                unknown += expected
                continue
            hops = self.fabric.direct(at, address, "publish", size + KEY_BYTES * len(expected))
            owned = tuple(key for key in expected if self.table.owner(key) == address)
            shares.append(Share(address, owned, hops))
            unknown += [key for key in expected if key not in owned]
        for share in self._send_all(at, unknown, size):
            shares.append(share)
            for key in share.keys:
                cache.learn(key, share.node)
        return [share for share in shares if share.keys]

    def _send_all(self, at: int, keys: list[int], size: int) -> list[Share]:
        if self.sending is Sending.MULTISEND:
            return self.fabric.multisend(at, keys, "publish", size)
        arrived: dict[int, tuple[list[int], int]] = {}
        for key in keys:
            arrival = self.fabric.route(at, key, "publish", size + KEY_BYTES)
            arrived.setdefault(arrival.node, ([], arrival.hops))[0].append(key)
        return [Share(node, tuple(found), hops) for node, (found, hops) in arrived.items()]

    def leave(self, node: int) -> None:
        super().leave(node)
        self._caches.pop(node, None)

    def _lose(self, node: int) -> None:
        super()._lose(node)
        self._caches.pop(node, None)
