"""Options: from a file, from the command line, and what is said of those that make no sense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from auth import Identity
from superpeer.daemon.__main__ import configure, parser
from superpeer.daemon.config import Config, make_config, options, parse_address, parse_contact, read_config
from superpeer.daemon.errors import BadConfiguration

KEY = str(Identity(bytes([1]) * 32).public)


def test_every_option_has_a_default_a_sentence_and_a_flag() -> None:
    names = [option.name for option in options()]
    assert len(names) == len(set(names)) > 70
    assert all(option.sentence.endswith(".") or "\n" in option.sentence for option in options())
    flags = parser().format_help()
    for option in options():
        assert "--" + option.name.replace(".", "-").replace("_", "-") in flags
        assert option.default == default_of(Config(), option.name)


def default_of(config: Config, name: str) -> Any:
    value: Any = config
    for part in name.split("."):
        value = getattr(value, part)
    return value


def test_the_command_line_goes_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "superpeer.toml"
    file.write_text(
        f"""
        data = "there"
        join = ["one.example.org:7400#{KEY}", "[::1]:7400#{KEY}"]
        log_format = "json"
        [limits]
        log_entries = 5
        queue_entries = 6
        [connections]
        patience_s = 5.0
        """
    )
    config = configure([f"--config={file}", "--limits-log-entries=7", "--listen=127.0.0.1:0", f"--admins={KEY}"])
    assert (config.data, config.listen, config.log_format) == ("there", "127.0.0.1:0", "json")
    assert (config.limits.log_entries, config.limits.queue_entries) == (7, 6)
    assert config.connections.max_frame_bytes == Config().connections.max_frame_bytes, "a table keeps our defaults"
    assert [str(contact) for contact in config.contacts] == list(config.join)
    assert config.store_path == Path("there/store")
    assert read_config() == Config()


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ({"lisen": "127.0.0.1:0"}, "lisen"),
        ({"limits": {"log_entrys": 1}}, "log_entrys"),
        ({"limits": {"log_entries": "many"}}, "log_entries"),
        ({"listen": "127.0.0.1"}, "127.0.0.1"),
        ({"listen": "::1:7400"}, "::1:7400"),
        ({"join": ["example.org:7400"]}, "names no key"),
        ({"join": ["example.org:7400#spk-nonsense"]}, "spk-nonsense"),
        ({"root": "root"}, "root"),
        ({"backbone": "ring"}, "backbone"),
        ({"leave_s": -1.0}, "leave_s"),
        ({"timing": {"heartbeat_s": 0.0}}, "timing"),
        ({"connections": {"max_frame_bytes": 1}}, "connections"),
        ({"connections": {"max_frame_bytes": 1 << 20}}, "max_frame_bytes"),
    ],
)
def test_what_makes_no_sense_is_named(table: dict[str, Any], named: str) -> None:
    with pytest.raises(BadConfiguration, match=named):
        make_config(table)


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration, match="cannot be read"):
        read_config(tmp_path / "missing.toml")
    file = tmp_path / "bad.toml"
    file.write_text("listen = ")
    with pytest.raises(BadConfiguration, match="is no TOML"):
        read_config(file)


@pytest.mark.parametrize("text", ["example.org:7400", "127.0.0.1:0", "[::1]:65535"])
def test_addresses_are_read_and_written(text: str) -> None:
    assert str(parse_address(text)) == text
    assert str(parse_contact(f"{text}#{KEY}")) == f"{text}#{KEY}"
