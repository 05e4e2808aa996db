"""What was acknowledged survives the end of the process at any moment, and a disk that takes no more."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from superpeer.node.records import Record
from superpeer.store.store import Store
from tests.superpeer.store.committing import groups_of
from tests.superpeer.store.histories import applied, normal

ROOT = Path(__file__).parents[3]
SEEDS = int(os.environ.get("SOAK_SEEDS", "60")) // 15


def begin(directory: Path, seed: int, most_bytes: int = 0) -> subprocess.Popen[bytes]:
    arguments = [str(directory), str(seed), str(most_bytes)]
    command = [sys.executable, "-m", "tests.superpeer.store.committing", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)


def has_a_prefix(directory: Path, groups: list[list[Record]], acknowledged: int) -> int:
    """How many groups a store has: all that were acknowledged, perhaps the one after, nothing else."""
    with Store(directory) as store:
        found = normal(store.load())
    for count in (acknowledged, acknowledged + 1):
        if found == normal(applied([record for group in groups[:count] for record in group])):
            return count
    raise AssertionError(f"after {acknowledged} acknowledged groups the store has another state")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_process_may_be_killed_at_any_moment(tmp_path: Path, seed: int) -> None:
    random, groups = Random(seed), groups_of(seed)
    with begin(tmp_path / "store", seed) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(random.randrange(1, len(groups) - 5))]
        time.sleep(random.random() * 0.003)
        process.kill()
        lines += process.stdout.readlines()
    assert set(lines) == {b"committed\n"}
    has_a_prefix(tmp_path / "store", groups, len(lines))


def test_a_disk_that_is_full_is_said_and_nothing_is_acknowledged_that_is_not_there(tmp_path: Path) -> None:
    groups = groups_of(1)
    for turn, most_bytes in enumerate((100_000, 200_000)):
        directory = tmp_path / f"store {turn}"
        with begin(directory, 1, most_bytes) as process:
            assert process.stdout is not None
            lines = process.stdout.readlines()
        committed = lines.count(b"committed\n")
        assert 0 < committed < len(groups)
        assert lines[:committed] == [b"committed\n"] * committed
        assert all(b"free the disk or repair it, and start again" in line for line in lines[committed:])
        count = has_a_prefix(directory, groups, committed)
        # With room again it goes on.
        with Store(directory) as store:
            for group in groups[count:]:
                store.commit(group)
        assert has_a_prefix(directory, groups, len(groups)) == len(groups)
