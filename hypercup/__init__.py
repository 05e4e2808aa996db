"""HyperCuP: a self-repairing backbone for any number of super-peers, as pure code.

Label, Cube        bit strings, and complete prefix codes of them: links, routes, broadcast trees
place, Placer      from the claims of the living to the cube, as a pure function
Backbone, View     what a node asks of a backbone, and who is in it: the cube or a spanning tree
Membership         who is there, as a state machine: join, leave, heartbeats, suspicion, healing
SimulatedNetwork   a whole backbone in one process, from one seed
"""

from hypercup.backbone import (
    Backbone,
    Choice,
    CubeBackbone,
    CubeKind,
    Kind,
    Link,
    Position,
    broadcast_tree,
)
from hypercup.cube import Cube, CubeLink
from hypercup.effects import Effect, Send, Stopped, ViewChanged
from hypercup.entry import ChosenLink, Entry, Identity, Status, Verdict, merge
from hypercup.errors import (
    DrawingError,
    HypercupError,
    IncompleteCube,
    InvalidEntry,
    InvalidLabel,
    InvalidScript,
    InvalidTiming,
    MalformedMessage,
    NoMembers,
    NoSuchDimension,
    UnknownLabel,
    UnknownMember,
)
from hypercup.hosts import Faults
from hypercup.label import Label, first_difference
from hypercup.membership import Membership
from hypercup.messages import (
    Announce,
    AnyMessage,
    Ask,
    Compare,
    Entries,
    Heartbeat,
    News,
    Received,
    Tone,
    Vouch,
    decode,
    encode,
)
from hypercup.placement import Placement, place
from hypercup.placer import Placer
from hypercup.simulation import SimulatedNetwork
from hypercup.table import Table
from hypercup.timing import Timing
from hypercup.unstructured import TreeBackbone, UnstructuredKind, spanning_tree
from hypercup.view import View, Views, make_view

__all__ = [
    "Announce",
    "AnyMessage",
    "Ask",
    "Backbone",
    "Choice",
    "ChosenLink",
    "Compare",
    "Cube",
    "CubeBackbone",
    "CubeKind",
    "CubeLink",
    "DrawingError",
    "Effect",
    "Entries",
    "Entry",
    "Faults",
    "Heartbeat",
    "HypercupError",
    "Identity",
    "IncompleteCube",
    "InvalidEntry",
    "InvalidLabel",
    "InvalidScript",
    "InvalidTiming",
    "Kind",
    "Label",
    "Link",
    "MalformedMessage",
    "Membership",
    "News",
    "NoMembers",
    "NoSuchDimension",
    "Placement",
    "Placer",
    "Position",
    "Received",
    "Send",
    "SimulatedNetwork",
    "Status",
    "Stopped",
    "Table",
    "Timing",
    "Tone",
    "TreeBackbone",
    "UnknownLabel",
    "UnknownMember",
    "UnstructuredKind",
    "Verdict",
    "View",
    "ViewChanged",
    "Views",
    "Vouch",
    "broadcast_tree",
    "decode",
    "encode",
    "first_difference",
    "make_view",
    "merge",
    "place",
    "spanning_tree",
]
