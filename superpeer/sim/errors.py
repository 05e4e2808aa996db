"""What a simulation can be asked wrongly."""

from superpeer.errors import SuperpeerError


class SimulationError(SuperpeerError):
    """Something was asked of a super-peer or peer that it cannot do as things are."""
