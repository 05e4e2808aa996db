"""IIM in its multi-cluster form: the subscribers of a topic keep the topic's subscriptions among themselves (Lo).

Every topic has a group: the nodes with subscriptions of that topic. The group's tree (`group_tree`) says who of its
members stores what. A node joins a group with its first subscription of the topic and leaves with the last: it
registers with the region servers of all levels, and what it is to store from then on moves to it. When it leaves the
network it leaves its groups, and joins them again when it is back.

Groups with much the same members can be merged into a *super topic*: their roots refer to its tree, to which
registrations, subscriptions and events are then redirected. When the members differ too much again, the references go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from superpeer.dht.group_tree import GroupTree, Shape, similar_groups
from superpeer.dht.intervals import Intervals, Placing
from superpeer.dht.simulation import Arrival, Fabric
from superpeer.dht.strategy import Item, Subscription
from superpeer.dht.table import Change

REGISTRATION_BYTES = 24


class Clusters(Intervals):
    """IIM with a group tree for each topic."""

    routing = "clusters"

    def __init__(
        self,
        fabric: Fabric,
        *arguments: Any,
        shape: Shape | None = None,
        topic_in_keys: bool = False,
        **options: Any,
    ) -> None:
        """With `topic_in_keys` each topic has keys of its own, as on the single ring. As Lo prints the procedure, all
        topics with an attribute have the same, so a node that is in several groups holds the same keys in all."""
        super().__init__(fabric, *arguments, **options)
        self.shape = shape or Shape()
        self.topic_in_keys = topic_in_keys
        self.super_topics: dict[str, str] = {}
        """The references that the roots of merged groups have."""
        self._members: dict[str, Counter[int]] = {}
        """By topic: how many subscriptions each node has."""
        self._shapes: dict[str, Shape] = {}
        """Of those groups that have another than the rest."""
        self._trees: dict[str, GroupTree] = {}
        self._items: dict[str, dict[tuple[str, int], Item[Placing]]] = {}
        """By group: all that its members store."""
        self._holders: dict[tuple[str, int], int] = {}

    def members(self, topic: str) -> set[int]:
        """The members of a topic's group that are there."""
        return {node for node in self._members.get(topic, ()) if node in self.table.nodes}

    def merge(self, at_least_equal: int, at_most_unequal: int) -> list[frozenset[str]]:
        """Roots compare their members with those of other roots and merge similar groups; references to groups that
        are no longer similar go. The topics that are merged now."""
        topics = {topic: self.members(topic) for topic in self._members}
        roots = [self._tree(topic).region_server(0, 0) for topic in topics]
        for one in roots:
            other = self.fabric.random.choice(roots)
            self.fabric.route(self.table.owner(one), other, "merge", REGISTRATION_BYTES * len(self.table.nodes))
        merged = similar_groups(topics, at_least_equal, at_most_unequal)
        wanted = {topic: "+".join(sorted(together)) for together in merged for topic in together}
        if wanted != self.super_topics:
            self.super_topics = wanted
            self._sort_into_groups()
        return merged

    def reshape(self, topic: str, shape: Shape) -> None:
        """Another rotation or depth for the tree of a topic's group, which its root may try from time to time to spread
        members more evenly. They register anew, and what they store moves."""
        group = self._group(topic)
        self._shapes[group] = shape
        self._trees.pop(group, None)
        self._tree(topic)
        for node in sorted(self._group_members(group)):
            self._register(node, topic)
        self._move(group)

    def _group(self, topic: str) -> str:
        return self.super_topics.get(topic, topic)

    def _group_members(self, group: str) -> set[int]:
        return {node for topic in self._members if self._group(topic) == group for node in self.members(topic)}

    def _tree(self, topic: str) -> GroupTree:
        group = self._group(topic)
        tree = self._trees.get(group)
        if tree is None:
            tree = self._trees[group] = GroupTree(self.table, group, self._shapes.get(group, self.shape))
            tree.register(self._group_members(group))
        return tree

    def _key(self, topic: str, attribute: str, index: int) -> int:
        """Within a group the topic need not tell keys apart."""
        return self.keys.key(attribute, topic if self.topic_in_keys else "", index)

    def _begin(self, subscription: Subscription[Placing]) -> None:
        for topic in sorted({item.content.topic for item in subscription.items}):
            members = self._members.setdefault(topic, Counter())
            members[subscription.home] += 1
            if members[subscription.home] == 1:
                self._register(subscription.home, topic)
                self._tree(topic).add(subscription.home)
                self._move(self._group(topic))

    def _end(self, subscription: Subscription[Placing]) -> None:
        for topic in sorted({item.content.topic for item in subscription.items}):
            members = self._members[topic]
            members[subscription.home] -= 1
            if not members[subscription.home]:
                del members[subscription.home]
                self._register(subscription.home, topic)
                self._regroup(self._group(topic))

    def _register(self, node: int, topic: str) -> None:
        """Lo's Join and Leave: the root is asked for the shape of the tree, then each level's server is told."""
        tree = self._tree(topic)
        identifier = self.table.identifier(node)
        self.fabric.route(node, tree.region_server(0, identifier), "register", REGISTRATION_BYTES)
        for level in tree.levels:
            self.fabric.route(node, tree.region_server(level, identifier), "register", REGISTRATION_BYTES)

    def _regroup(self, group: str) -> None:
        """The members of a group have changed."""
        tree = self._trees.get(group)
        if tree is not None:
            tree.register(self._group_members(group))
            self._move(group)

    def _move(self, group: str) -> None:
        """What a group stores goes to where its tree has it now."""
        tree = self._trees[group]
        moved: Counter[tuple[int, int]] = Counter()
        for item in list(self._items.get(group, {}).values()):
            holder, place = self._holders[item.id], tree.locate(item.low)[0]
            if holder != place:
                self._recall(holder)
                if not self._holds(holder, item):
                    # A crash destroyed it. Its subscriber will place it again.
                    continue
                self._store(holder).remove(item)
                self._keep(place, item)
                moved[holder, place] += item.subscription.size_bytes
        for (holder, place), size in sorted(moved.items()):
            if holder in self.table.nodes:
                self.fabric.direct(holder, place, "transfer", size)

    def _sort_into_groups(self) -> None:
        """Topics have been merged or parted: everything goes to the trees that it belongs to now."""
        items = [item for found in self._items.values() for item in found.values()]
        self._trees.clear()
        self._items.clear()
        for topic in sorted(self._members):
            self._tree(topic)
            for node in sorted(self.members(topic)):
                self._register(node, topic)
        for item in items:
            self._items.setdefault(self._group(item.content.topic), {})[item.id] = item
        for group in sorted(self._items):
            self._regroup(group)

    def _locate(self, item: Item[Placing]) -> list[int]:
        return [self._tree(item.content.topic).locate(item.low)[0]]

    def _send(self, sender: int, item: Item[Placing], kind: str) -> list[int]:
        size = item.subscription.size_bytes
        return [self._climb(sender, item.content.topic, item.low, kind, size).node]

    def _climb(self, sender: int, topic: str, key: int, kind: str, size_bytes: int) -> Arrival:
        """From the leaf server upwards to one with members, and to the member that it names."""
        tree = self._tree(topic)
        place, passed, _ = tree.locate(key)
        hops = 0
        for server in tree.servers(key)[:passed]:
            arrival = self.fabric.route(sender, server, kind, size_bytes)
            sender, hops = arrival.node, hops + arrival.hops
        return Arrival(place, hops + self.fabric.direct(sender, place, kind, size_bytes))

    def _keep(self, node: int, item: Item[Placing]) -> None:
        self._items.setdefault(self._group(item.content.topic), {})[item.id] = item
        self._holders[item.id] = node
        super()._keep(node, item)

    def _drop(self, node: int, item: Item[Placing]) -> None:
        super()._drop(node, item)
        self._items[self._group(item.content.topic)].pop(item.id, None)
        self._holders.pop(item.id, None)

    def _reach(self, at: int, topic: str, key: int, size_bytes: int) -> Arrival:
        return self._climb(at, topic, key, "publish", size_bytes)

    def _candidates(self, node: int, item: Item[Placing]) -> list[int]:
        """Those of the same group: first who is registered with the same region server."""
        members = self._tree(item.content.topic).members_near(item.low)
        return [member for member in members if member != node]

    def _changed(self, change: Change) -> None:
        """Members may have gone, come back or moved, so every group is looked at again."""
        for broker in list(self._brokers_without_helpers()):
            self._recall(broker)
        for group in sorted(self._trees):
            self._regroup(group)
        super()._changed(change)

    def join(self, node: int) -> None:
        super().join(node)
        for topic in self._topics_at(node):
            self._register(node, topic)

    def leave(self, node: int) -> None:
        self.table.require(node)
        for topic in self._topics_at(node):
            self._register(node, topic)
        super().leave(node)

    def _topics_at(self, node: int) -> Iterable[str]:
        return sorted(topic for topic, members in self._members.items() if node in members)
