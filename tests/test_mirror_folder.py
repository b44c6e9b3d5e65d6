"""A mirror's folder: made by commands, checked by commands, and never left through a link."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from etfetch.digest import of_bytes
from etfetch.errors import FilesystemError
from etfetch.mirror_folder import MirrorFolder
from server_fixtures import release_tree
from server_fixtures.release_server import ReleaseServer, broken_after, status
from tests.world import World, snapshot

LINUX = "linux-x86_64"
RELEASE = "demo/1.0.0"
NEEDED = {"headers.tar.gz", "runtime-linux-x86_64.tar.gz", "backend_fast-linux-x86_64.tar.xz"}


@pytest.fixture
def locked(world: World) -> World:
    world.write()
    world.ok("lock")
    return world


def _archives(folder: Path) -> set[str]:
    return {
        path.name
        for path in folder.glob("*/*/*")
        if path.suffix not in {".sha256", ".toml"} and not path.name.startswith(".")
    }


def test_what_a_lock_needs(locked: World) -> None:
    ran = locked.ok("mirror", "create", "../mirror", "--lock")
    folder = locked.root / "mirror"
    assert "mirrored 1 release in `../mirror`: 3 archives added, 0 were there" in ran.err
    assert _archives(folder) == NEEDED
    for name in NEEDED:
        data = (folder / RELEASE / name).read_bytes()
        assert data == locked.archive(name).read_bytes()
        assert (folder / RELEASE / f"{name}.sha256").read_text() == f"{of_bytes(data)}  {name}\n"
    manifest = (folder / RELEASE / "manifest.toml").read_bytes()
    assert manifest == (locked.project / "manifests/demo/1.0.0.toml").read_bytes()
    index = json.loads((folder / "index.json").read_text())
    assert index["packages"] == {"demo": {"1.0.0": of_bytes(manifest)}}
    assert set(index["operators"]) == {"demo-plain", "demo-quick"}
    assert "backend_fast-linux-x86_64.tar.xz" in (folder / "index.html").read_text()
    assert locked.ok("mirror", "verify", "../mirror").err.startswith("1 release and 3 archives (")


def test_it_serves_what_it_was_made_for(locked: World) -> None:
    """Through a web server, with the origin blocked, and without a manifest of the project's own."""
    locked.ok("install")
    before = locked.files()
    locked.ok("mirror", "create", str(locked.root / "mirror"), "--lock")
    locked.ok("cache", "clean")
    shutil.rmtree(locked.destination)
    shutil.rmtree(locked.project / "manifests")
    locked.server.requests.clear()
    with ReleaseServer(locked.root / "mirror") as mirror:
        locked.setenv(ETFETCH_BASE_URL=mirror.url, ETFETCH_BLOCK_ORIGIN="1")
        locked.ok("install", "--locked")
        assert locked.files() == before
        locked.ok("lock", "--check")
    assert locked.server.requests == []


def test_whole_releases(world: World) -> None:
    ran = world.ok("mirror", "create", "../mirror", "demo<2", "--json")
    assert ran.json["releases"] == ["demo 1.1.0", "demo 1.0.0"]
    assert ran.json["present"] == 0
    assert len(_archives(world.root / "mirror")) == ran.json["placed"] / 2
    # A sidecar's digest was asked for, and stands there too.
    assert (world.root / "mirror/demo/1.1.0/backend_slow-linux-x86_64.tar.gz.sha256").is_file()
    world.ok("mirror", "verify", "../mirror")


def test_prereleases_only_when_named(world: World) -> None:
    assert world.ok("mirror", "create", "../a", "demo", "--json").json["releases"] == [
        "demo 1.1.0",
        "demo 1.0.0",
    ]
    assert world.ok("mirror", "create", "../b", "demo==2.0.0rc1", "--json").json["releases"] == [
        "demo 2.0.0rc1"
    ]


def test_only_some_platforms(world: World) -> None:
    world.ok("mirror", "create", "../mirror", "demo==1.0.0", "--platform", LINUX)
    found = _archives(world.root / "mirror")
    assert found >= NEEDED
    assert not any("aarch64" in name or "apple" in name or "android" in name for name in found)


def test_a_second_run_fetches_nothing_and_a_third_adds(world: World) -> None:
    world.ok("mirror", "create", "../mirror", "demo==1.0.0")
    first = snapshot(world.root / "mirror")
    world.server.requests.clear()
    world.ok("cache", "clean")
    ran = world.ok("mirror", "create", "../mirror", "demo==1.0.0", "--json")
    assert ran.json["placed"] == 0
    assert _fetched(world) == []
    assert snapshot(world.root / "mirror") == first
    world.ok("mirror", "create", "../mirror", "demo==1.1.0")
    index = json.loads((world.root / "mirror/index.json").read_text())
    assert set(index["packages"]["demo"]) == {"1.0.0", "1.1.0"}


def _fetched(world: World) -> list[str]:
    """The archives that were asked for; sidecars are small, and asked for each time."""
    return [path for path in world.server.requests if not path.endswith(".sha256")]


def test_a_broken_run_goes_on(locked: World) -> None:
    name = "runtime-linux-x86_64.tar.gz"
    locked.server.faults[name] = [broken_after(10), status(404)]
    assert locked.run("mirror", "create", "../mirror", "--lock", "--jobs", "1").code == 5
    # What the cache has by now was fetched, and is only not placed yet.
    cached = {path.name for path in (locked.cache / "v1/blobs").rglob("*") if path.is_file()}
    there = {name for name in NEEDED if of_bytes(locked.archive(name).read_bytes()) in cached}
    assert there >= _archives(locked.root / "mirror")
    assert name not in there
    assert not (locked.root / "mirror/index.json").exists()
    locked.server.requests.clear()
    locked.server.faults.clear()
    locked.ok("mirror", "create", "../mirror", "--lock")
    assert {path.rpartition("/")[2] for path in _fetched(locked)} == NEEDED - there
    locked.ok("mirror", "verify", "../mirror")


def test_what_is_damaged_is_replaced(locked: World) -> None:
    locked.ok("mirror", "create", "../mirror", "--lock")
    path = locked.root / "mirror" / RELEASE / "headers.tar.gz"
    good = path.read_bytes()
    path.write_bytes(bytes(len(good)))
    ran = locked.run("mirror", "verify", "../mirror")
    assert ran.code == 4
    assert f"{RELEASE}/headers.tar.gz: sha256 {of_bytes(bytes(len(good)))}, but its manifest says" in ran.err
    assert "hint: run `etfetch mirror create` again" in ran.err
    locked.ok("mirror", "create", "../mirror", "--lock")
    assert path.read_bytes() == good
    locked.ok("mirror", "verify", "../mirror")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("index.json", "{", "index.json: "),
        ("index.json", None, "index.json: No such file"),
        (f"{RELEASE}/manifest.toml", "x", f"{RELEASE}/manifest.toml: sha256 "),
        (f"{RELEASE}/manifest.toml", None, f"{RELEASE}/manifest.toml: missing"),
        ("operators/demo-plain.txt", "x", "operators/demo-plain.txt: sha256 "),
        (f"{RELEASE}/headers.tar.gz", None, f"{RELEASE}/headers.tar.gz: missing, though its digest is there"),
        (f"{RELEASE}/headers.tar.gz.sha256", "x", "but `headers.tar.gz.sha256` says otherwise"),
        (f"{RELEASE}/headers.tar.gz.sha256", None, "`headers.tar.gz.sha256`, cannot be read"),
    ],
)
def test_what_verify_finds(locked: World, name: str, text: str | None, told: str) -> None:
    locked.ok("mirror", "create", "../mirror", "--lock")
    path = locked.root / "mirror" / name
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    ran = locked.run("mirror", "verify", "../mirror")
    assert ran.code == 4
    assert told in ran.err


@pytest.mark.parametrize("name", ["demo", RELEASE, f"{RELEASE}/headers.tar.gz", "index.json", ".etfetch"])
def test_no_way_out_through_a_link(locked: World, name: str) -> None:
    outside = locked.root / "outside"
    folder = locked.root / "mirror"
    link = folder / name
    link.parent.mkdir(parents=True)
    is_file = name.endswith((".gz", ".json"))
    if is_file:
        outside.write_text("precious")
    else:
        outside.mkdir()
    link.symlink_to(outside)
    ran = locked.run("mirror", "create", "../mirror", "--lock")
    assert ran.code == 2
    assert "is a link, which a mirror may not hold" in ran.err
    if is_file:
        assert outside.read_text() == "precious"
    else:
        assert list(outside.iterdir()) == []
    ran = locked.run("mirror", "verify", "../mirror")
    assert ran.code == 4
    assert f"{name}: a link" in ran.err


def test_a_manifest_that_nobody_can_read(locked: World) -> None:
    locked.ok("mirror", "create", "../mirror", "--lock")
    path = locked.root / "mirror" / RELEASE / "manifest.toml"
    path.write_text("schema = 2\n")
    release_tree.write_index(locked.root / "mirror")
    ran = locked.run("mirror", "verify", "../mirror")
    assert ran.code == 4
    assert "schema: this etfetch reads manifests of schema 1, not 2" in ran.err


def test_a_link_that_came_later_is_found(locked: World) -> None:
    locked.ok("mirror", "create", "../mirror", "--lock")
    (locked.root / "mirror/demo/passwd").symlink_to("/etc/passwd")
    ran = locked.run("mirror", "verify", "../mirror")
    assert ran.code == 4
    assert "demo/passwd: a link" in ran.err


def test_the_root_may_be_a_link(locked: World) -> None:
    (locked.root / "disk").mkdir()
    (locked.root / "mirror").symlink_to(locked.root / "disk")
    locked.ok("mirror", "create", "../mirror", "--lock")
    locked.ok("mirror", "verify", "../mirror")


@pytest.mark.parametrize("name", ["..", "a/b", "con", ""])
def test_names_that_lead_elsewhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(FilesystemError, match="cannot be a name in a mirror"):
        MirrorFolder(tmp_path).write_manifest("demo", name, "x")


def test_a_release_of_ones_own(locked: World) -> None:
    """Who puts manifest and archives there by hand gets an index of them with the next run."""
    locked.ok("mirror", "create", "../mirror", "--lock")
    own = locked.root / "mirror/own/1.0"
    own.mkdir(parents=True)
    data = release_tree.pack_tar([release_tree.Entry("x.h", b"")])
    (own / "a.tar.gz").write_bytes(data)
    (own / "a.tar.gz.sha256").write_text(f"{of_bytes(data)}  a.tar.gz\n")
    (own / "manifest.toml").write_text(
        'schema = 1\npackage = "own"\nversion = "1.0"\n[components.runtime]\nkind = "runtime"\n'
        '[[artifacts]]\nname = "a.tar.gz"\nsource = "https://own.invalid/a.tar.gz"\n'
        f'sha256 = "{of_bytes(data)}"\n'
        '[[artifacts.parts]]\ncomponent = "runtime"\nplatforms = ["linux-x86_64"]\nmembers = ["**"]\n'
    )
    locked.ok("mirror", "create", "../mirror", "--lock")
    assert "own" in json.loads((locked.root / "mirror/index.json").read_text())["packages"]
    locked.ok("mirror", "verify", "../mirror")
    (own / "manifest.toml").write_text((own / "manifest.toml").read_text().replace('"own"', '"other"'))
    ran = locked.run("mirror", "create", "../mirror", "--lock")
    assert ran.code == 2
    assert "says it is other 1.0, and stands elsewhere" in ran.err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ([], 2, "say what the mirror is to hold"),
        (["demo", "--lock"], 2, "say what the mirror is to hold"),
        (["demo[fast]"], 2, "a mirror holds whole releases"),
        (["demo", "--platform", "linux"], 2, "no platform `linux`"),
        (["nothing"], 7, "no package `nothing`"),
        (["demo>9"], 7, "no release of `demo` satisfies `>9`"),
        (["--lock", "no.lock"], 2, "there is no lock `no.lock`"),
    ],
)
def test_requests_that_make_no_sense(world: World, words: list[str], code: int, told: str) -> None:
    ran = world.run("mirror", "create", "../mirror", *words)
    assert ran.code == code
    assert told in ran.err
    assert not (world.root / "mirror").exists()


def test_without_a_lock(world: World) -> None:
    world.write()
    ran = world.run("mirror", "create", "../mirror", "--lock")
    assert ran.code == 3
    assert "hint: run `etfetch lock`" in ran.err


def test_offline_it_takes_what_the_cache_has(locked: World) -> None:
    locked.setenv(ETFETCH_OFFLINE="1")
    assert locked.run("mirror", "create", "../mirror", "--lock").code == 6
    locked.setenv(ETFETCH_OFFLINE="0")
    locked.ok("install")
    locked.setenv(ETFETCH_OFFLINE="1")
    locked.server.requests.clear()
    locked.ok("mirror", "create", "../mirror", "--lock")
    assert locked.server.requests == []


def test_a_lock_of_a_release_that_nobody_knows(locked: World) -> None:
    shutil.rmtree(locked.project / "manifests")
    ran = locked.run("mirror", "create", "../mirror", "--lock")
    assert ran.code == 7
    assert "demo 1.0.0, which the lock names, is in no catalogue" in ran.err


# urls


def test_urls_of_the_origin(locked: World) -> None:
    lines = locked.ok("urls").out.splitlines()
    assert sorted(lines) == sorted(f"{locked.server.url}/{RELEASE}/{name}" for name in NEEDED)


def test_urls_of_a_mirror(locked: World) -> None:
    locked.setenv(ETFETCH_MIRRORS=f"{locked.tree.as_uri()}|http://127.0.0.1:9|origin", ETFETCH_RETRIES="1")
    [first, *_] = locked.ok("urls", "--json").json
    assert first == {
        "name": "backend_fast-linux-x86_64.tar.xz",
        "sha256": of_bytes(locked.archive("backend_fast-linux-x86_64.tar.xz").read_bytes()),
        "size": locked.archive("backend_fast-linux-x86_64.tar.xz").stat().st_size,
        "urls": [
            f"{locked.tree.as_uri()}/{RELEASE}/backend_fast-linux-x86_64.tar.xz",
            f"{locked.server.url}/{RELEASE}/backend_fast-linux-x86_64.tar.xz",
        ],
    }


def test_urls_without_a_server_to_ask(locked: World) -> None:
    locked.setenv(ETFETCH_BLOCK_ORIGIN="1")
    assert locked.ok("urls").out.startswith("# on no server that may be asked: backend_fast")


def test_urls_without_a_lock(world: World) -> None:
    assert world.run("urls").code == 3
