"""The cache: complete under its final name, correct when two do the same work, careful in its care."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

import pytest

from etfetch import arguments
from etfetch.cache import ABANDONED_AFTER, Cache
from etfetch.digest import of_bytes
from etfetch.plan import TreeFile
from tests.world import REQUEST, World

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


# Care


def _age(path: Path, days: float) -> None:
    then = time.time() - days * 86_400
    os.utime(path, (then, then), follow_symlinks=False)


def _entries(world: World) -> tuple[int, int]:
    usage = world.ok("cache", "info", "--json").json
    return usage["blobs"]["entries"], usage["trees"]["entries"]


@pytest.fixture
def filled(world: World) -> World:
    """A project whose cache also holds another release's archives and trees."""
    world.write(REQUEST.replace("1.0.0", "1.1.0"))
    world.ok("install")
    world.write(REQUEST)
    world.ok("install")
    assert _entries(world) == (5, 5)
    return world


def test_keeping_what_a_lock_needs(filled: World) -> None:
    (filled.project / "other.lock").write_bytes(filled.lock.read_bytes())
    filled.ok("cache", "prune", "--keep-lock", "other.lock")
    assert _entries(filled) == (3, 3)
    shutil.rmtree(filled.destination)
    filled.ok("install", "--offline")


def test_keeping_for_two_locks(filled: World) -> None:
    first = filled.lock.read_bytes()
    (filled.root / "first.lock").write_bytes(first)
    filled.write(REQUEST.replace("1.0.0", "1.1.0"))
    filled.ok("lock")
    filled.ok("cache", "prune", "--keep-lock", "../first.lock", "--keep-lock", "etfetch.lock")
    assert _entries(filled) == (5, 5)


def test_for_ci_only_the_archives_of_the_lock_stay(filled: World) -> None:
    ran = filled.ok("cache", "prune", "--ci")
    assert ran.err.startswith("removed 7 entries, ")
    assert _entries(filled) == (3, 0)
    shutil.rmtree(filled.destination)
    filled.ok("install", "--offline")


def test_for_ci_a_tree_without_its_archive_stays(filled: World) -> None:
    shutil.rmtree(filled.cache / "v1/blobs")
    filled.ok("cache", "prune", "--ci")
    assert _entries(filled) == (0, 3)
    shutil.rmtree(filled.destination)
    filled.ok("install", "--offline")


def test_what_was_not_used_for_long(filled: World) -> None:
    entries = [
        *(filled.cache / "v1/blobs/sha256").glob("*/*"),
        *(filled.cache / "v1/trees/sha256").glob("*/*"),
    ]
    for path in entries:
        _age(path, 40)
    shutil.rmtree(filled.destination)
    filled.ok("install", "--offline")
    filled.ok("cache", "prune", "--older-than", "30d")
    assert _entries(filled) == (3, 3)
    for path in entries:
        if path.exists():
            _age(path, 40)
    filled.ok("cache", "prune", "--older-than", "30d", "--keep-lock", "etfetch.lock")
    assert _entries(filled) == (3, 3)
    filled.ok("cache", "prune", "--older-than", "6w")
    assert _entries(filled) == (3, 3)
    filled.ok("cache", "prune", "--older-than", "1w")
    assert _entries(filled) == (0, 0)


def test_until_a_size_is_left(filled: World) -> None:
    usage = filled.ok("cache", "info", "--json").json
    total = usage["blobs"]["bytes"] + usage["trees"]["bytes"]
    filled.ok("cache", "prune", "--max-size", "1GB")
    assert _entries(filled) == (5, 5)
    oldest = next((filled.cache / "v1/trees/sha256").glob("*/*"))
    _age(oldest, 3)
    filled.ok("cache", "prune", "--max-size", f"{total - 1}B")
    assert _entries(filled) == (5, 4)
    assert not oldest.exists()
    filled.ok("cache", "prune", "--max-size", "0", "--keep-lock", "etfetch.lock")
    assert sum(_entries(filled)) in {5, 6}
    filled.ok("cache", "prune", "--max-size", "0")
    assert _entries(filled) == (0, 0)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--max-size", "5 apples"], "`5 apples` is not a size: write `5GB` or `512MiB`"),
        (["--max-size", "-1"], "`-1` is not a size"),
        (["--older-than", "30"], "`30` is not an age: write `30d`, `12h` or `2w`"),
        (["--keep-lock", "no.lock"], "there is no lock `no.lock`"),
    ],
)
def test_limits_that_make_no_sense(world: World, words: list[str], told: str) -> None:
    ran = world.run("cache", "prune", *words)
    assert ran.code == 2
    assert told in ran.err


@pytest.mark.parametrize(
    ("text", "count"),
    [("0", 0), ("5GB", 5 * 10**9), ("1.5k", 1500), ("2MiB", 2 << 20), ("7", 7), ("3 TB", 3 * 10**12)],
)
def test_sizes(text: str, count: int) -> None:
    assert arguments._bytes(text) == count


def test_ci_without_a_lock(world: World) -> None:
    assert world.run("cache", "prune", "--ci").code == 3


@pytest.mark.parametrize(
    "name", ["blobs", "blobs/sha256", "blobs/sha256/ab", "trees/sha256/cd", "partial", "damaged"]
)
def test_no_command_follows_a_link(world: World, name: str) -> None:
    outside = world.root / "outside"
    (outside / "ab").mkdir(parents=True)
    precious = [outside / "x", outside / "ab" / ("ab" * 32)]
    for path in precious:
        path.write_text("precious")
        _age(path, 100)
    link = world.cache / "v1" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    for words in (
        ["prune"],
        ["prune", "--older-than", "1d"],
        ["prune", "--max-size", "0"],
        ["verify"],
        ["clean"],
    ):
        world.run("cache", *words)
    assert [path.read_text() for path in precious] == ["precious", "precious"]


def test_an_entry_that_is_a_link_goes_alone(world: World) -> None:
    outside = world.root / "outside"
    outside.mkdir()
    (outside / "x").write_text("precious")
    for kind in ("blobs", "trees"):
        entry = world.cache / f"v1/{kind}/sha256/ab" / ("ab" * 32)
        entry.parent.mkdir(parents=True)
        entry.symlink_to(outside)
    world.ok("cache", "prune", "--max-size", "0")
    assert (outside / "x").read_text() == "precious"


def test_pruning_beside_installs(world: World) -> None:
    """Installs and the hardest pruning at once: every install ends well."""
    world.write()
    world.ok("lock")
    pruning = [world.spawn("cache", "prune", "--max-size", "0") for _ in range(3)]
    installs = []
    for number in range(4):
        project = world.root / f"p{number}"
        shutil.copytree(world.project, project)
        installs.append(world.spawn("install", "--project", str(project)))
        pruning.append(world.spawn("cache", "prune", "--max-size", "0"))
    for process in (*installs, *pruning):
        out, err = process.communicate()
        assert process.returncode == 0, out + err
    for number in range(4):
        world.ok("verify", "--deep", "--project", str(world.root / f"p{number}"))


def test_a_key_for_ci(world: World) -> None:
    assert world.run("cache", "key").code == 3
    world.write()
    world.ok("lock")
    first = world.ok("cache", "key").out
    assert re.fullmatch(r"etfetch-v1-[0-9a-f]{32}\n", first)
    world.write(REQUEST.replace("# what we need", "# changed"))
    assert world.ok("cache", "key").out == first
    world.write(REQUEST.replace("1.0.0", "1.1.0"))
    world.ok("lock")
    assert world.ok("cache", "key").out != first


def test_digests_that_servers_gave(cache: Cache) -> None:
    source = "https://example.com/a.tar.gz"
    assert cache.remembered_digest(source) is None
    cache.remember_digest(source, "0" * 64)
    cache.remember_digest(source, "1" * 64)
    assert cache.remembered_digest(source) == "1" * 64
    assert cache.remembered_digest(source + "x") is None
    [file] = (cache.root / "v1/sidecars").iterdir()
    file.write_text("not a digest")
    assert cache.remembered_digest(source) is None
    cache.clean()
    assert not file.exists()
