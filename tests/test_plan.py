"""The laws of plans, over random locks, trees and records."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etfetch.errors import ArchiveError, ResolutionError
from etfetch.lockfile import Lock, LockedArtifact, tree_key
from etfetch.manifest import Part
from etfetch.plan import FilePlan, Plan, TreeFile, plan_files, plan_parts
from etfetch.record import Record, RecordedFile
from etfetch.request import Request
from tests.strategies import LOCKS, NAMES

REQUEST = Request("demo", "", ("ios",))
Trees = dict[str, tuple[TreeFile, ...]]


def _trees(lock: Lock) -> Trees:
    """One file a part, at a path of its own, with bytes that follow from the tree's key."""
    trees: Trees = {}
    for artifact in lock.artifacts:
        for part in artifact.parts:
            key = tree_key(artifact.sha256, part)
            trees[key] = (TreeFile(f"f-{key}", 1, 0o644, key, ""),)
    return trees


def _applied(files: FilePlan) -> Record:
    """The record that an install of these plans writes."""
    written = [RecordedFile(t.path, t.size, t.mode, 7, t.sha256, t.parts, t.link) for t in files.write]
    everything = sorted([*files.keep, *written], key=lambda file: file.path)
    return Record(parts=files.parts, files=tuple(everything))


def _install(lock: Lock, record: Record) -> tuple[Plan, FilePlan, Record]:
    plan = plan_parts(lock, record, blobs=set(), trees=set())
    files = plan_files(plan, record, _trees(lock))
    return plan, files, _applied(files)


@settings(max_examples=100, deadline=None)
@given(LOCKS)
def test_what_is_installed_needs_nothing(lock: Lock) -> None:
    _, _, record = _install(lock, Record())
    again = plan_parts(lock, record, blobs=set(), trees=set())
    assert again.nothing
    assert not again.fetch
    files = plan_files(again, record, {})
    assert (files.write, files.remove) == ((), ())
    assert files.keep == record.files
    assert files.parts == record.parts


@settings(max_examples=100, deadline=None)
@given(LOCKS, LOCKS)
def test_from_one_lock_to_another(one: Lock, two: Lock) -> None:
    _, _, before = _install(one, Record())
    plan, files, after = _install(two, before)
    owned = {file.path for file in before.files}
    assert {file.path for file in files.remove} <= owned
    assert {file.path for file in files.keep} <= owned
    assert not {t.path for t in files.write} & {f.path for f in files.remove}
    wanted = {(tree_key(a.sha256, p), p.to) for a in two.artifacts for p in a.parts}
    assert {(p.tree, p.part.to) for p in plan.keep} <= wanted
    assert {(p.tree, p.to) for p in after.parts} == wanted
    assert plan_parts(two, after, blobs=set(), trees=set()).nothing


@settings(max_examples=100, deadline=None)
@given(LOCKS, st.data())
def test_fetch_and_reuse_are_disjoint(lock: Lock, data: st.DataObject) -> None:
    digests = [artifact.sha256 for artifact in lock.artifacts]
    blobs = set(data.draw(st.lists(st.sampled_from(digests)))) if digests else set()
    keys = sorted(_trees(lock))
    trees = set(data.draw(st.lists(st.sampled_from(keys)))) if keys else set()
    plan = plan_parts(lock, Record(), blobs=blobs, trees=trees)
    fetched, reused = {a.sha256 for a in plan.fetch}, {a.sha256 for a in plan.reuse}
    assert not fetched & reused
    assert not fetched & blobs
    assert fetched | reused == set(digests)
    assert not plan.present


@settings(max_examples=50, deadline=None)
@given(LOCKS)
def test_a_damaged_file_brings_its_part_back(lock: Lock) -> None:
    _, _, record = _install(lock, Record())
    for file in record.files:
        plan = plan_parts(lock, record, blobs=set(), trees=set(), damaged={file.path})
        files = plan_files(plan, record, _trees(lock), {file.path})
        assert [target.path for target in files.write] == [file.path]
        assert not files.remove


def _part(component: str, to: str = "d", **fields: object) -> Part:
    return replace(Part(component, ("ios",), (f"{component}/**",), to=to), **fields)  # type: ignore[arg-type]


def _lock(*parts: Part) -> Lock:
    artifact = LockedArtifact("a.zip", "https://host/a.zip", "0" * 64, "zip", parts)
    return Lock(REQUEST, "1", (), (artifact,))


def _plan_with(lock: Lock, *contents: tuple[TreeFile, ...]) -> FilePlan:
    parts = lock.artifacts[0].parts
    trees = {tree_key("0" * 64, p): files for p, files in zip(parts, contents, strict=True)}
    plan = plan_parts(lock, Record(), blobs=set(), trees=set())
    return plan_files(plan, Record(), trees)


def _file(path: str, sha256: str = "1") -> TreeFile:
    return TreeFile(path, 1, 0o644, sha256)


def test_two_parts_with_one_path_and_different_bytes() -> None:
    lock = _lock(_part("one"), _part("two"))
    with pytest.raises(ResolutionError) as caught:
        _plan_with(lock, (_file("x", "1"),), (_file("x", "2"),))
    assert caught.value.code == 7
    assert caught.value.message == "two parts would write one path with different bytes"
    assert set(caught.value.data) == {"`d/x` of `one` in `a.zip`", "`d/x` of `two` in `a.zip`"}


def test_two_parts_whose_paths_fall_together() -> None:
    lock = _lock(_part("one"), _part("two"))
    with pytest.raises(ResolutionError) as caught:
        _plan_with(lock, (_file("x"),), (_file("X"),))
    assert len(caught.value.data) == 2


def test_a_file_where_another_part_has_a_folder() -> None:
    lock = _lock(_part("one"), _part("two"))
    with pytest.raises(ResolutionError):
        _plan_with(lock, (_file("x/y"),), (_file("x"),))


@pytest.mark.parametrize("path", [".etfetch/installed.json", ".ETFETCH/x"])
def test_no_archive_writes_etfetchs_own_files(path: str) -> None:
    with pytest.raises(ArchiveError, match="which is etfetch's own"):
        _plan_with(_lock(_part("one", to="")), (_file(path),))


def test_two_parts_may_share_a_file() -> None:
    both = _plan_with(_lock(_part("one"), _part("two")), (_file("x"),), (_file("x"),))
    assert [target.parts for target in both.write] == [(0, 1)]


def test_a_shared_file_stays_while_one_part_wants_it() -> None:
    lock = _lock(_part("one"), _part("two"))
    record = _applied(_plan_with(lock, (_file("x"),), (_file("x"),)))
    alone = _lock(_part("two"))
    plan = plan_parts(alone, record, blobs=set(), trees=set())
    files = plan_files(plan, record, {})
    assert [file.path for file in files.keep] == ["d/x"]
    assert files.keep[0].parts == (0,)
    assert not files.remove


def test_two_platforms_that_share_files_are_one_part() -> None:
    lock = _lock(_part("one", members=("m",)), _part("one", members=("m",), platforms=("ios-simulator",)))
    plan = plan_parts(lock, Record(), blobs=set(), trees=set())
    [planned] = plan.install
    assert planned.part.platforms == ("ios", "ios-simulator")


def test_a_changed_mode_is_a_changed_file() -> None:
    lock = _lock(_part("one"))
    record = _applied(_plan_with(lock, (_file("x"),)))
    other = _lock(_part("one", members=("other",)))
    tree = tree_key("0" * 64, other.artifacts[0].parts[0])
    plan = plan_parts(other, record, blobs=set(), trees=set())
    files = plan_files(plan, record, {tree: (TreeFile("x", 1, 0o755, "1"),)})
    assert [target.mode for target in files.write] == [0o755]


@settings(max_examples=30, deadline=None)
@given(NAMES)
def test_unchanged_bytes_of_a_new_archive_are_kept(name: str) -> None:
    record = _applied(_plan_with(_lock(_part("one")), (_file(name),)))
    newer = _lock(_part("one", members=("newer",)))
    tree = tree_key("0" * 64, newer.artifacts[0].parts[0])
    plan = plan_parts(newer, record, blobs=set(), trees=set())
    files = plan_files(plan, record, {tree: (_file(name),)})
    assert [file.mtime for file in files.keep] == [7]
    assert not files.write
