"""Model files: the only one that searches for them and maps them into memory."""

from __future__ import annotations

import mmap
import os
import posixpath
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from etfetch import digest, modelpaths, program
from etfetch.errors import ConfigError, ModelError, UsageError
from etfetch.program import Model

_POINTER = re.compile(rb"version https://git-lfs[^\n]*\n(?:[a-z].*\n)*?oid sha256:([0-9a-f]{64})\n")
_LONGEST_POINTER = 1024
"""Bytes that a pointer of Git LFS may have, by its specification."""


@dataclass(frozen=True, slots=True)
class Found:
    """What patterns match: `files` by their paths relative to the folder that was searched, sorted.

    `unmatched` are the patterns that match nothing. Of `places`, files and folders, there or not, one would
    have another size or time if another search could find something else.
    """

    files: tuple[tuple[str, Path], ...]
    places: tuple[Path, ...]
    unmatched: tuple[str, ...]


def search(root: Path, patterns: Sequence[str]) -> Found:
    """The model files that patterns match: `*` within a folder, `**` over folders, hidden ones left out.

    `patterns` are relative to `root`, with `/`. `ConfigError` for a file whose name a lock cannot hold.
    """
    files: dict[str, Path] = {}
    places: set[Path] = set()
    unmatched = []
    for pattern in patterns:
        names = _glob(root, pattern)
        if not names:
            unmatched.append(pattern)
        for name in names:
            files[_checked(name)] = root / name
        places.update(_searched(root, pattern))
    places.update(files.values())
    return Found(tuple(sorted(files.items())), tuple(sorted(places)), tuple(unmatched))


def matches(path: str, patterns: Sequence[str]) -> bool:
    """Whether a search with these patterns would find a file of this path, if it were there."""
    return any(path == pattern or _matches(path, pattern) for pattern in patterns)


def read(path: Path) -> Model:
    """Read a model file. `UsageError` if it is not there, `ModelError` with its name if it cannot be read."""
    try:
        with path.open("rb") as file:
            try:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError as error:
                raise ModelError("byte 0: the file is empty") from error
            # Whoever failed may still hold a view of the map: it is closed when nobody does.
            with memoryview(mapped) as data:
                return program.read(data, file)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise UsageError(f"there is no model `{path}`") from error
    except ModelError as error:
        raise ModelError(
            f"`{path}` cannot be read as a model: {error.message}", data=error.data, hint=error.hint
        ) from None


def sha256_of(path: Path) -> str:
    """The digest of a model: for a pointer of Git LFS that of the file it stands for."""
    return pointed_to(path) or digest.of_file(path)


def pointed_to(path: Path) -> str | None:
    """The digest in a pointer of Git LFS, None for any other file.

    Source: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
    """
    with path.open("rb") as file:
        found = _POINTER.match(file.read(_LONGEST_POINTER))
    return found[1].decode() if found else None


def _glob(root: Path, pattern: str) -> list[str]:
    if not modelpaths.MAGIC & set(pattern):
        return [pattern] if (root / pattern).is_file() else []
    return [name for name in _wild(root, pattern) if (root / name).is_file()]


def _matches(path: str, pattern: str) -> bool:
    from wcmatch import glob

    return glob.globmatch(path, pattern, flags=glob.GLOBSTAR | glob.CASE, exclude=_not_searched(pattern))


def _wild(root: Path, pattern: str) -> list[str]:
    # Imported where there is a pattern to search for: it takes 25 ms.
    from wcmatch import glob

    flags, exclude = glob.GLOBSTAR | glob.CASE, _not_searched(pattern)
    return glob.glob(pattern, flags=flags, root_dir=root, exclude=exclude, limit=0)


def _not_searched(pattern: str) -> str | None:
    """The models of installed packages are those packages' own, unless a pattern names their folder."""
    return None if "node_modules" in pattern else "**/node_modules/**"


def _searched(root: Path, pattern: str) -> list[Path]:
    """Where something else might match: the folders that were looked through, or the file that was named."""
    if not modelpaths.MAGIC & set(pattern):
        return [root / pattern]
    parts = pattern.split("/")
    found: list[Path] = []
    for number, part in enumerate(parts):
        if not modelpaths.MAGIC & set(part):
            continue
        above = "/".join(parts[:number])
        found += [root / above] if not modelpaths.MAGIC & set(above) else _folders(root, above)
        if part == "**":
            found += _folders(root, "/".join(parts[: number + 1]))
    return found


def _folders(root: Path, pattern: str) -> list[Path]:
    return [root / name for name in _wild(root, f"{pattern}/")]


def _checked(name: str) -> str:
    """The name as a lock has it, the same on every system."""
    path = unicodedata.normalize("NFC", posixpath.normpath(name.replace(os.sep, "/")))
    problem = modelpaths.problem(path)
    if problem:
        raise ConfigError(f"a lock cannot name the model `{path}`: {problem}", hint="rename the file")
    return path
