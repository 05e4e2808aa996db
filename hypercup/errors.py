"""What can go wrong in `hypercup`, each kind with its own class and a sentence that says what to do.

HypercupError
├── InvalidLabel          a label is not a string of 0 and 1
├── IncompleteCube        a set of labels is not a complete prefix code
├── UnknownLabel          a label that the cube does not have
├── NoSuchDimension       a label has no link of that dimension
├── NoMembers             nobody is alive, so there is nothing to place
├── UnknownMember         a key that the view does not have
├── InvalidEntry          an entry breaks a stated limit
├── MalformedMessage      bytes that are not a message of this protocol
├── InvalidTiming         time parameters that contradict each other
├── InvalidScript         a replay script that cannot be read, with its line
└── DrawingError          a drawing that cannot be made
"""

from __future__ import annotations


class HypercupError(Exception):
    """The base of everything that `hypercup` raises."""


class InvalidLabel(HypercupError):
    pass


class IncompleteCube(HypercupError):
    pass


class UnknownLabel(HypercupError):
    pass


class NoSuchDimension(HypercupError):
    pass


class NoMembers(HypercupError):
    pass


class UnknownMember(HypercupError):
    pass


class InvalidEntry(HypercupError):
    pass


class MalformedMessage(HypercupError):
    pass


class InvalidTiming(HypercupError):
    pass


class InvalidScript(HypercupError):
    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line
        self.problem = problem


class DrawingError(HypercupError):
    pass
