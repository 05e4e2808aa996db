"""One small Spark for all tests of the catalogue."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from superpeer.catalog.session import start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    scratch: Path = tmp_path_factory.mktemp("spark")
    session = start(
        "local[2]",
        {
            "spark.sql.shuffle.partitions": "3",
            "spark.driver.memory": "1g",
            "spark.sql.warehouse.dir": str(scratch),
            # Small tables: compiling a plan would take longer than running it.
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        },
    )
    yield session
    session.stop()
