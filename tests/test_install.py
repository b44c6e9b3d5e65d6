"""`etfetch install`, from the project file to the files on disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from server_fixtures.release_server import broken_after, bytes_instead, redirect, status
from tests.world import REQUEST, World, snapshot

FAST = {
    "demo/include/demo/registry.h",
    "demo/include/demo/version.h",
    "demo/linux-x86_64/bin/tool",
    "demo/linux-x86_64/lib/libbackend_fast.a",
    "demo/linux-x86_64/lib/libruntime.a",
    "demo/linux-x86_64/share/backend_fast.txt",
    "demo/linux-x86_64/share/runtime.txt",
}


def test_installs_what_is_asked_for_and_what_that_requires(world: World) -> None:
    world.write()
    ran = world.ok("install")
    assert set(world.files()) == FAST
    assert "installed demo 1.0.0 for linux-x86_64 in `third-party`" in ran.err
    assert "7 files written, 0 removed, 0 unchanged" in ran.err
    assert ran.out == ""


def test_each_artifact_is_asked_for_once(world: World) -> None:
    world.write()
    world.ok("install")
    assert sorted(world.server.requests) == [
        "/demo/1.0.0/backend_fast-linux-x86_64.tar.xz",
        "/demo/1.0.0/headers.tar.gz",
        "/demo/1.0.0/runtime-linux-x86_64.tar.gz",
    ]


def test_modes_are_normal(world: World) -> None:
    world.write()
    world.ok("install")
    assert (world.destination / "demo/linux-x86_64/bin/tool").stat().st_mode & 0o777 == 0o755
    assert (world.destination / "demo/include/demo/registry.h").stat().st_mode & 0o777 == 0o644


def test_second_run_is_a_no_op_and_says_so(world: World) -> None:
    world.write()
    world.ok("install")
    before = _stamps(world.project)
    ran = world.ok("install")
    assert ran.err == "nothing to do: demo 1.0.0 is installed in `third-party` (7 files)\n"
    assert _stamps(world.project) == before
    assert len(world.server.requests) == 3


def test_offline_from_the_cache_gives_the_same_bytes(world: World) -> None:
    world.write()
    world.ok("install")
    first = world.files()
    shutil.rmtree(world.destination)
    world.ok("install", "--offline")
    assert world.files() == first
    assert len(world.server.requests) == 3
    world.ok("verify", "--deep")


def test_offline_without_a_cache_lists_what_is_missing(world: World) -> None:
    world.write()
    world.ok("lock")
    ran = world.run("install", "--offline")
    assert ran.code == 6
    assert "backend_fast-linux-x86_64.tar.xz (sha256 " in ran.err
    assert ran.err.count("hint:") == 1
    assert world.server.requests == []
    assert not world.destination.exists()


def test_skip_download_installs_what_is_there_and_warns_of_the_rest(world: World) -> None:
    world.write()
    world.ok("lock")
    world.setenv(ETFETCH_SKIP_DOWNLOAD="1")
    ran = world.ok("install", "--json")
    assert ran.json["status"] == "skipped"
    assert ran.json["missing"] == [
        "backend_fast-linux-x86_64.tar.xz",
        "headers.tar.gz",
        "runtime-linux-x86_64.tar.gz",
    ]
    assert world.server.requests == []
    assert "warning: `headers.tar.gz` is not in the cache" in world.ok("install").err


def test_skip_download_with_a_partly_filled_cache(world: World) -> None:
    world.write(REQUEST.replace('backends = ["fast"]', "backends = []"))
    world.ok("install")
    world.write()
    world.setenv(ETFETCH_SKIP_DOWNLOAD="1")
    ran = world.ok("install", "--json")
    assert ran.json["missing"] == ["backend_fast-linux-x86_64.tar.xz"]
    assert "demo/linux-x86_64/lib/libruntime.a" in world.files()
    assert world.run("verify").code == 10


SLOW = REQUEST.replace('["fast"]', '["slow"]')


def test_skip_download_where_even_a_digest_would_have_to_be_asked_for(world: World) -> None:
    """No network at all, and no error: what the cache holds is installed, and no lock is made of the rest."""
    world.write(REQUEST.replace('backends = ["fast"]', "backends = []"))
    world.ok("install")
    shutil.rmtree(world.destination)
    world.lock.unlink()
    world.server.requests.clear()
    world.write(SLOW)
    world.setenv(ETFETCH_SKIP_DOWNLOAD="1")
    for written in (6, 0):
        ran = world.ok("install", "--json")
        assert ran.json["status"] == "skipped"
        assert ran.json["missing"] == ["backend_slow-linux-x86_64.tar.gz"]
        assert ran.json["files"]["written"] <= written
        assert not world.lock.exists()
    assert "demo/linux-x86_64/lib/libruntime.a" in world.files()
    assert world.server.requests == []
    assert world.run("verify").code == 10
    assert world.run("lock").code == 6
    world.setenv(ETFETCH_SKIP_DOWNLOAD="0")
    world.ok("install")
    world.ok("verify", "--deep")


def test_skip_download_with_nothing_at_all(world: World) -> None:
    world.write(SLOW)
    world.setenv(ETFETCH_SKIP_DOWNLOAD="1")
    ran = world.ok("install")
    assert "warning: `backend_slow-linux-x86_64.tar.gz` is not in the cache and was not downloaded" in ran.err
    assert not world.lock.exists()
    assert world.server.requests == []


def test_dropping_a_backend_removes_exactly_its_files(world: World) -> None:
    world.write()
    world.ok("install")
    world.write(REQUEST.replace('backends = ["fast"]', "backends = []"))
    before = _inodes(world.destination)
    ran = world.ok("install", "--json")
    gone = {"demo/linux-x86_64/lib/libbackend_fast.a", "demo/linux-x86_64/share/backend_fast.txt"}
    assert set(world.files()) == FAST - gone
    assert ran.json["files"] == {"written": 0, "removed": 2, "unchanged": 5}
    after = _inodes(world.destination)
    assert after == {name: number for name, number in before.items() if name not in gone}


def test_an_upgrade_replaces_exactly_what_changed(world: World) -> None:
    world.write()
    world.ok("install")
    before = _stamps(world.destination)
    world.write(REQUEST.replace("1.0.0", "1.1.0"))
    ran = world.ok("install", "--json")
    after = _stamps(world.destination)
    changed = {"demo/include/demo/version.h", "demo/linux-x86_64/lib/libruntime.a"}
    assert ran.json["files"] == {"written": 2, "removed": 0, "unchanged": 5}
    for name in FAST:
        inode, mtime = before[name]
        if name in changed:
            assert after[name][1] > mtime
        else:
            assert after[name] == (inode, mtime)
    world.ok("verify", "--deep")


def test_empty_folders_go_with_their_last_file(world: World) -> None:
    world.write(REQUEST.replace("linux-x86_64", 'linux-x86_64", "linux-aarch64'))
    world.ok("install")
    world.write()
    world.ok("install")
    assert not (world.destination / "demo/linux-aarch64").exists()


def test_apple_is_locked_but_not_installed_elsewhere(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    world.write(REQUEST.replace('"linux-x86_64"', '"linux-x86_64", "macos-arm64"'))
    ran = world.ok("install")
    assert "note: macos-arm64: locked, not installed: this host cannot build for it" in ran.err
    assert "runtime-apple.zip" in world.lock.read_text()
    assert not (world.destination / "demo/apple").exists()
    world.ok("install", "--platform", "all")
    link = world.destination / "demo/apple/demo.xcframework/macos-arm64/demo.framework/demo"
    assert os.readlink(link) == "Versions/Current/demo"
    world.ok("verify", "--deep")


def test_headers_alone_come_with_no_platform_of_this_host(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    world.write(REQUEST.replace("linux-x86_64", "ios").replace('["fast"]', "[]"))
    said = "nothing to do: demo 1.0.0 is locked, and nothing of it is for this host\n"
    assert world.ok("install").err.endswith(said)
    assert world.ok("install").err == said
    assert world.files() == {}
    assert world.server.requests == []


def test_without_a_project_file_a_requirement_does(world: World) -> None:
    words = ["demo[fast]==1.0.0", "--platform", "linux-x86_64"]
    world.ok("install", *words)
    first = world.files()
    assert set(first) == FAST
    shutil.rmtree(world.destination)
    world.ok("install", "--offline")
    assert world.files() == first
    assert "nothing to do" in world.ok("install").err


def test_frozen_takes_the_lock_as_it_is(world: World) -> None:
    world.write()
    world.ok("lock")
    world.write(REQUEST.replace("1.0.0", "1.1.0"))
    world.ok("install", "--frozen")
    assert 'release = "1.0.0"' in world.lock.read_text()
    assert set(world.files()) == FAST


def test_locked_refuses_a_stale_lock(world: World) -> None:
    world.write()
    world.ok("lock")
    world.write(REQUEST.replace('"fast"', '"slow"'))
    ran = world.run("install", "--locked")
    assert ran.code == 3
    assert ran.err == (
        "error: `etfetch.lock` does not answer the request any more\n"
        "  backends: - fast\n"
        "  backends: + slow\n"
        "hint: run `etfetch lock`, and commit `etfetch.lock`\n"
    )


def test_ci_refuses_a_stale_lock_but_makes_a_missing_one(world: World) -> None:
    world.write()
    world.setenv(CI="true")
    world.ok("install")
    world.write(REQUEST.replace("==1.0.0", "==1.1.0"))
    assert world.run("install").code == 3


def test_locked_without_a_lock(world: World) -> None:
    world.write()
    assert world.run("install", "--locked").code == 3
    assert world.run("install", "--frozen").code == 3


def test_dry_run_touches_nothing(world: World) -> None:
    world.write()
    ran = world.ok("install", "--dry-run")
    assert ran.out.splitlines() == [
        f"fetch   backend_fast-linux-x86_64.tar.xz ({_shown(world, 'backend_fast-linux-x86_64.tar.xz')})",
        f"fetch   headers.tar.gz ({_shown(world, 'headers.tar.gz')})",
        f"fetch   runtime-linux-x86_64.tar.gz ({_shown(world, 'runtime-linux-x86_64.tar.gz')})",
        "install backend_fast (linux-x86_64)",
        "install headers (any)",
        "install runtime (linux-x86_64)",
    ]
    assert not world.destination.exists()
    assert not world.lock.exists()
    assert not world.cache.exists()


def test_json_is_one_document_and_nothing_else(world: World) -> None:
    world.write()
    ran = world.ok("install", "--json")
    assert ran.err == ""
    assert ran.json["status"] == "installed"
    assert (ran.json["package"], ran.json["version"]) == ("demo", "1.0.0")
    assert ran.json["platforms"] == ["linux-x86_64"]
    assert ran.json["files"] == {"written": 7, "removed": 0, "unchanged": 0}
    assert [a["from"] for a in ran.json["artifacts"]] == ["network"] * 3
    again = world.ok("install", "--json").json
    assert again["status"] == "unchanged"
    assert [a["from"] for a in again["artifacts"]] == ["present"] * 3
    shutil.rmtree(world.destination)
    assert [a["from"] for a in world.ok("install", "--json").json["artifacts"]] == ["cache"] * 3


def test_an_edited_file_stops_the_install(world: World) -> None:
    world.write()
    world.ok("install")
    edited = world.destination / "demo/include/demo/registry.h"
    edited.write_text("mine\n")
    ran = world.run("install")
    assert ran.code == 10
    assert "`demo/include/demo/registry.h`: changed since etfetch installed it" in ran.err
    assert edited.read_text() == "mine\n"
    world.write(REQUEST.replace("1.0.0", "1.1.0"))
    asked = len(world.server.requests)
    assert world.run("install").code == 10
    assert len(world.server.requests) == asked
    world.ok("install", "--force")
    assert edited.read_text() != "mine\n"
    world.ok("verify", "--deep")


def test_a_missing_file_is_restored(world: World) -> None:
    world.write()
    world.ok("install")
    (world.destination / "demo/include/demo/registry.h").unlink()
    assert world.ok("install", "--json").json["files"]["written"] == 1
    world.ok("verify", "--deep")


def test_a_touched_file_is_not_replaced(world: World) -> None:
    world.write()
    world.ok("install")
    touched = world.destination / "demo/include/demo/registry.h"
    os.utime(touched, ns=(1, 1))
    inode = touched.stat().st_ino
    ran = world.ok("install", "--json")
    assert ran.json["status"] == "unchanged"
    assert (touched.stat().st_ino, touched.stat().st_mtime_ns) == (inode, 1)
    assert "nothing to do" in world.ok("install").err


def test_a_file_in_the_way_stops_before_anything_changed(world: World) -> None:
    world.write()
    mine = world.destination / "demo/include/demo/registry.h"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine\n")
    ran = world.run("install")
    assert ran.code == 10
    assert "`demo/include/demo/registry.h`: etfetch does not own it" in ran.err
    assert world.files() == {"demo/include/demo/registry.h": b"mine\n"}
    assert not world.lock.exists()


def test_a_folder_in_the_way_is_not_even_forced(world: World) -> None:
    world.write()
    (world.destination / "demo/include/demo/registry.h/deep").mkdir(parents=True)
    (world.destination / "demo/include/demo/registry.h/deep/file").write_text("mine")
    ran = world.run("install", "--force")
    assert ran.code == 10
    assert "`demo/include/demo/registry.h`: a folder stands there" in ran.err


def test_a_lost_record_adopts_what_is_there(world: World) -> None:
    world.write()
    world.ok("install")
    stamps = _stamps(world.destination)
    shutil.rmtree(world.destination / ".etfetch")
    world.ok("install")
    world.ok("verify", "--deep")
    after = _stamps(world.destination)
    assert all(after[name] == stamps[name] for name in FAST)


def test_a_damaged_record_is_named(world: World) -> None:
    world.write()
    world.ok("install")
    (world.destination / ".etfetch/installed.json").write_text('{"version": 1')
    ran = world.run("install")
    assert ran.code == 10
    assert "the record of installed files is damaged" in ran.err


def test_a_symlinked_destination_is_refused(world: World, tmp_path: Path) -> None:
    world.write()
    outside = tmp_path / "outside"
    outside.mkdir()
    world.destination.symlink_to(outside)
    ran = world.run("install")
    assert ran.code == 2
    assert "goes through the symlink" in ran.err
    assert list(outside.iterdir()) == []


def test_a_destination_elsewhere_may_lie_behind_a_symlink(world: World, tmp_path: Path) -> None:
    # As /tmp does on macOS.
    world.write()
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    world.ok("install", "--destination", str(tmp_path / "link" / "libs"))
    assert (real / "libs/demo/include/demo/registry.h").is_file()
    (real / "other").symlink_to(real / "libs")
    assert world.run("install", "--destination", str(real / "other")).code == 2


def test_a_lost_lock_is_written_again(world: World) -> None:
    world.write()
    world.ok("install")
    text = world.lock.read_bytes()
    world.lock.unlink()
    ran = world.ok("install")
    assert ran.err.splitlines()[0] == "wrote `etfetch.lock`"
    assert "nothing to do" in ran.err
    assert world.lock.read_bytes() == text


def test_a_lock_that_is_a_symlink_is_replaced_not_followed(world: World, tmp_path: Path) -> None:
    world.write()
    world.lock.symlink_to(tmp_path / "outside")
    world.ok("install")
    assert not (tmp_path / "outside").exists()
    assert not world.lock.is_symlink()


def test_a_moved_part_comes_from_its_tree(world: World) -> None:
    world.write()
    world.ok("install")
    manifest = world.project / "manifests/demo/1.0.0.toml"
    manifest.write_text(manifest.read_text().replace('to = "demo"\n', 'to = "moved"\n'))
    world.lock.unlink()
    for blob in (world.cache / "v1/blobs").rglob("*"):
        if blob.is_file():
            blob.unlink()
    world.ok("install", "--offline")
    assert "moved/include/demo/registry.h" in world.files()
    assert "demo/include/demo/registry.h" not in world.files()
    world.ok("verify", "--deep")


def test_a_symlinked_folder_inside_is_never_followed(world: World, tmp_path: Path) -> None:
    world.write()
    world.ok("install")
    outside = tmp_path / "outside"
    shutil.move(world.destination / "demo/include", outside)
    (world.destination / "demo/include").symlink_to(outside)
    world.write(REQUEST.replace("1.0.0", "1.1.0"))
    ran = world.run("install", "--force")
    assert ran.code == 10
    assert "its folder `demo/include` is a symlink" in ran.err
    assert sorted(path.name for path in outside.rglob("*.h")) == ["registry.h", "version.h"]


@pytest.mark.parametrize("name", ["with space", "with,comma", "mit Umläuten ☃"])
def test_project_paths_of_every_kind(world: World, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    project = world.root / name
    shutil.copytree(world.project, project)
    (project / "etfetch.toml").write_text(REQUEST)
    monkeypatch.chdir(project)
    world.ok("install")
    assert set(world.files(project / "third-party")) == FAST
    assert "nothing to do" in world.ok("install").err


@pytest.mark.parametrize("mode", ["clone", "copy", "hardlink"])
def test_link_modes_give_the_same_tree(world: World, mode: str) -> None:
    world.write()
    world.ok("install", "--link-mode", mode)
    world.ok("verify", "--deep")
    source = world.destination / "demo/linux-x86_64/lib/libruntime.a"
    assert (source.stat().st_nlink > 1) == (mode == "hardlink")


def test_a_tree_that_shrank_meanwhile_is_noticed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from etfetch import copying

    def half(source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes()[:-1])

    world.write()
    monkeypatch.setattr(copying, "clone", lambda *_: False)
    monkeypatch.setattr(copying, "copy", half)
    ran = world.run("install")
    assert ran.code == 4
    assert "came out of the cache with another size than it went in" in ran.err
    assert not world.lock.exists()
    assert not world.destination.exists()


def test_a_hard_link_across_file_systems_is_a_copy(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    world.write()
    world.ok("install", "--link-mode", "hardlink")
    world.ok("verify", "--deep")


def test_the_cache_is_not_edited_through_the_tree(world: World) -> None:
    world.write()
    world.ok("install")
    (world.destination / "demo/include/demo/registry.h").write_text("mine")
    world.ok("cache", "verify")


# What servers do


def test_wrong_bytes_are_never_unpacked(world: World) -> None:
    world.write()
    archive = world.archive("headers.tar.gz")
    data = bytearray(archive.read_bytes())
    data[20] ^= 1
    archive.write_bytes(data)
    ran = world.run("install")
    assert ran.code == 4
    assert "error: `headers.tar.gz` is not the archive that is locked" in ran.err
    assert "expected sha256" in ran.err
    assert f"from {world.server.url}/demo/1.0.0/headers.tar.gz" in ran.err
    assert world.server.asked_for("headers.tar.gz") == 1
    assert not world.destination.exists()
    assert not world.lock.exists()
    # The sound archives may be unpacked by now; of this one there is nothing, under no name.
    assert not any(name.endswith(".h") for name in snapshot(world.cache))
    assert bytes(data) not in snapshot(world.cache).values()


def test_a_wrong_size_is_told_before_the_transfer(world: World) -> None:
    world.write()
    archive = world.archive("headers.tar.gz")
    archive.write_bytes(archive.read_bytes() + b"more")
    ran = world.run("install")
    assert ran.code == 4
    assert "expected size" in ran.err
    assert world.server.asked_for("headers.tar.gz") == 1


def test_a_web_page_is_called_that(world: World) -> None:
    world.write()
    page = b"<!DOCTYPE html><html>please log in</html>"
    world.server.faults["headers.tar.gz"] = [bytes_instead(page)]
    ran = world.run("install")
    assert ran.code == 5
    assert "error: a web page came instead of `headers.tar.gz`" in ran.err


def test_a_missing_archive(world: World) -> None:
    world.write()
    world.archive("headers.tar.gz").unlink()
    ran = world.run("install")
    assert ran.code == 5
    assert f"{world.server.url}/demo/1.0.0/headers.tar.gz answered 404 Not Found" in ran.err
    assert world.server.asked_for("headers.tar.gz") == 1


def test_a_passing_fault_is_retried(world: World) -> None:
    world.write()
    world.server.faults["headers.tar.gz"] = [status(503)]
    world.ok("install")
    assert world.server.asked_for("headers.tar.gz") == 2


def test_a_lasting_fault_is_not_retried_for_ever(world: World) -> None:
    world.write()
    world.server.faults["headers.tar.gz"] = [status(503), status(503), status(503)]
    ran = world.run("install")
    assert ran.code == 5
    assert world.server.asked_for("headers.tar.gz") == 2


def test_a_broken_transfer_starts_over(world: World) -> None:
    world.write()
    world.server.faults["headers.tar.gz"] = [broken_after(50)]
    world.ok("install")
    assert world.server.asked_for("headers.tar.gz") == 2
    world.ok("verify", "--deep")


def test_redirects_are_followed(world: World) -> None:
    world.write()
    world.server.faults["headers.tar.gz"] = [redirect("/demo/1.0.0/headers.tar.gz?signed=1")]
    world.archive("headers.tar.gz?signed=1").write_bytes(world.archive("headers.tar.gz").read_bytes())
    world.ok("install")


def test_a_sidecar_pins_the_digest_from_then_on(world: World) -> None:
    world.write(REQUEST.replace('"fast"', '"slow"'))
    world.ok("install")
    assert world.server.asked_for("backend_slow-linux-x86_64.tar.gz.sha256") == 1
    pinned = world.lock.read_text()
    world.archive("backend_slow-linux-x86_64.tar.gz").write_bytes(b"replaced under the same name")
    world.archive("backend_slow-linux-x86_64.tar.gz.sha256").write_text("0" * 64)
    world.ok("lock")
    assert world.lock.read_text() == pinned
    shutil.rmtree(world.cache)
    shutil.rmtree(world.destination)
    assert world.run("install").code == 4
    assert world.server.asked_for("backend_slow-linux-x86_64.tar.gz.sha256") == 1


def test_a_sidecar_without_a_digest(world: World) -> None:
    world.write(REQUEST.replace('"fast"', '"slow"'))
    world.archive("backend_slow-linux-x86_64.tar.gz.sha256").write_text("soon\n")
    ran = world.run("install")
    assert ran.code == 4
    assert "holds no sha256 of the archive beside it" in ran.err
    assert "it begins with `soon`" in ran.err


def test_a_sidecar_needs_the_network(world: World) -> None:
    world.write(REQUEST.replace('"fast"', '"slow"'))
    ran = world.run("lock", "--offline")
    assert ran.code == 6
    assert "its `backend_slow-linux-x86_64.tar.gz.sha256`" in ran.err


def test_a_blob_that_rotted_is_fetched_again(world: World) -> None:
    world.write()
    world.ok("install")
    for blob in (world.cache / "v1/blobs").rglob("*"):
        if blob.is_file():
            data = bytearray(blob.read_bytes())
            data[-12] ^= 0xFF
            blob.write_bytes(data)
    shutil.rmtree(world.cache / "v1/trees")
    shutil.rmtree(world.destination)
    ran = world.run("install", "--offline")
    assert ran.code == 4
    assert "is damaged in the cache, and the network may not be used" in ran.err
    world.ok("install")
    world.ok("verify", "--deep")


def test_a_hostile_archive_leaves_everything_as_it_was(world: World) -> None:
    from server_fixtures.release_tree import Entry, manifest, pack_tar

    world.write()
    world.ok("install")
    before = (world.files(), world.lock.read_text(), snapshot(world.cache / "v1/blobs"))
    folder = world.tree / "demo/1.1.0"
    (folder / "headers.tar.gz").write_bytes(
        pack_tar([Entry("include/demo/registry.h", b"x"), Entry("../escape", b"x")])
    )
    target = world.project / "manifests/demo/1.1.0.toml"
    target.write_text(manifest(folder, "1.1.0", f"{world.server.url}/demo/1.1.0"))
    world.write(REQUEST.replace("1.0.0", "1.1.0"))
    ran = world.run("install")
    assert ran.code == 4
    assert "`headers.tar.gz` is not safe to unpack: `../escape`: `..` is not allowed in a path" in ran.err
    assert world.files() == before[0]
    assert world.lock.read_text() == before[1]
    remaining = snapshot(world.cache / "v1/blobs")
    assert {name: data for name, data in remaining.items() if name in before[2]} == before[2]
    assert not any(data == (folder / "headers.tar.gz").read_bytes() for data in remaining.values())


def _stamps(root: Path) -> dict[str, tuple[int, int]]:
    return {
        path.relative_to(root).as_posix(): (path.lstat().st_ino, path.lstat().st_mtime_ns)
        for path in root.rglob("*")
        if not path.is_dir()
    }


def _inodes(root: Path) -> dict[str, int]:
    return {name: inode for name, (inode, _) in _stamps(root).items() if ".etfetch" not in name}


def _shown(world: World, name: str) -> str:
    from etfetch.sizes import size

    return size(world.archive(name).stat().st_size)
