"""Retention: how long logs, queues and subscriptions are kept, and what happens when they have become too many.

The oldest go first. What the network has not acknowledged stays in the log. What is taken out of a queue is counted,
and the peer is told when it comes.
"""

from __future__ import annotations

from math import inf

from superpeer.node.broker import Broker
from superpeer.node.records import LogTrimmed, QueueTrimmed
from superpeer.node.requests import SubscriptionExpired
from superpeer.node.state import Log, Queue
from superpeer.node.workspace import Workspace

INTERVAL_S = 60.0


class Retention:
    """Looks after what has grown old, from time to time, and after what has grown too large, at once."""

    def __init__(self, workspace: Workspace, broker: Broker) -> None:
        self._workspace = workspace
        self._broker = broker
        self._next = workspace.now

    @property
    def next_wakeup(self) -> float:
        return min(self._next, self._workspace.next_expiry)

    @property
    def is_due(self) -> bool:
        return self._workspace.now >= self.next_wakeup

    def tick(self) -> None:
        now, state = self._workspace.now, self._workspace.state
        self._next, self._workspace.next_expiry = now + INTERVAL_S, inf
        self.trim_log()
        for name, kept in list(state.peers.items()):
            self.trim_queue(name)
            for one in list(kept.subscriptions.values()):
                if one.expires_at is not None and kept.handing_over is None:
                    if one.expires_at <= now:
                        self._broker.unsubscribe(name, one.name)
                        self._workspace.tell(name, SubscriptionExpired(one.name))
                    else:
                        self._workspace.wake_at(one.expires_at)

    def trim_log(self) -> None:
        through = self._log_goes_through(self._workspace.state.log)
        if through is not None:
            self._workspace.keep(LogTrimmed(through))

    def trim_queue(self, peer: str) -> None:
        through = self._queue_goes_through(self._workspace.state.peers[peer].queue)
        if through is not None:
            self._workspace.keep(QueueTrimmed(peer, through))

    def _log_goes_through(self, log: Log) -> int | None:
        """The number of the last publication that has to go."""
        limits, oldest = self._workspace.limits, self._workspace.now - self._workspace.limits.log_s
        count, size, through = len(log), log.size_bytes, None
        first_unacknowledged = next(iter(log.unacknowledged), None)
        for publication in log:
            number = publication.place[1]
            is_too_much = count > limits.log_entries or size > limits.log_bytes
            if not (is_too_much or publication.published_at < oldest) or number == first_unacknowledged:
                break
            through, count, size = number, count - 1, size - publication.size_bytes
        return through

    def _queue_goes_through(self, queue: Queue) -> int | None:
        limits, oldest = self._workspace.limits, self._workspace.now - self._workspace.limits.queue_s
        count, size, through = len(queue.entries), queue.size_bytes, None
        for entry in queue.entries:
            is_too_much = count > limits.queue_entries or size > limits.queue_bytes
            if not is_too_much and entry.at >= oldest:
                break
            through, count, size = entry.position, count - 1, size - entry.publication.size_bytes
        return through
