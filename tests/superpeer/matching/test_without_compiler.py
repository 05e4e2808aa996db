"""Where numba is not installed the same answers come from numpy; and importing the package never imports numba."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from superpeer.matching import compiling
from superpeer.matching.compiling import kept_in

SCRIPT = """
import sys, warnings
warnings.simplefilter("error")
sys.modules["numba"] = None
import qel
from rdflib import DC, Literal, URIRef
from superpeer.matching.compiling import HAS_COMPILER
from superpeer.matching.matcher import Matcher
from superpeer.matching.poset import IndexedPoset
assert not HAS_COMPILER
matcher = Matcher(segment_members=8)
asked = [qel.parse(f'X : t(X, dc:title, T) & T contains "w{i}"') for i in range(30)]
asked += [qel.parse(f"X : t(X, dc:date, D) & D >= {i} & D <= {i + 3}") for i in range(30)]
poset = IndexedPoset()
for key, query in enumerate(asked):
    matcher.add(key, query, key % 3)
    poset.insert(query, key)
for key in range(0, 60, 7):
    matcher.remove(key)
subject = URIRef("http://example.org/s")
for i in range(30):
    triples = [(subject, DC.title, Literal(f"a w{i} b")), (subject, DC.date, Literal(i))]
    expected = {key for key, query in enumerate(asked) if key % 7 and qel.matches(query, triples)}
    assert set(matcher.match(triples)) == expected
    assert expected
assert len(poset) == 60
assert {len(place.parents) for place in poset if "w1" in str(place.query)} == {0, 1}
"""


def run(script: str) -> None:
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr


def test_numpy_does_the_same() -> None:
    run(SCRIPT)


def test_importing_the_package_and_the_command_line_imports_no_compiler() -> None:
    run("import sys, superpeer.matching, superpeer.cli\nassert 'numba' not in sys.modules")


def test_what_is_compiled_is_kept_apart_for_each_version_of_the_sources() -> None:
    """A function whose helper or constant changed in another file must not be taken from what was compiled before."""
    pytest.importorskip("numba")
    directory = kept_in()
    assert directory is not None
    assert Path(directory).stat().st_mode & 0o077 == 0
    package = Path(compiling.__file__).parent
    found = {
        getattr(module, name)._cache._cache_path
        for path in package.glob("*.py")
        for module in [importlib.import_module(f"superpeer.matching.{path.stem}")]
        for name in vars(module)
        if hasattr(getattr(module, name), "py_func")
    }
    assert found
    assert all(path.startswith(directory) for path in found)
