"""`python -m superpeer.daemon`: a super-peer with every option of its configuration on the command line."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from superpeer.daemon.config import Config, Option, options, read_config
from superpeer.daemon.daemon import serve
from superpeer.daemon.logs import set_up
from superpeer.errors import is_user_error
from superpeer.net import run

EXIT_ERROR = 2

GARBAGE_THRESHOLDS = (50_000, 20, 50)
"""What is kept is freed when nobody refers to it any more; cycles are few, and looking for them among millions of
subscriptions and publications as often as Python does by itself costs a tenth of the time."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="superpeer serve", description="Run a super-peer.", allow_abbrev=False)
    made.add_argument("--config", type=Path, help="A TOML file with these options; the command line goes over it.")
    for option in options():
        made.add_argument(_flag(option), dest=option.name, default=None, help=_help(option), **_reading(option))
    return made


def configure(arguments: Sequence[str]) -> Config:
    given = vars(parser().parse_args(arguments))
    path = given.pop("config")
    return read_config(path, {name: value for name, value in given.items() if value is not None})


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        config = configure(sys.argv[1:] if arguments is None else arguments)
        set_up(config.log_format, config.log_level)
        gc.set_threshold(*GARBAGE_THRESHOLDS)
        run(serve(config))
    except Exception as error:
        if not is_user_error(error):
            raise
        print(error, file=sys.stderr)
        return EXIT_ERROR
    return 0


def _flag(option: Option) -> str:
    return "--" + option.name.replace(".", "-").replace("_", "-")


def _help(option: Option) -> str:
    default = "" if option.default in ("", ()) else f" Default: {option.default}."
    return (option.sentence + default).replace("%", "%%")


def _reading(option: Option) -> dict[str, Any]:
    kind = option.kind
    if kind is bool:
        return {"action": argparse.BooleanOptionalAction}
    if get_origin(kind) is tuple:
        return {"action": "append"}
    if get_args(kind):
        return {"choices": get_args(kind)}
    return {"type": kind}


if __name__ == "__main__":
    sys.exit(main())
