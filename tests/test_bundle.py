"""Bundles: over an air gap and back, and what a damaged or hostile one does not do."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from etfetch.digest import of_bytes
from tests.world import World, snapshot


@pytest.fixture
def bundled(world: World) -> World:
    """A project with a lock, a bundle of it in `root/all.tar`, and an empty cache."""
    world.write()
    world.ok("lock")
    world.ok("bundle", "create", "../all.tar")
    world.ok("cache", "clean")
    world.server.requests.clear()
    return world


def test_over_an_air_gap(bundled: World) -> None:
    bundled.setenv(ETFETCH_OFFLINE="1")
    assert bundled.run("install").code == 6
    ran = bundled.ok("bundle", "restore", "../all.tar")
    assert "restored 3 archives into the cache, each verified by digest" in ran.err
    bundled.ok("install", "--locked")
    bundled.ok("verify", "--deep")
    bundled.ok("cache", "verify")
    assert bundled.server.requests == []
    assert list((bundled.cache / "v1/partial").iterdir()) == []


def test_the_same_archives_give_the_same_bytes(bundled: World) -> None:
    first = (bundled.root / "all.tar").read_bytes()
    bundled.ok("bundle", "create", "../all.tar")
    assert (bundled.root / "all.tar").read_bytes() == first
    with tarfile.open(bundled.root / "all.tar") as tape:
        assert tape.getnames()[0] == "bundle.json"
        listing = tape.extractfile("bundle.json")
        assert listing is not None
        listed = json.loads(listing.read())["artifacts"]
    assert [entry["name"] for entry in listed] == [
        "backend_fast-linux-x86_64.tar.xz",
        "headers.tar.gz",
        "runtime-linux-x86_64.tar.gz",
    ]


def test_only_a_platform(bundled: World) -> None:
    bundled.write('package = "demo"\nversion = "==1.0.0"\nplatforms = ["linux-x86_64", "linux-aarch64"]\n')
    bundled.ok("lock")
    ran = bundled.ok("bundle", "create", "../some.tar", "--platform", "linux-aarch64")
    assert "bundled 2 archives in `../some.tar`" in ran.err


def test_offline_it_takes_the_cache(bundled: World) -> None:
    ran = bundled.run("bundle", "create", "../other.tar", "--offline")
    assert ran.code == 6
    assert not (bundled.root / "other.tar").exists()
    bundled.ok("bundle", "restore", "../all.tar")
    bundled.ok("bundle", "create", "../other.tar", "--offline")
    assert (bundled.root / "other.tar").read_bytes() == (bundled.root / "all.tar").read_bytes()


def test_a_rotten_archive_does_not_get_into_a_bundle(bundled: World) -> None:
    bundled.ok("bundle", "restore", "../all.tar")
    [blob] = [p for p in (bundled.cache / "v1/blobs").rglob("*") if p.is_file()][:1]
    blob.write_bytes(bytes(blob.stat().st_size))
    assert bundled.run("bundle", "create", "../other.tar", "--offline").code == 6
    bundled.ok("bundle", "create", "../other.tar")
    assert (bundled.root / "other.tar").read_bytes() == (bundled.root / "all.tar").read_bytes()


def test_a_damaged_bundle(bundled: World) -> None:
    path = bundled.root / "all.tar"
    data = bytearray(path.read_bytes())
    archive = bundled.archive("headers.tar.gz").read_bytes()
    data[data.find(archive) + 30] ^= 1
    path.write_bytes(data)
    ran = bundled.run("bundle", "restore", "../all.tar")
    assert ran.code == 4
    assert "`all.tar` holds archives that are not what their names say" in ran.err
    assert of_bytes(archive) in ran.err
    assert snapshot(bundled.cache / "v1/blobs") == {}
    assert list((bundled.cache / "v1/partial").iterdir()) == []


@pytest.mark.parametrize("count", [0, 100, 3000, -12_000])
def test_a_truncated_bundle(bundled: World, count: int) -> None:
    path = bundled.root / "all.tar"
    path.write_bytes(path.read_bytes()[:count])
    assert bundled.run("bundle", "restore", "../all.tar").code == 4
    assert snapshot(bundled.cache / "v1/blobs") == {}


def _hostile(path: Path, name: str, data: bytes = b"x", link: str = "") -> None:
    with tarfile.open(path, "w") as tape:
        member = tarfile.TarInfo(name)
        member.size = 0 if link else len(data)
        if link:
            member.type, member.linkname = tarfile.SYMTYPE, link
        tape.addfile(member, io.BytesIO(data))


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("../outside", ""),
        ("/etc/outside", ""),
        ("blobs/../../outside", ""),
        (f"blobs/{'0' * 64}", ""),
        ("blobs/name", ""),
        (f"blobs/{'0' * 64}", "/etc/passwd"),
        (f"blobs/{of_bytes(b'x')}", "bundle.json"),
        ("nothing", ""),
    ],
)
def test_a_hostile_bundle(bundled: World, name: str, link: str) -> None:
    _hostile(bundled.root / "bad.tar", name, link=link)
    before = snapshot(bundled.root)
    ran = bundled.run("bundle", "restore", "../bad.tar")
    assert ran.code == 4
    assert {p: d for p, d in snapshot(bundled.root).items() if not p.startswith("cache/")} == {
        p: d for p, d in before.items() if not p.startswith("cache/")
    }
    assert snapshot(bundled.cache / "v1/blobs") == {}


def test_a_bundle_that_is_not_there(bundled: World) -> None:
    ran = bundled.run("bundle", "restore", "none.tar")
    assert ran.code == 2
    assert "there is no bundle `none.tar`" in ran.err


def test_without_a_lock(world: World) -> None:
    world.write()
    assert world.run("bundle", "create", "x.tar").code == 3


def test_a_folder_that_is_not_there(bundled: World) -> None:
    ran = bundled.run("bundle", "create", "no/such/folder/x.tar")
    assert ran.code == 2
    assert "the file system refused" in ran.err
    shutil.rmtree(bundled.cache)
