"""The short cut of an install with nothing to do.

Most installs change nothing: every `npm install`, every configure step runs one. This module answers
them from a few small files and one `lstat` a file, importing nothing but `json` and `hashlib`: no
argparse, no dataclasses, no packaging, no httpx, no rich.

`inputs` is a digest over everything that decides what a plain `etfetch install` ends in: etfetch's
version, the host, the environment that matters, every file that may hold the request, and the lock. An
install that ends well writes it into the record; the same inputs over untouched files have nothing to do.
It is a short cut only: whenever it is unsure it says no, and the whole path decides.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Mapping, Sequence

RECORD_VERSION = 1
PROJECT_FILES = ("etfetch.toml", "pyproject.toml", "package.json")
LOCK = "etfetch.lock"
RECORD = os.path.join(".etfetch", "installed.json")
JOURNAL = os.path.join(".etfetch", "journal.json")

_NEUTRAL_FLAGS = frozenset({"--locked", "--frozen", "--offline", "-q", "--quiet"})
"""Flags that change how an install goes, never what it ends in."""

_DECISIVE_VARIABLES = ("ETFETCH_PLATFORMS", "ETFETCH_EXCLUDE_PLATFORMS", "ETFETCH_HEADERS_ONLY")
_LIBRARY = b"consumer-key"
"""The word by which a library's project file is known; what it means is the whole path's to say."""


def inputs_digest(
    start: str,
    environment: Mapping[str, str],
    version: str,
    lock: bytes,
    watch: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """The digest of all that decides an install begun in the folder `start`.

    `watch` is what an install depends on beside the project's own files, as its record says it.
    """
    watch = watch or {"files": (), "folders": (), "variables": (), "times": ()}
    variables = [environment.get(name, "") for name in (*_DECISIVE_VARIABLES, *watch["variables"])]
    head = json.dumps([version, sys.platform, _machine(environment), variables])
    hasher = hashlib.sha256(head.encode("utf-8", "surrogateescape"))
    pieces = [lock]
    for path, content in possible_project_files(start):
        pieces += [os.fsencode(path), content]
    for path in watch["files"]:
        seen = _read(path)
        pieces += [os.fsencode(path), b"absent" if seen is None else b"there:" + seen]
    for folder in watch["folders"]:
        pieces += [os.fsencode(folder), os.fsencode("/".join(_names_in(folder)))]
    for path in watch["times"]:
        pieces += [os.fsencode(path), _size_and_time(path)]
    for piece in pieces:
        hasher.update(b"%d:" % len(piece))
        hasher.update(piece)
    return hasher.hexdigest()


def possible_project_files(start: str) -> list[tuple[str, bytes]]:
    """Every file from `start` upwards that may hold a request, nearest first, with its bytes.

    The mere word decides, not whether there is a request inside: one file too many costs
    nothing, one too few would hide a change.
    """
    found = []
    folder = os.path.abspath(start)
    while True:
        for name in PROJECT_FILES:
            path = os.path.join(folder, name)
            content = _read(path)
            if content is not None and (name == PROJECT_FILES[0] or b"etfetch" in content):
                found.append((path, content))
        parent = os.path.dirname(folder)
        if parent == folder:
            return found
        folder = parent


def _untouched(destination: str, files: Sequence[Mapping[str, object]]) -> bool:
    """Whether every recorded file stands there with its recorded size and time."""
    for entry in files:
        try:
            found = os.lstat(f"{destination}/{entry['path']}")
        except OSError:
            return False
        if stat.S_ISLNK(found.st_mode):
            if not entry["link"]:
                return False
        elif found.st_size != entry["size"] or found.st_mtime_ns != entry["mtime"]:
            return False
    return True


def _outputs_untouched(project: str, outputs: Sequence[Mapping[str, str]]) -> bool:
    """Whether every generated file says what it was made to say."""
    for entry in outputs:
        content = _read(os.path.join(project, entry["path"]))
        if content is None or hashlib.sha256(content).hexdigest() != entry["sha256"]:
            return False
    return True


def summary(arguments: Sequence[str], environment: Mapping[str, str], version: str) -> str | None:
    """The sentence for an install that has nothing to do, or None if that is not certain."""
    if not _is_plain_install(arguments, environment):
        return None
    start = os.getcwd()
    project = _folder_of_project(start)
    if project is None:
        return None
    destination = os.path.join(project, _destination(project))
    text = _read(os.path.join(destination, RECORD))
    if text is None or os.path.lexists(os.path.join(destination, JOURNAL)):
        return None
    try:
        record = json.loads(text)
        if record["version"] != RECORD_VERSION or not record["inputs"]:
            return None
        watch = record.get("watch")
        lock = _read(os.path.join(project, watch["lock"] if watch else LOCK))
        if lock is None or record["inputs"] != inputs_digest(start, environment, version, lock, watch):
            return None
        if not (_outputs_untouched(project, record["outputs"]) and _untouched(destination, record["files"])):
            return None
        choices = watch["choices"] if watch else ()
        return nothing_to_do(record["release"], destination, len(record["files"]), choices)
    except (ValueError, KeyError, TypeError):
        return None


def nothing_to_do(release: str, destination: str, files: int, choices: Sequence[str] = ()) -> str:
    """What an install says that changed nothing; `choices` are the files that decide for a library."""
    if not files:
        return f"nothing to do: {release} is locked, and nothing of it is for this host"
    shown = os.path.relpath(destination)
    said = "".join(f", as `{os.path.relpath(path)}` says" for path in choices[:1])
    return f"nothing to do: {release} is installed in `{shown}` ({files} files){said}"


def _machine(environment: Mapping[str, str]) -> str:
    # `platform.machine()` says the same, for the price of loading `platform` and `subprocess`.
    uname = getattr(os, "uname", None)
    return str(uname().machine) if uname else environment.get("PROCESSOR_ARCHITECTURE", "")


def _is_plain_install(arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Only an install without words, but for neutral flags: all others take the whole path."""
    if not arguments or arguments[0] != "install":
        return False
    if not all(word in _NEUTRAL_FLAGS for word in arguments[1:]):
        return False
    return not environment.get("ETFETCH_SKIP_DOWNLOAD")


def _folder_of_project(start: str) -> str | None:
    """The nearest folder with a lock, or with the project file of a library, whose lock stands elsewhere."""
    folder = os.path.abspath(start)
    while not (os.path.isfile(os.path.join(folder, LOCK)) or _is_library(folder)):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def _is_library(folder: str) -> bool:
    return any(_LIBRARY in (_read(os.path.join(folder, name)) or b"") for name in PROJECT_FILES)


def _names_in(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _size_and_time(path: str) -> bytes:
    """By what a model, or a folder of models, is known: a gigabyte is not read to see that it stayed."""
    try:
        found = os.stat(path)
    except OSError:
        return b"absent"
    return b"%d:%d" % (found.st_size, found.st_mtime_ns)


def _destination(project: str) -> str:
    """The destination, if it is the default or stands plainly in an `etfetch.toml`; a guess is enough.

    A wrong guess finds no record, or one whose inputs differ.
    """
    content = _read(os.path.join(project, PROJECT_FILES[0])) or b""
    for line in content.decode("utf-8", "replace").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "destination":
            return value.partition("#")[0].strip().strip("\"'")
    return "third-party"


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return None
