"""The record's round trip, and what it refuses."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etfetch import installer, lockfile, uptodate
from etfetch import record as records
from etfetch.errors import TreeError
from etfetch.record import (
    Record,
    RecordedArtifact,
    RecordedFile,
    RecordedOutput,
    RecordedPart,
    Watch,
    parse,
    render,
)
from tests.strategies import DIGESTS, NAMES, PATHS, TEXTS

PARTS = st.builds(RecordedPart, DIGESTS, st.one_of(st.just(""), PATHS), NAMES, NAMES, st.just(("ios", "any")))
FILES = st.builds(
    RecordedFile,
    path=PATHS,
    size=st.integers(0, 1 << 50),
    mode=st.sampled_from([0o644, 0o755, 0]),
    mtime=st.integers(0, 1 << 62),
    sha256=DIGESTS,
    parts=st.just((0,)),
    link=st.one_of(st.just(""), PATHS),
)
LISTS = st.lists(TEXTS, max_size=2).map(tuple)
RECORDS = st.builds(
    Record,
    lock=DIGESTS,
    request=DIGESTS,
    inputs=DIGESTS,
    release=NAMES,
    artifacts=st.lists(st.builds(RecordedArtifact, NAMES, DIGESTS, st.just(3)), max_size=2).map(tuple),
    parts=st.lists(PARTS, min_size=1, max_size=2).map(tuple),
    files=st.lists(FILES, max_size=3).map(tuple),
    outputs=st.lists(st.builds(RecordedOutput, PATHS, DIGESTS), max_size=2).map(tuple),
    watch=st.one_of(st.none(), st.builds(Watch, TEXTS, LISTS, LISTS, LISTS, LISTS)),
)


@settings(deadline=None)
@given(RECORDS)
def test_round_trip(record: Record) -> None:
    assert parse(render(record), "x") == record


@settings(deadline=None)
@given(RECORDS)
def test_a_file_a_line(record: Record) -> None:
    lines = render(record).splitlines()
    assert sum(line.startswith('{"path"') for line in lines) == len(record.files) + len(record.outputs)


def test_the_short_cut_reads_the_same_version() -> None:
    assert uptodate.RECORD_VERSION == records.VERSION
    assert f"{records.FOLDER}/{records.NAME}" == uptodate.RECORD.replace("\\", "/")
    assert f"{records.FOLDER}/{installer.JOURNAL}" == uptodate.JOURNAL.replace("\\", "/")
    assert uptodate.LOCK == lockfile.NAME


FILE = {"path": "a", "size": 1, "mode": 420, "mtime": 1, "sha256": "0" * 64, "parts": [], "link": ""}


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"files": [{**FILE, "path": "../x"}]},
        {"files": [{**FILE, "parts": [7]}]},
        {"files": [{**FILE, "parts": [True]}]},
        {"files": [{**FILE, "size": "1"}]},
        {"files": [{**FILE, "more": 1}]},
        {"parts": [{"tree": "x", "to": "", "component": "c", "artifact": "a", "platforms": []}]},
        {"outputs": [{"path": "../x", "sha256": "0" * 64}]},
        {"watch": {"lock": "x", "more": []}},
        {"more": 1},
        {"lock": None},
    ],
)
def test_what_is_refused(change: dict[str, object]) -> None:
    values = {**json.loads(render(Record())), **change}
    with pytest.raises(TreeError) as caught:
        parse(json.dumps(values), "installed.json")
    assert caught.value.message.startswith("the record of installed files is damaged: installed.json")
