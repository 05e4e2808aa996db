"""A peer's memory on disk: what a method has done when it returns is there, whenever the process is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from auth import Identity
from superpeer.client.errors import DirectoryInUse, DirectoryUnusable
from superpeer.client.journal import FILE_NAME, Journal
from tests.superpeer.client.journal_worker import ANNA, Model, credentials, perform, picture, steps

KILLS = 3


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_killed_process_leaves_what_it_had_done(tmp_path: Path, seed: int) -> None:
    """The process does random things, one after the other, and says when each is done. After a kill the memory is that
    of what it said, or of one thing more; and the next process goes on from there."""
    chance = random.Random(seed)
    model = Model()
    for life in range(3):
        command = [sys.executable, "-m", "tests.superpeer.client.journal_worker", str(tmp_path), f"{seed}/{life}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            wanted, done = chance.randrange(1, 400), 0
            while done < wanted and process.stdout.readline():
                done += 1
            process.send_signal(signal.SIGKILL)
            done += len(process.stdout.read().splitlines())
        journal = Journal(tmp_path, ANNA)
        found = picture(journal)
        journal.close()
        course = steps(f"{seed}/{life}")
        for _ in range(done):
            perform(model, next(course))
        before = picture(model)
        if found != before:
            perform(model, next(course))
            assert found == picture(model)


def test_the_file_is_a_secret_and_one_process_has_it(tmp_path: Path) -> None:
    previous = os.umask(0)
    try:
        journal = Journal(tmp_path, ANNA)
    finally:
        os.umask(previous)
    journal.attach(credentials(1))
    for path in tmp_path.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path
    secret = credentials(1).private_id.reveal()
    assert repr(secret)[2:-1] not in repr(journal) + repr(journal.memory)
    assert "PrivateId>" in repr(journal.memory)
    with pytest.raises(DirectoryInUse):
        Journal(tmp_path, ANNA)
    journal.close()
    (tmp_path / FILE_NAME).chmod(0o644)
    with pytest.raises(DirectoryUnusable, match="chmod 600"):
        Journal(tmp_path, ANNA)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(b"no database" * 1000)
    path.chmod(0o600)
    with pytest.raises(DirectoryUnusable, match="damaged"):
        Journal(tmp_path, ANNA)
    path.unlink()
    journal = Journal(tmp_path, ANNA)
    journal.attach(credentials(1))
    journal.close()
    with pytest.raises(DirectoryUnusable, match="another peer"):
        Journal(tmp_path, Identity(b"b" * 32))
