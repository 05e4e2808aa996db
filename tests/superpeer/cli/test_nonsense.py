"""Nonsense for every command: an exit code that is not 0, one sentence, no traceback, and nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from superpeer.cli import app, is_no_answer
from superpeer.cli.manual import _commands
from superpeer.errors import is_user_error

KEY = "spk-v4jjraduac2e7c5uko7d3lf2copb76ctjpr3a3qnzfrshzlcap4wcfsl"
NOWHERE = f"127.0.0.1:1#{KEY}"
QUERY = "X : t(X, dc:date, D)"
NONSENSE = [
    ["register"],
    ["register", "--super-peer", "nonsense"],
    ["register", "--super-peer", "127.0.0.1:7400"],
    ["register", "--super-peer", f"127.0.0.1:99999#{KEY}"],
    ["register", "--super-peer", "127.0.0.1:7400#spk-nonsense"],
    ["register", "--timeout", "-1"],
    ["register", "--context", "nobody"],
    ["advertise"],
    ["advertise", "--value", "dc:date"],
    ["advertise", "--value", "dc:date=9..1"],
    ["advertise", "--schema", "no:such:"],
    ["advertise", "gone.ttl"],
    ["advertise", "--level", "deep", "gone.ttl"],
    ["subscribe", "X : nonsense"],
    ["subscribe", "X : t(X, dc:date, D) & D > 3 & D < 2"],
    ["subscribe", QUERY, "--since", "yesterday"],
    ["subscribe", QUERY, "--lasts", "0d"],
    ["subscribe", QUERY, "--lasts", "99999999999d"],
    ["subscribe"],
    ["unsubscribe"],
    ["unsubscribe", "nobody"],
    ["subscriptions"],
    ["listen", "--format", "xml"],
    ["listen", "--until-quiet", "soon"],
    ["listen", "--count", "-3"],
    ["publish"],
    ["publish", "gone.ttl"],
    ["publish", "."],
    ["publish", "--watch", "gone"],
    ["publish", "--kind", "odd", "x.ttl"],
    ["offer", "http://example.org/", "gone"],
    ["query", "?"],
    ["query", QUERY, "--seconds", "0"],
    ["fetch"],
    ["fetch", "http://example.org/x", "--owner", "nobody"],
    ["fetch", "http://example.org/x", "--owner", "a@b"],
    ["migrate", "nonsense"],
    ["leave"],
    ["init", "/proc/no/such"],
    ["init", "x", "--days", "0"],
    ["init", "x", "--passphrase"],
    ["admit", "nonsense/deep/x", "--root", "gone", "--name", "x"],
    ["admit", KEY, "--root", "gone", "--name", "x"],
    ["serve", "--data", "gone"],
    ["serve", "--config", "gone.toml"],
    ["serve", "--listen", "nowhere"],
    ["serve", "--log-level", "loud"],
    ["serve", "--join", "somebody"],
    ["serve", "--timing-heartbeat-s", "-1"],
    ["serve", "--limits-subscriptions-per-peer", "many"],
    ["serve", "--no-such-option"],
    ["store", "backup", "gone", "target"],
    ["store", "recover", "gone", "target"],
    ["status"],
    ["status", "--admin-socket", "gone"],
    ["status", "--super-peer", NOWHERE, "--admin-key", "gone"],
    ["poset", "--match", "X : t(nonsense", "--admin-socket", "gone"],
    ["poset", "--depth", "-1"],
    ["poset", "--limit", "0"],
    ["poset", "--root", "gone.qel"],
    ["indices", "--limit", "99999"],
    ["peers"],
    ["queues"],
    ["explain"],
    ["explain", "x"],
    ["shutdown"],
    ["backbone"],
    ["backbone", "fly"],
    ["demo", "--super-peers", "2"],
    ["context", "use", "nobody"],
    ["context", "show"],
    ["context", "remove", "nobody"],
    ["context", "add", "x", "--super-peer", "nonsense"],
    ["key", "show"],
    ["key", "show", "gone"],
    ["key", "new", "/proc/no/such"],
    ["key", "new", "--passphrase", "protected.key"],
    ["catalog", "profile", "missing.nt", "--out", "out"],
    ["catalog", "coverage", "missing.nt", "--subscriptions", "missing.qel", "--out", "out"],
    ["catalog", "poset", "--subscriptions", "missing.qel", "--out", "out"],
    ["catalog", "convert", "missing.nt", "--out", "out"],
    ["lab", "run", "nonsense", "--out", "out"],
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("SUPERPEER_CONTEXT", raising=False)
    monkeypatch.delenv("SUPERPEER_PASSPHRASE", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(*arguments: str) -> tuple[int, str]:
    """The exit code and the sentence, as `main` would have them."""
    result = CliRunner().invoke(app, list(arguments))
    error = result.exception
    assert error is not None, f"{arguments} was accepted: {result.output}"
    if isinstance(error, SystemExit):
        return result.exit_code, result.stderr
    assert isinstance(error, Exception)
    assert is_user_error(error), repr(error)
    return (3 if is_no_answer(error) else 2), str(error)


@pytest.mark.parametrize("arguments", NONSENSE, ids=" ".join)
def test_nonsense_is_refused_in_a_sentence(arguments: list[str], home: Path) -> None:
    code, sentence = refusal(*arguments)
    assert code in (2, 3)
    assert sentence.strip()
    assert "Traceback" not in sentence
    assert not [path for path in home.rglob("*.key") if path.is_file()], "a command that was refused left a key"


def test_every_command_is_fed_nonsense() -> None:
    """Those of `qel` and the plans of backbones have tests of their own; two lists take nothing."""
    fed = {tuple(arguments[: len(names)]) for arguments in NONSENSE for names in names_of_commands()}
    elsewhere = {("backbone", "plan"), ("backbone", "replay"), ("context", "list"), ("lab", "list")}
    assert {names for names in names_of_commands() if names[0] != "qel"} - fed - elsewhere == set()


def names_of_commands() -> list[tuple[str, ...]]:
    return [names for names, _ in _commands(typer.main.get_command(app), ())]


def test_a_super_peer_that_does_not_answer_has_its_own_exit_code() -> None:
    assert refusal("status", "--admin-socket", "gone")[0] == 3
    code, sentence = refusal("register", "--super-peer", NOWHERE, "--timeout", "0.3", "--directory", "peer")
    assert code == 3
    assert "did not answer within 0.3 seconds" in sentence
