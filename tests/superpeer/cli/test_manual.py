"""docs/cli.md is what the commands say of themselves, and every option says what it is for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer

from superpeer.cli import app
from superpeer.cli.manual import _commands, manual
from superpeer.cli.serve import build
from superpeer.daemon.config import options

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"
COMMANDS = dict(_commands(typer.main.get_command(app), ()))


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == manual(), "run: python -m superpeer.cli.manual > docs/cli.md"


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_every_command_and_option_has_a_sentence(names: tuple[str, ...]) -> None:
    command: Any = build() if names == ("serve",) else COMMANDS[names]
    assert command.help
    if not hasattr(command, "commands"):
        assert f"superpeer {' '.join(names)}" in command.help, "an example is missing"
    for parameter in command.params:
        assert getattr(parameter, "help", None), parameter.name


def test_every_option_of_the_configuration_is_on_the_command_line() -> None:
    flags = {flag for parameter in build().params for flag in parameter.opts}
    for option in options():
        assert "--" + option.name.replace(".", "-").replace("_", "-") in flags
