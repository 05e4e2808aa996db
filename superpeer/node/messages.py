"""All that super-peers say to each other, besides membership."""

from superpeer.node.broker import BrokerMessage
from superpeer.node.handover import HandoverMessage
from superpeer.node.rendezvous import RendezvousMessage

NodeMessage = BrokerMessage | HandoverMessage | RendezvousMessage
