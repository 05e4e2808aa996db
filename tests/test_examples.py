"""The examples run, and check themselves."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
LAST_WORDS = {
    "01_library_publishes": "The network has them all.",
    "02_researcher_follows_two_authors": "One of the four publications matches.",
    "03_admin_inspects_a_poset": "The special one did not travel: the general one covers it.",
    "04_offline_and_rendezvous": "fetched at a rendezvous",
    "05_migrating": "What had waited there has come along, and nothing came twice.",
    "06_notebook": "Both ways find the same.",
    "07_figure_6": "Every step did what the chapter says.",
    "08_language": "All of it was checked on the way",
}

pytestmark = pytest.mark.xdist_group("examples")


@pytest.mark.parametrize("name", LAST_WORDS)
def test_the_example_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert LAST_WORDS[name] in capsys.readouterr().out


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(LAST_WORDS)
