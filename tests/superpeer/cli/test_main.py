"""The command as a user meets it: in a process of its own, by its exit code and what it prints."""

import subprocess
import sys
import textwrap

import pytest

import superpeer

HEAVY = ("asyncio", "lark", "msgspec", "nacl", "networkx", "pandas", "pyarrow", "pyoxigraph", "pyspark", "rdflib")


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return python("from superpeer.cli import main; main()", *arguments)


def python(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def main_that_raises(statement: str) -> "subprocess.CompletedProcess[str]":
    """Runs `main` with one more command, whose body is the statement."""
    return python(
        f"from superpeer import cli\n@cli.app.command()\ndef fail() -> None:\n    {statement}\ncli.main()",
        "fail",
    )


def test_help_lists_the_groups() -> None:
    result = run("--help")
    assert result.returncode == 0
    assert "qel" in result.stdout
    assert "backbone" in result.stdout


def test_no_arguments_show_the_help() -> None:
    result = run()
    assert "Usage" in result.stdout + result.stderr


def test_version() -> None:
    result = run("--version")
    assert (result.returncode, result.stdout) == (0, f"superpeer {superpeer.__version__}\n")


def test_an_unknown_command_is_named() -> None:
    result = run("qle")
    assert result.returncode == 2
    assert "qle" in result.stderr
    assert "Traceback" not in result.stderr


def test_help_imports_nothing_heavy() -> None:
    result = python(
        f"""
        import sys
        from superpeer.cli import app
        try:
            app(["--help"])
        except SystemExit:
            print("loaded:", sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)
        """
    )
    assert result.stderr == "loaded: []\n"


@pytest.mark.parametrize(
    "statement",
    [
        "from superpeer.errors import SuperpeerError; raise SuperpeerError('Say what to do.')",
        "from qel import QelError; raise QelError('Say what to do.')",
        "from hypercup import HypercupError; raise HypercupError('Say what to do.')",
        "from auth import AuthError; raise AuthError('Say what to do.')",
    ],
)
def test_a_user_error_is_its_sentence(statement: str) -> None:
    result = main_that_raises(statement)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", "superpeer: Say what to do.\n")


def test_a_bug_keeps_its_traceback() -> None:
    result = main_that_raises("raise ZeroDivisionError")
    assert result.returncode == 1
    assert "Traceback" in result.stderr


def test_interrupting_exits_with_130() -> None:
    result = main_that_raises("raise KeyboardInterrupt")
    assert result.returncode == 130
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("lines", [1, 100_000])
def test_a_closed_pipe_is_no_error_to_report(lines: int) -> None:
    code = f"""
    from superpeer import cli
    @cli.app.command()
    def talk() -> None:
        import sys
        sys.stdin.readline()
        for _ in range({lines}):
            print("a line of output")
    cli.main()
    """
    command = [sys.executable, "-c", textwrap.dedent(code), "talk"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        # The command prints only now, when its reader has certainly gone.
        process.stdin.write("go\n")
        process.stdin.close()
        assert process.stderr.read() == ""
