"""`make bench` runs every benchmark; `python -m benchmarks NAME...` only those named."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main(names: list[str]) -> None:
    known = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    runnable = [name for name in known if name not in ("__main__", "catalogue", "competitors", "measuring", "workload")]
    unknown = [name for name in names if name not in runnable]
    if unknown:
        sys.exit(f"there is no benchmark {unknown[0]}; there are {', '.join(runnable)}")
    for name in names or runnable:
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
