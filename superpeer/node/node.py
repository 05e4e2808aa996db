"""The super-peer: a plain object that is told what happens and says what to do about it.

What happens: the backbone moves to another view, another super-peer says something, a peer registers, connects, asks
for something or goes away, time passes. Each is a method that returns `Effects`: records to make durable, and then
messages and events to send. Nothing here does I/O; time and randomness are passed in. The parts:

    broker       routing and delivery, from view to view
    handovers    peers that come from other access points, and go to others
    rendezvous   resources of peers that are offline
    peers        what a peer may ask for, and what it costs
"""

from __future__ import annotations

from auth import Identity, PrivateId, PublicId, Random, Registry, RegistryLimits, SuperPeerExchange
from auth.messages import ArrivalReply, ExchangeMessage, Greeting, RegistrationReply
from hypercup import View
from superpeer.node.broker import Broker
from superpeer.node.errors import NotHere
from superpeer.node.handover import HandOverAsked, HandOverGiven, HandOverRefused, Handovers, HandOverTaken
from superpeer.node.limits import Limits
from superpeer.node.messages import NodeMessage
from superpeer.node.peers import Peers
from superpeer.node.records import LogBegun, Registered
from superpeer.node.rendezvous import FileSent, FileStored, OwnerUnknown, RendezvousAsked, RendezvousDesk
from superpeer.node.requests import Reply, Request, Welcome
from superpeer.node.retention import Retention
from superpeer.node.state import State
from superpeer.node.workspace import Effects, Workspace


class Node:
    """One super-peer."""

    broker_class: type[Broker] = Broker

    def __init__(
        self,
        identity: Identity,
        address: str,
        state: State | None = None,
        *,
        now: float,
        random: Random,
        limits: Limits | None = None,
        accepts_nonconforming: bool = False,
    ) -> None:
        self.key = identity.public.raw
        self.state = State() if state is None else state
        self.limits = limits or Limits()
        self._identity = identity
        self._random = random
        self._workspace = Workspace(self.key, self.state, self.limits)
        self._workspace.now = now
        if not self.state.log.generation:
            self._workspace.keep(LogBegun(max(1, int(now * 1000))))
        registry_limits = RegistryLimits(self.limits.peers, self.limits.new_peers_per_minute)
        self.registry = Registry(identity.public, address, limits=registry_limits)
        self.registry.restore(self.state.registry.values())
        self.broker = self.broker_class(self._workspace)
        self.handovers = Handovers(self._workspace, self.registry, self.broker)
        self.rendezvous = RendezvousDesk(self._workspace, self._is_here)
        self.retention = Retention(self._workspace, self.broker)
        self.peers = Peers(
            self._workspace,
            self.registry,
            self.broker,
            self.handovers,
            self.rendezvous,
            self.retention,
            accepts_nonconforming,
        )
        self.broker.when_in_place = self.handovers.ask

    @property
    def view(self) -> View | None:
        return self.broker.view

    @property
    def connected(self) -> frozenset[str]:
        return frozenset(self._workspace.connected)

    @property
    def refusals(self) -> dict[str, int]:
        """What others should not have said, by the kind of error."""
        return dict(self._workspace.refusals)

    @property
    def next_wakeup(self) -> float | None:
        """When `tick` should be called, unless something else happens before."""
        if self.broker.catching_up.has_work:
            return self._workspace.now
        times = (self.broker.queries.next_wakeup, self.retention.next_wakeup)
        return min((time for time in times if time is not None), default=None)

    def enter_view(self, view: View, now: float) -> Effects:
        """The backbone is another one from now on."""
        self._workspace.now = now
        self.broker.enter_view(view)
        self.handovers.enter_view(view)
        self.rendezvous.enter_view(view)
        return self._finish()

    def receive(self, sender: bytes, message: NodeMessage, now: float) -> Effects:
        """Another super-peer says something."""
        self._workspace.now = now
        match message:
            case HandOverAsked() | HandOverGiven() | HandOverTaken() | HandOverRefused():
                self.handovers.receive(sender, message)
                for arrived in self.handovers.take_arrived():
                    self.rendezvous.take_over(arrived.peer, arrived.rendezvous, arrived.content)
            case RendezvousAsked() | OwnerUnknown() | FileSent() | FileStored():
                self.rendezvous.receive(sender, message)
            case _:
                self.broker.receive(sender, message)
        return self._finish()

    def tick(self, now: float) -> Effects:
        """Time has passed."""
        self._workspace.now = now
        self.broker.queries.tick()
        if self.retention.is_due:
            self.retention.tick()
            self.rendezvous.tick()
            self.peers.forget_absent()
        return self._finish()

    def welcome(self, channel: bytes) -> SuperPeerExchange:
        """The super-peer's side of the exchange in which a peer registers or arrives; `admit` ends it."""
        return SuperPeerExchange(self._identity, self.registry, channel, self._random)

    def exchange(
        self, exchange: SuperPeerExchange, message: ExchangeMessage, now: float
    ) -> tuple[Greeting | RegistrationReply | ArrivalReply, Effects]:
        """A message of that exchange; the reply leaves when the records are durable."""
        self._workspace.now = now
        reply = exchange.receive(message, now)
        if exchange.outcome is not None:
            self._workspace.keep(Registered(exchange.outcome.registration))
            self.peers.admit(exchange.outcome)
        return reply, self._finish()

    def connect(self, peer: PublicId, private_id: PrivateId, address: str, now: float) -> tuple[Welcome, Effects]:
        """A registered peer is there, and gets what waits for it."""
        self._workspace.now = now
        self.registry.authenticate(peer, private_id)
        if not self._is_here(str(peer)):
            raise NotHere("this peer is moving to another access point; connect there, or come back with a new order")
        self._workspace.keep(Registered(self.registry.connect(peer, private_id, address, now)))
        return self.peers.connect(str(peer)), self._finish()

    def disconnect(self, peer: PublicId, now: float) -> Effects:
        """A peer has gone offline."""
        self._workspace.now = now
        if str(peer) in self._workspace.connected:
            self._workspace.connected.discard(str(peer))
            if self._is_here(str(peer)):
                self._workspace.keep(Registered(self.registry.disconnect(peer, now)))
        return self._finish()

    def request(self, peer: PublicId, private_id: PrivateId, request: Request, now: float) -> tuple[Reply, Effects]:
        """A connected peer asks for something. What is refused raises, and changes nothing."""
        self._workspace.now = now
        self.registry.authenticate(peer, private_id)
        if str(peer) not in self._workspace.connected:
            raise NotHere("connect first: nothing can be asked for over a connection that has ended")
        reply = self.peers.handle(str(peer), request)
        return reply, self._finish()

    def _is_here(self, peer: str) -> bool:
        return self.peers.is_here(peer)

    def _finish(self) -> Effects:
        self.broker.proceed()
        self.peers.deliver()
        return self._workspace.take_effects()
