"""Starts Spark, on the first Java that will do, and only when a job needs it.

Without a word it runs on all cores of this machine. `--master` takes it elsewhere, `--conf` sets anything, and what
`SPARK_HOME`, `SPARK_CONF_DIR` and `spark-submit` say is honoured: only what nobody set gets a value here.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from superpeer.catalog.java import find_java
from superpeer.errors import SuperpeerError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHIPPED = ("superpeer", "qel")

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
    "spark.log.level": "ERROR",
}
_LOGGING = Path(__file__).with_name("log4j2.properties").as_uri()

LOCAL_DEFAULTS = {
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING}",
}


class SparkMissing(SuperpeerError):
    """The extra with pyspark is not installed."""

    def __init__(self) -> None:
        super().__init__("the catalogue commands need Spark: install it with `pip install 'superpeer[spark]'`.")


class BadSetting(SuperpeerError):
    """A `--conf` that is not of the form NAME=VALUE."""


def start(
    master: str | None = None, settings: Mapping[str, str] | None = None, name: str = "superpeer"
) -> SparkSession:
    """The Spark session of this process, started if there is none."""
    try:
        from pyspark import SparkConf
        from pyspark.sql import SparkSession
    except ImportError:
        raise SparkMissing from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ["JAVA_HOME"] = str(find_java().home)
    # Workers must be the Python that has the packages, not whichever comes first on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    given = dict(settings or {})
    conf = SparkConf()
    chosen = master or conf.get("spark.master", None) or os.environ.get("MASTER") or "local[*]"
    builder = SparkSession.builder.appName(name).master(chosen)
    is_local = chosen.startswith("local")
    if is_local:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    defaults = DEFAULTS | (LOCAL_DEFAULTS if is_local else {})
    for key, value in defaults.items():
        if not conf.contains(key):
            builder = builder.config(key, value)
    for key, value in given.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    if not is_local:
        session.sparkContext.addPyFile(str(_package_of_ourselves()))
    return session


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


def _package_of_ourselves() -> Path:
    """The packages that tasks import, as an archive for executors that have not installed them."""
    root = Path(__file__).parent.parent.parent
    target = Path(tempfile.mkdtemp(prefix="superpeer-"), "superpeer.zip")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in SHIPPED:
            for path in sorted((root / package).rglob("*")):
                if path.suffix in (".py", ".lark"):
                    archive.write(path, path.relative_to(root))
    return target
