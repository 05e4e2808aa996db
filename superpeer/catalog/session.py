"""Starts Spark, on the first Java that will do, and only when a job needs it.

Without a word it runs on all cores of this machine. `--master` takes it elsewhere, `--conf` sets anything, and what
`SPARK_HOME`, `SPARK_CONF_DIR` and `spark-submit` say is honoured: only what nobody set gets a value here.

What Java writes to its standard error goes to a file of this process: most of it says nothing to a user. It is shown
where a job fails.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from signal import SIGINT, signal
from threading import current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from superpeer.catalog.java import find_java
from superpeer.errors import SuperpeerError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHIPPED = ("superpeer", "qel")
SHIPPED_AS, CACHED_IN = "superpeer-code", "superpeer-cache"
"""Directories that executors have where they work, and that go with them."""

DEFAULTS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.enabled": "false",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "32m",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000",
    "spark.sql.files.maxPartitionBytes": "32m",
    "spark.python.worker.faulthandler.enabled": "true",
}

LOCAL_DEFAULTS = {
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


MASTERS = re.compile(r"local(?:\[(?:\*|[1-9][0-9]*)(?:, *[0-9]+)?\])?|local-cluster\[.*\]|yarn|[a-z0-9]+://.+")
MASTERS_IN_PROCESS = re.compile(r"local(?:\[.*\])?")
"""Those that have no executors of their own, where code would have to be sent."""

_UNTOLD = re.compile(r"WARNING:|An error occurred while|\s+at ")
_PREFIX = re.compile(r'^(?:Exception in thread "\S+" |: |[0-9:]+ ERROR \S+: )?(?:[\w.$]+(?:Exception|Error): )*')


class SparkMissing(SuperpeerError):
    """The extra with pyspark is not installed."""

    def __init__(self) -> None:
        super().__init__("the catalogue commands need Spark: install it with `pip install 'superpeer[spark]'`.")


class BadSetting(SuperpeerError):
    """A `--conf` that is not of the form NAME=VALUE, or a `--master` that Spark does not know."""


class SparkFailed(SuperpeerError):
    """Spark did not start, or refused a setting."""


def start(
    master: str | None = None, settings: Mapping[str, str] | None = None, name: str = "superpeer"
) -> SparkSession:
    """The Spark session of this process, started if there is none."""
    try:
        from py4j.protocol import Py4JError
        from pyspark import SparkConf, SparkContext
        from pyspark.errors import PySparkException
        from pyspark.java_gateway import launch_gateway
        from pyspark.sql import SparkSession
    except ImportError:
        raise SparkMissing from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ["JAVA_HOME"] = str(find_java().home)
    said = dict(SparkConf().getAll()) | _defaults_file()
    chosen = master or said.get("spark.master") or os.environ.get("MASTER") or "local[*]"
    if not MASTERS.fullmatch(chosen):
        raise BadSetting(f"{chosen} is no master of Spark, such as local[4], spark://HOST:7077 or yarn")
    if _is_here(chosen):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    given = dict(settings or {})
    wanted = {key: value for key, value in _defaults(chosen, name).items() if key not in said} | given
    # Workers must be the Python that has the packages, not whichever comes first on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if python := (said | wanted).get("spark.pyspark.python"):
        os.environ["PYSPARK_PYTHON"] = python
    try:
        with _java_log().open("ab") as log:
            at_start = SparkConf().setAll([*wanted.items(), ("spark.master", chosen)])
            gateway = launch_gateway(at_start, {"stderr": log})  # type: ignore[no-untyped-call]
        conf = SparkConf(_jvm=gateway.jvm)
        # With spark-submit Java runs already, and has settings that only it knows.
        chosen = master or conf.get("spark.master", chosen) or chosen
        wanted = {key: value for key, value in _defaults(chosen, name).items() if not conf.contains(key)} | given
        if not MASTERS_IN_PROCESS.fullmatch(chosen):
            wanted |= _shipping(dict(conf.getAll()) | wanted)
        conf.setMaster(chosen).setAll(list(wanted.items()))
        session = SparkSession.builder.config(conf=SparkContext(conf=conf, gateway=gateway).getConf()).getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise SparkFailed(f"Spark does not start with these settings: {reason_of(error)}") from None
    if current_thread() is main_thread():
        signal(SIGINT, _interrupt)
    return session


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    """In place of Spark's own way, which asks Java to end its jobs while Java may be in the middle of an answer."""
    # What the bridge to Java logs of it, traces of its own calls, says nothing to whoever interrupts.
    logging.disable(logging.CRITICAL)
    raise KeyboardInterrupt


def _is_here(master: str) -> bool:
    return master.startswith("local")


def _defaults(master: str, name: str) -> dict[str, str]:
    configuration = Path(__file__).with_name("log4j2.properties").absolute().as_uri()
    return {
        **DEFAULTS,
        **(LOCAL_DEFAULTS if _is_here(master) else {}),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={configuration}",
        "spark.app.name": name,
    }


def reason_of(error: Exception, said: str | None = None) -> str:
    """The first line in which Java or Spark says what is wrong, without what only a programmer reads."""
    lines = ((java_said() if said is None else said) + "\n" + str(error)).splitlines()
    telling = [line for line in lines if line.strip() and not _UNTOLD.match(line)]
    return _PREFIX.sub("", telling[0] if telling else type(error).__name__)


def is_refused_setting(error: Exception) -> bool:
    """Whether Spark stumbled over the value of a setting, which it may look at only when a job runs."""
    return bool(re.search(r"INVALID_CONF_VALUE|NumberFormatException|IllegalArgumentException: spark\.", str(error)))


def java_said() -> str:
    """What Java wrote to its standard error."""
    return _java_log().read_text(errors="replace")


@cache
def _java_log() -> Path:
    descriptor, name = tempfile.mkstemp(prefix="superpeer-", suffix=".log")
    os.close(descriptor)
    atexit.register(Path(name).unlink, missing_ok=True)
    return Path(name)


def _defaults_file() -> dict[str, str]:
    """What the user's spark-defaults.conf sets. Spark reads it itself, but what is given to it here would win."""
    home = os.environ.get("SPARK_HOME")
    directory = os.environ.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)
    path = Path(directory, "spark-defaults.conf") if directory else None
    if path is None or not path.is_file():
        return {}
    lines = (line.strip() for line in path.read_text(encoding="utf-8", errors="replace").splitlines())
    pairs = (re.split(r"\s*[=:\s]\s*", line, maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def parse_settings(given: list[str]) -> dict[str, str]:
    settings = {}
    for setting in given:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise BadSetting(f"--conf {setting} is not of the form NAME=VALUE, such as spark.executor.memory=4g")
        settings[key] = value
    return settings


def cores(spark: SparkSession) -> int:
    return max(1, spark.sparkContext.defaultParallelism)


def _shipping(said: Mapping[str, str]) -> dict[str, str]:
    """Settings by which executors get this very code, whether they have installed Superpeer or not.

    They get it as files, since code in an archive could not read its grammar nor keep what it compiles. That is kept
    where they work, so that it is compiled once for an executor, and not left behind."""
    archives, path, cache = "spark.archives", "spark.executorEnv.PYTHONPATH", "spark.executorEnv.XDG_CACHE_HOME"
    code = f"{_package_of_ourselves().as_uri()}#{SHIPPED_AS}"
    return {
        archives: ",".join(filter(None, [said.get(archives), code])),
        path: os.pathsep.join(filter(None, [SHIPPED_AS, said.get(path)])),
        cache: said.get(cache, CACHED_IN),
    }


def _package_of_ourselves() -> Path:
    """The packages that tasks import, as an archive."""
    root = Path(__file__).parent.parent.parent
    target = Path(_scratch(), "superpeer.zip")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in SHIPPED:
            for path in sorted((root / package).rglob("*")):
                if path.suffix in (".py", ".lark"):
                    archive.write(path, path.relative_to(root))
    return target


@cache
def _scratch() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="superpeer-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory
