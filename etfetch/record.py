"""`<destination>/.etfetch/installed.json`: every file etfetch owns in one destination.

The record is written last, so it is the commit marker of an install; what it does not list, etfetch
never touches. It is local: it is not committed and not portable. One file stands on a line, in order,
to be readable.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from etfetch import manifest, paths
from etfetch.errors import TreeError
from etfetch.tables import Table

FOLDER = ".etfetch"
NAME = "installed.json"
VERSION = 1


@dataclass(frozen=True, slots=True)
class RecordedArtifact:
    """An archive that files came from; `size` in bytes, None where the lock does not know it."""

    name: str
    sha256: str
    size: int | None


@dataclass(frozen=True, slots=True)
class RecordedPart:
    """A part that is installed: the digest of its tree, where it went and what it is."""

    tree: str
    to: str
    component: str
    artifact: str
    platforms: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str]:
        """What makes two parts the same files in the same place."""
        return (self.tree, self.to)


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file (or, with `link`, a symlink) below the destination.

    `size` in bytes, `mtime` in nanoseconds since 1970 (0 for a symlink), `parts` are
    indices into `Record.parts`: two parts may hold the same file.
    """

    path: str
    size: int
    mode: int
    mtime: int
    sha256: str
    parts: tuple[int, ...]
    link: str = ""


@dataclass(frozen=True, slots=True)
class RecordedOutput:
    """A build file that was generated, below the project's folder."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Watch:
    """What decides an install beside the project's own files: for a library, and where there are models.

    `lock` is where its lock stands, relative to the library's folder: package managers copy a library with
    all it holds to other apps, and there it is not this lock. `choices` are where the app's choices stand,
    if there are any. What was looked at for them is in `files` and `folders`, there or not, and in the
    environment's `variables`. `times` are the models and the folders they were searched in, known by size and
    time. These paths are absolute.
    """

    lock: str
    choices: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    times: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """What is installed. `lock`, `request` and `inputs` are digests (see `uptodate`).

    `watch` is there for libraries and models, `outputs` are the generated files.
    """

    lock: str = ""
    request: str = ""
    inputs: str = ""
    release: str = ""
    artifacts: tuple[RecordedArtifact, ...] = ()
    parts: tuple[RecordedPart, ...] = ()
    files: tuple[RecordedFile, ...] = field(default=())
    outputs: tuple[RecordedOutput, ...] = ()
    watch: Watch | None = None


def render(record: Record) -> str:
    """The record's JSON text."""
    head = json.dumps(
        {
            "version": VERSION,
            "lock": record.lock,
            "request": record.request,
            "inputs": record.inputs,
            "release": record.release,
            **({"watch": asdict(record.watch)} if record.watch else {}),
        }
    )[:-1]
    return (
        f'{head},\n"artifacts": {_array(record.artifacts)},\n"parts": {_array(record.parts)},\n'
        f'"outputs": {_array(record.outputs)},\n"files": {_array(record.files)}}}\n'
    )


def parse(text: str, file: str) -> Record:
    """Read a record; `TreeError` when it is damaged or of another version."""
    try:
        values = json.loads(text)
    except ValueError as error:
        raise _damaged(f"{file}: {error}") from error
    if not isinstance(values, dict) or values.get("version") != VERSION:
        raise _damaged(f"{file}: not a record of version {VERSION}")
    table = Table(values, file, _damaged)
    table.integer("version")
    record = Record(
        lock=table.string("lock"),
        request=table.string("request"),
        inputs=table.string("inputs"),
        release=table.string("release"),
        artifacts=tuple(_artifact(entry) for entry in table.tables("artifacts")),
        parts=tuple(_part(entry) for entry in table.tables("parts")),
        files=tuple(_file(entry) for entry in table.tables("files")),
        outputs=tuple(_output(entry) for entry in table.tables("outputs")),
        watch=_watch(table.table("watch")) if table.has("watch") else None,
    )
    table.done()
    for file_entry in record.files:
        if any(index >= len(record.parts) for index in file_entry.parts):
            raise _damaged(f"{file}: `{file_entry.path}` belongs to a part that is not there")
    return record


def _array(entries: tuple[Any, ...]) -> str:
    lines = ",\n".join(json.dumps(asdict(entry), ensure_ascii=False) for entry in entries)
    return f"[\n{lines}\n]" if lines else "[]"


def _damaged(message: str) -> TreeError:
    return TreeError(
        f"the record of installed files is damaged: {message}",
        hint="delete it and run `etfetch install`; files that are as etfetch left them are adopted",
    )


def _artifact(table: Table) -> RecordedArtifact:
    entry = RecordedArtifact(
        table.string("name"), manifest.sha256(table, "sha256"), table.optional_integer("size")
    )
    table.done()
    return entry


def _output(table: Table) -> RecordedOutput:
    entry = RecordedOutput(_safe_path(table), manifest.sha256(table, "sha256"))
    table.done()
    return entry


def _watch(table: Table) -> Watch:
    found = Watch(
        lock=table.string("lock"),
        choices=table.strings("choices"),
        files=table.strings("files"),
        folders=table.strings("folders"),
        variables=table.strings("variables"),
        times=table.strings("times"),
    )
    table.done()
    return found


def _part(table: Table) -> RecordedPart:
    entry = RecordedPart(
        tree=manifest.sha256(table, "tree"),
        to=table.string("to"),
        component=table.string("component"),
        artifact=table.string("artifact"),
        platforms=table.strings("platforms"),
    )
    table.done()
    return entry


def _safe_path(table: Table) -> str:
    path = table.string("path")
    reason = paths.unsafe_reason(path)
    if reason:
        raise table.fail("path", f"`{path}`: {reason}")
    return path


def _file(table: Table) -> RecordedFile:
    entry = RecordedFile(
        path=_safe_path(table),
        size=table.integer("size"),
        mode=table.integer("mode"),
        mtime=table.integer("mtime"),
        sha256=table.string("sha256"),
        parts=table.integers("parts"),
        link=table.string("link"),
    )
    table.done()
    return entry
