"""What may import what. The rules are read off the source, so an import inside a function counts as well."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("auth", "hypercup", "qel", "superpeer")

INPUT_OUTPUT = frozenset(
    {
        "asyncio",
        "concurrent",
        "fcntl",
        "glob",
        "http",
        "io",
        "logging",
        "mmap",
        "multiprocessing",
        "os",
        "pathlib",
        "queue",
        "random",
        "sched",
        "secrets",
        "select",
        "selectors",
        "shutil",
        "signal",
        "socket",
        "socketserver",
        "sqlite3",
        "ssl",
        "subprocess",
        "tempfile",
        "threading",
        "time",
        "urllib",
        "uuid",
    }
)
BUILTIN_INPUT_OUTPUT = frozenset({"open", "input", "print", "__import__"})


@dataclass(frozen=True)
class Rule:
    """Modules under `where`, except those under `unless`, import nothing under `never`."""

    where: str
    never: frozenset[str]
    unless: str | None = None
    no_builtin_io: bool = False

    def applies_to(self, module: str) -> bool:
        return _under(module, self.where) and not (self.unless and _under(module, self.unless))


RULES = (
    Rule("qel", frozenset({"superpeer", "hypercup", "auth"})),
    Rule("hypercup", frozenset({"superpeer", "qel", "auth"})),
    Rule("auth", frozenset({"superpeer", "qel", "hypercup"})),
    Rule(
        "superpeer.node",
        INPUT_OUTPUT | {"superpeer.net", "superpeer.store", "superpeer.cli", "superpeer.catalog"},
        no_builtin_io=True,
    ),
    *(Rule(package, frozenset({"pyspark"}), unless="superpeer.catalog") for package in PACKAGES),
)


def _under(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def imported(tree: ast.Module, module: str, is_package: bool) -> Iterator[str]:
    """The full names of everything a module imports; of `from a import b` both `a` and `a.b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = module.split(".") if is_package else module.split(".")[:-1]
            start = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*start, *([node.module] if node.module else [])])
            yield origin
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def called(tree: ast.Module) -> Iterator[str]:
    """The plain names of the functions that a module calls."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    tree = ast.parse(source)
    found = []
    for rule in RULES:
        if rule.applies_to(module):
            names = imported(tree, module, is_package)
            found += [f"{module} imports {name}" for name in names if any(_under(name, bad) for bad in rule.never)]
            if rule.no_builtin_io:
                found += [f"{module} calls {name}" for name in called(tree) if name in BUILTIN_INPUT_OUTPUT]
    return found


def modules() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_keeps_the_rules(path: Path) -> None:
    is_package = path.name == "__init__.py"
    inside = path.relative_to(ROOT)
    parts = inside.parent.parts if is_package else inside.with_suffix("").parts
    assert violations(path.read_text(encoding="utf-8"), ".".join(parts), is_package) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("qel.values", "import superpeer"),
        ("qel.values", "from superpeer.errors import SuperpeerError"),
        ("qel.values", "def f():\n    import hypercup.cube"),
        ("hypercup.cube", "from qel import parse"),
        ("auth.keys", "import hypercup as cube"),
        ("superpeer.node.links", "import socket"),
        ("superpeer.node.links", "from os import path"),
        ("superpeer.node.links", "if True:\n    from time import monotonic"),
        ("superpeer.node.links", "import superpeer.net.transport"),
        ("superpeer.node.links", "from superpeer import store"),
        ("superpeer.node.links", "from .. import net"),
        ("superpeer.node.links", "from ..store.log import Log"),
        ("superpeer.node.links", "def f():\n    return open('x')"),
        ("superpeer.rdf.reader", "from pyspark.sql import SparkSession"),
        ("qel.values", "import pyspark"),
    ],
)
def test_a_violation_is_caught(module: str, source: str) -> None:
    assert len(violations(source, module)) >= 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("qel.values", "from qel.errors import QelError\nimport lark"),
        ("superpeer.cli.qel", "from qel import parse\nimport os"),
        (
            "superpeer.node.links",
            "from superpeer.errors import SuperpeerError\nfrom . import poset\nimport timeit",
        ),
        ("superpeer.catalog.session", "from pyspark.sql import SparkSession"),
    ],
)
def test_what_is_allowed_is_not_caught(module: str, source: str) -> None:
    assert violations(source, module) == []


def test_a_package_resolves_relative_imports_from_itself() -> None:
    assert violations("from . import links", "superpeer.node", is_package=True) == []
    assert violations("from .. import net", "superpeer.node", is_package=True) == [
        "superpeer.node imports superpeer.net"
    ]
