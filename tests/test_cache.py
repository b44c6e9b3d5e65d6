"""The cache: complete under its final name, correct when two do the same work, careful in its care."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from etfetch.cache import ABANDONED_AFTER, Cache
from etfetch.digest import of_bytes
from etfetch.plan import TreeFile

DATA = b"an archive"
DIGEST = of_bytes(DATA)
KEY = "ab" * 32
INDEX = (TreeFile("lib/x", 3, 0o644, of_bytes(b"one")),)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def _keep(cache: Cache) -> None:
    with cache.partial_file() as path:
        path.write_bytes(DATA)
        cache.keep_blob(path, DIGEST)


def _fill(folders: list[Path]) -> list[tuple[TreeFile, ...]]:
    for folder in folders:
        (folder / "lib").mkdir()
        (folder / "lib/x").write_bytes(b"one")
    return [INDEX for _ in folders]


def test_looking_leaves_no_trace(cache: Cache) -> None:
    assert not cache.has_blob(DIGEST)
    assert cache.tree(KEY) is None
    assert cache.verify() == []
    assert cache.prune().entries == 0
    assert not cache.root.exists()


def test_a_blob(cache: Cache) -> None:
    _keep(cache)
    assert cache.has_blob(DIGEST)
    assert cache.has_blob(DIGEST, len(DATA))
    assert cache.blob(DIGEST).read_bytes() == DATA
    assert cache.blob_is_sound(DIGEST)
    assert cache.usage()["partial"].entries == 0


def test_a_blob_of_a_wrong_size_is_set_aside(cache: Cache) -> None:
    _keep(cache)
    cache.blob(DIGEST).write_bytes(b"short")
    assert not cache.has_blob(DIGEST, len(DATA))
    assert not cache.has_blob(DIGEST)
    assert cache.usage()["damaged"].entries == 1


def test_a_failed_download_leaves_nothing(cache: Cache) -> None:
    def fail() -> None:
        with cache.partial_file() as path:
            path.write_bytes(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert cache.usage()["partial"].entries == 0


def test_a_tree(cache: Cache) -> None:
    cache.add_trees([KEY], _fill)
    assert cache.tree(KEY) == INDEX
    assert (cache.tree_files(KEY) / "lib/x").read_bytes() == b"one"
    assert cache.verify() == []


def test_the_second_of_two_writers_finds_the_firsts(cache: Cache) -> None:
    cache.add_trees([KEY], _fill)
    cache.add_trees([KEY], _fill)
    assert cache.tree(KEY) == INDEX
    assert cache.usage()["partial"].entries == 0


def test_a_failed_tree_leaves_nothing(cache: Cache) -> None:
    def fail(folders: list[Path]) -> list[tuple[TreeFile, ...]]:
        _fill(folders)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        cache.add_trees([KEY], fail)
    assert cache.tree(KEY) is None
    assert cache.usage()["partial"].entries == 0


@pytest.mark.parametrize("damage", ["gone", "short", "index"])
def test_a_tree_that_is_not_whole_is_not_used(cache: Cache, damage: str) -> None:
    cache.add_trees([KEY], _fill)
    file = cache.tree_files(KEY) / "lib/x"
    if damage == "gone":
        file.unlink()
    elif damage == "short":
        file.write_bytes(b"")
    else:
        (cache.tree_files(KEY).parent / "index.json").write_text("[{}]")
    assert cache.tree(KEY) is None
    cache.add_trees([KEY], _fill)
    assert cache.tree(KEY) == INDEX


def test_verify_sets_aside_what_is_wrong(cache: Cache) -> None:
    _keep(cache)
    cache.add_trees([KEY], _fill)
    (cache.tree_files(KEY) / "lib/x").write_bytes(b"two")
    cache.blob(DIGEST).write_bytes(b"x" * len(DATA))
    assert cache.verify() == [
        f"v1/blobs/sha256/{DIGEST[:2]}/{DIGEST}",
        f"v1/trees/sha256/{KEY[:2]}/{KEY}",
    ]
    assert cache.verify() == []


def test_prune_spares_what_a_running_install_may_use(cache: Cache) -> None:
    _keep(cache)
    cache.add_trees([KEY], _fill)
    with cache.partial_file() as path:
        path.write_bytes(b"half")
        assert cache.prune().entries == 0
        old = time.time() - ABANDONED_AFTER - 10
        for entry in (path, cache.tree_files(KEY).parent):
            os.utime(entry, (old, old))
        assert cache.prune().entries == 2
    assert cache.has_blob(DIGEST)
    assert cache.tree(KEY) is None


def test_prune_never_follows_links(cache: Cache, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    cache.add_trees([KEY], _fill)
    link = cache.tree_files(KEY).parent.parent / ("cd" * 32)
    link.symlink_to(outside)
    os.utime(link, (1, 1), follow_symlinks=False)
    cache.prune()
    assert not link.is_symlink()
    assert (outside / "file").read_text() == "mine"


def test_clean(cache: Cache) -> None:
    _keep(cache)
    cache.add_trees([KEY], _fill)
    removed = cache.clean()
    assert removed.entries == 2
    assert cache.usage()["blobs"].entries == 0
