"""The super-peer as a state machine: what it knows, what it tells whom, and what it promises. No I/O in here."""
