"""What executors are sent: the code that tasks run, complete, as files."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.request import url2pathname

from superpeer.catalog.session import CACHED_IN, MASTERS, MASTERS_IN_PROCESS, SHIPPED_AS, _shipping

TASKS = """
import sys
# Nothing that is not sent can be imported, wherever it is installed.
sys.modules["hypercup"] = sys.modules["auth"] = None
import qel, superpeer
from superpeer.catalog import coverage, following, ingest, posets
assert qel.__file__.startswith(sys.argv[1]) and superpeer.__file__.startswith(sys.argv[1])
qel.parse("X : t(X, dc:title, T) & D >= 2004 & t(X, dc:date, D)")
from superpeer.matching.compiling import kept_in
print(kept_in())
"""


def test_what_is_sent_is_all_that_tasks_need(tmp_path: Path) -> None:
    settings = _shipping({})
    assert settings["spark.executorEnv.PYTHONPATH"] == SHIPPED_AS
    uri, _, name = settings["spark.archives"].partition("#")
    assert name == SHIPPED_AS
    with zipfile.ZipFile(url2pathname(uri.removeprefix("file://"))) as archive:
        archive.extractall(tmp_path / SHIPPED_AS)
    # As Spark starts a worker: where the executor works, with paths that are relative.
    environment = os.environ | {"PYTHONPATH": SHIPPED_AS, "XDG_CACHE_HOME": CACHED_IN}
    done = subprocess.run(
        [sys.executable, "-c", TASKS, str(tmp_path)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / done.stdout.strip()).is_dir()
    assert done.stdout.startswith(CACHED_IN)


def test_what_the_user_sends_is_sent_as_well() -> None:
    names = ("spark.archives", "spark.executorEnv.PYTHONPATH", "spark.executorEnv.XDG_CACHE_HOME")
    settings = _shipping(dict(zip(names, ("mine.zip#mine", "mine", "/var/cache"), strict=True)))
    assert settings["spark.archives"].startswith("mine.zip#mine,file:")
    assert settings["spark.executorEnv.PYTHONPATH"] == f"{SHIPPED_AS}{os.pathsep}mine"
    assert settings["spark.executorEnv.XDG_CACHE_HOME"] == "/var/cache"


def test_masters() -> None:
    for master in ("local", "local[4]", "local[*]", "local[2,3]"):
        assert MASTERS.fullmatch(master)
        assert MASTERS_IN_PROCESS.fullmatch(master)
    for master in ("local-cluster[2,1,1024]", "spark://h:7077", "yarn", "k8s://https://h:443"):
        assert MASTERS.fullmatch(master)
        assert not MASTERS_IN_PROCESS.fullmatch(master)
    for master in ("local[0]", "nonsense", "", "local[]"):
        assert not MASTERS.fullmatch(master)
