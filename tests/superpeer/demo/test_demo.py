"""The demonstration, with fewer super-peers: it checks itself, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]

pytestmark = pytest.mark.xdist_group("cli with processes")


def test_the_story_is_true_and_leaves_nothing_behind(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "superpeer", "demo", "--super-peers", "4"],
        cwd=TOP,
        env={"TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "claims were checked, all are true" in result.stdout
    for claim in ("not one message went between super-peers", "all of them are there, each once", "has the paper"):
        assert claim in result.stdout
    assert list(tmp_path.iterdir()) == []
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if _is_readable(path)]
    assert not [command for command in commands if str(tmp_path).encode() in command]


def _is_readable(path: Path) -> bool:
    try:
        path.read_bytes()
    except OSError:
        return False
    return True
