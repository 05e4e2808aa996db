"""Contexts: what is remembered, what wins, and what is refused."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from superpeer.cli import app
from superpeer.cli.choosing import choose
from superpeer.cli.contexts import BadContext, Context, Contexts, contexts_path, read_contexts, write_contexts

KEY = "spk-v4jjraduac2e7c5uko7d3lf2copb76ctjpr3a3qnzfrshzlcap4wcfsl"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.delenv("SUPERPEER_CONTEXT", raising=False)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_what_is_written_is_read(home: Path) -> None:
    contexts = Contexts({"anna": Context("127.0.0.1:7400#x", 'a "quoted"\x7f\tdir\\'), "b.c-d_e": Context()}, "anna")
    write_contexts(contexts)
    assert read_contexts() == contexts
    path = contexts_path()
    assert path == home / "config" / "superpeer" / "contexts.toml"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_contexts_are_added_used_shown_and_removed() -> None:
    assert run("context", "list").exit_code == 0
    assert run("context", "add", "anna", "--super-peer", f"127.0.0.1:7400#{KEY}").exit_code == 0
    assert run("context", "add", "bob", "--directory", "bob").exit_code == 0
    assert read_contexts().current == "anna"
    assert Path(read_contexts().named["bob"].directory).is_absolute()
    assert run("context", "use", "bob").exit_code == 0
    assert run("context", "show", "--json").stdout.count("bob") == 2
    assert "* " in run("context", "list").stdout
    assert run("context", "add", "anna", "--admin-key", "k").exit_code == 0
    assert read_contexts().named["anna"].super_peer.endswith(KEY), "what is not said stays"
    assert run("context", "remove", "bob").exit_code == 0
    assert read_contexts().current == ""


def test_what_is_said_wins(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_contexts(Contexts({"a": Context("h:1#k", "/a"), "b": Context("h:2#k", admin_socket="/s")}, "a"))
    assert choose().directory == Path("/a")
    assert choose(directory="/x").directory == Path("/x")
    assert choose("b").super_peer == "h:2#k"
    assert choose("b").directory == home / "share" / "superpeer" / "b"
    assert choose("b").context.admin_socket == "/s"
    assert choose("b", super_peer="h:3#k", admin_key="k").context.admin_socket == "", "another super-peer is meant"
    monkeypatch.setenv("SUPERPEER_CONTEXT", "nobody")
    assert "there is no context 'nobody'" in str(run("status").exception)


@pytest.mark.parametrize(
    "content",
    [
        b"\xff",
        b"current = ",
        b"current = 3",
        b'current = "gone"',
        b"contexts = 1",
        b"[contexts.a]\nunknown = 'x'",
        b"[contexts.a]\nsuper_peer = 7",
        b"[contexts.'a b']",
        b"other = 1",
        b"a" * 1_000_001,
    ],
)
def test_a_file_that_makes_no_sense_is_refused(content: bytes) -> None:
    path = contexts_path()
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(BadContext) as caught:
        read_contexts()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "a b", "../a", "a" * 65, "-a", "a\x1b[2J"])
def test_names_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(BadContext):
        Contexts().with_context(name, Context(), use=False)
    assert run("context", "add", "--", name).exit_code != 0
    assert not contexts_path().exists()


def test_a_relative_variable_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert contexts_path().is_relative_to(Path.home())
