"""What there is to read: files and directories as a list of splits, each of which one task reads on its own.

N-Triples and N-Quads are cut into ranges of bytes where they are not packed, or packed with bzip2. Everything else is
read from beginning to end by one task. Paths may be URIs of any file system that Arrow knows (`file:`, `hdfs:`, `s3:`,
`gs:`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyarrow import fs

from superpeer.errors import SuperpeerError
from superpeer.rdf import FORMATS

_HIDDEN = (".", "_")
LINES = (".nt", ".nq")
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}

LEAST_SPLIT_BYTES = 4 << 20
MOST_SPLIT_BYTES = 64 << 20
SPLITS_PER_CORE = 4
PACKING = 16
"""How many bytes of lines are packed into one, more or less: splits that are packed are smaller by it."""


class UnreadableCatalogue(SuperpeerError):
    """The input of a job cannot be read at all."""


@dataclass(frozen=True, slots=True, order=True)
class File:
    """One input file, and what tells whether it changed."""

    uri: str
    size_bytes: int
    modified_ns: int

    @property
    def extension(self) -> str:
        """The extension that names the format, without that of the compression."""
        return _suffix(_uncompressed_name(self.uri))

    @property
    def compression(self) -> str | None:
        return COMPRESSIONS.get(_suffix(self.uri))

    @property
    def has_lines(self) -> bool:
        return self.extension in LINES

    @property
    def is_divisible(self) -> bool:
        return self.has_lines and self.compression in (None, "bz2")


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a file, as the file is on the disk."""

    number: int
    file: File
    start_bytes: int
    end_bytes: int

    @property
    def is_whole(self) -> bool:
        return self.start_bytes == 0 and self.end_bytes == self.file.size_bytes


def find_files(paths: Iterable[str]) -> list[File]:
    """The files that paths stand for: themselves, or all RDF files below a directory. In one order, each once."""
    found: set[File] = set()
    for path in paths:
        found.update(_files_at(path))
    if not found:
        raise UnreadableCatalogue("there is no RDF file in " + ", ".join(paths))
    return sorted(found)


def require_apart(paths: Iterable[str], directory: Path) -> None:
    """Complains of a directory for output that lies among the input."""
    for path in paths:
        if "://" not in path and Path(path).is_dir() and directory.resolve().is_relative_to(Path(path).resolve()):
            raise UnreadableCatalogue(f"--out must not lie inside {path}, where it would be read as input")


def cut(files: Iterable[File], cores: int) -> list[Split]:
    """Splits of a size that gives every core several of them."""
    files = list(files)
    divisible = sum(file.size_bytes * _packing(file) for file in files if file.is_divisible)
    size = min(max(divisible // (cores * SPLITS_PER_CORE) + 1, LEAST_SPLIT_BYTES), MOST_SPLIT_BYTES)
    splits: list[Split] = []
    for file in files:
        step = max(size // _packing(file) if file.is_divisible else file.size_bytes, 1)
        for start in range(0, max(file.size_bytes, 1), step):
            splits.append(Split(len(splits), file, start, min(start + step, file.size_bytes)))
    # Largest first, so that no task is left alone with a large one at the end.
    return sorted(splits, key=lambda split: (split.start_bytes - split.end_bytes, split.number))


def tasks_of(splits: Sequence[Split], cores: int) -> list[list[Split]]:
    """Splits in groups of about the same size, so that many small files do not take as many tasks."""
    size = min(LEAST_SPLIT_BYTES, sum(map(_size_bytes, splits)) // (cores * SPLITS_PER_CORE) + 1)
    tasks: list[list[Split]] = []
    room = 0
    for split in splits:
        if room < _size_bytes(split):
            tasks.append([])
            room = size
        tasks[-1].append(split)
        room -= _size_bytes(split)
    return tasks


def _size_bytes(split: Split) -> int:
    return split.end_bytes - split.start_bytes


def _packing(file: File) -> int:
    return PACKING if file.compression == "bz2" else 1


def uri_of(path: str) -> str:
    return path if "://" in path else Path(path).absolute().as_uri()


def open_uri(uri: str) -> tuple[fs.FileSystem, str]:
    try:
        system, path = fs.FileSystem.from_uri(uri)
    except (OSError, ValueError) as error:
        raise UnreadableCatalogue(f"{uri} cannot be opened: {str(error).partition(chr(10))[0]}") from None
    return system, path


def make_directory(uri: str) -> None:
    system, path = open_uri(uri)
    system.create_dir(path, recursive=True)


def _files_at(path: str) -> Iterator[File]:
    if not path:
        raise UnreadableCatalogue("the name of a file or directory is empty")
    system, inside = open_uri(uri_of(path))
    info = system.get_file_info(inside)
    if info.type == fs.FileType.NotFound:
        raise UnreadableCatalogue(f"there is no file or directory {path}")
    scheme = uri_of(path).removesuffix(inside) if "://" in path else ""
    if info.type == fs.FileType.File:
        if not _is_rdf(info.path):
            known = " ".join(FORMATS)
            raise UnreadableCatalogue(
                f"{path}: no RDF format has this extension; known are {known}, each also with .gz, .bz2 or .zst"
            )
        yield _file(info, scheme)
        return
    if isinstance(system, fs.LocalFileSystem):
        inner = system.get_file_info(list(_paths_below(inside)))
    else:
        inner = system.get_file_info(fs.FileSelector(inside, recursive=True))
    for found in inner:
        hidden = any(part.startswith(_HIDDEN) for part in found.path[len(inside) :].split("/"))
        # A link that leads nowhere is a file that cannot be read, which its reader says.
        is_file = found.type == fs.FileType.File and found.size != 0
        if _is_rdf(found.path) and not hidden and (is_file or found.type == fs.FileType.NotFound):
            yield _file(found, scheme)


def _paths_below(directory: str) -> Iterator[str]:
    """All files below a directory of this machine. A directory to which links lead is searched once."""
    searched: set[str] = set()
    for path, inner, names in os.walk(directory, followlinks=True):
        real = os.path.realpath(path)
        if real in searched:
            inner.clear()
            continue
        searched.add(real)
        inner.sort()
        yield from (f"{path}/{name}" for name in names)


def _file(info: fs.FileInfo, scheme: str) -> File:
    uri = scheme + info.path if scheme else Path(info.path).as_uri()
    return File(uri, info.size or 0, info.mtime_ns or 0)


def _is_rdf(path: str) -> bool:
    return _suffix(_uncompressed_name(path)) in FORMATS


def _uncompressed_name(path: str) -> str:
    suffix = _suffix(path)
    return path[: -len(suffix)] if suffix in COMPRESSIONS else path


def _suffix(path: str) -> str:
    # There may be a great many files, and `Path` takes ten times as long.
    return os.path.splitext(path)[1].lower()  # noqa: PTH122
