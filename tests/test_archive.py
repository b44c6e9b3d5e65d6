"""Unpacking: what comes out of honest archives, and every class of hostile ones."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import random
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard

from etfetch import archive
from etfetch.archive import Budget, HaltedError, Selection, escape_reason, unpack
from etfetch.errors import ArchiveError
from server_fixtures.release_tree import Entry, pack_tar
from tests.archives import overlapping_zip, raw_zip, tar, tar_entry, tar_gz, zip_entry, zipped

ALL = ("**",)


def _unpack(tmp_path: Path, data: bytes, archive_format: str = "tar.gz", **selection: object) -> Path:
    """Unpack everything (or a selection) of an archive given by its bytes."""
    folder = tmp_path / "out"
    folder.mkdir()
    source = tmp_path / "archive"
    source.write_bytes(data)
    fields = {"members": ALL, **selection}
    unpack(source, archive_format, [Selection(folder, **fields)], name="x.tar.gz")  # type: ignore[arg-type]
    return folder


def _refused(
    tmp_path: Path, data: bytes, archive_format: str = "tar.gz", budget: Budget | None = None
) -> str:
    """Unpack an archive that must be refused as a whole; the message."""
    folder = tmp_path / "out"
    folder.mkdir()
    source = tmp_path / "archive"
    source.write_bytes(data)
    with pytest.raises(ArchiveError) as caught:
        unpack(source, archive_format, [Selection(folder, ALL)], budget, name="bad")
    assert caught.value.code == 4
    assert list(folder.iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {"archive", "out"}
    return caught.value.message


# Honest archives


def test_files_folders_modes_and_links(tmp_path: Path) -> None:
    folder = _unpack(
        tmp_path,
        tar_gz(
            tar_entry("./", type=tarfile.DIRTYPE),
            tar_entry("./bin", type=tarfile.DIRTYPE, mode=0o2775),
            tar_entry("./bin/tool", b"run", mode=0o711),
            tar_entry("./a.h", b"text", mode=0o600),
            tar_entry("./lib/x.so", type=tarfile.SYMTYPE, linkname="../a.h"),
            tar_entry("./empty"),
        ),
    )
    assert (folder / "bin/tool").stat().st_mode & 0o7777 == 0o755
    assert (folder / "a.h").stat().st_mode & 0o7777 == 0o644
    assert os.readlink(folder / "lib/x.so") == "../a.h"
    assert (folder / "empty").read_bytes() == b""


def test_the_returned_files_say_what_is_there(tmp_path: Path) -> None:
    source = tmp_path / "a.tar.gz"
    source.write_bytes(tar_gz(tar_entry("b", b"bee"), tar_entry("a", b"")))
    (tmp_path / "out").mkdir()
    [files] = unpack(source, "tar.gz", [Selection(tmp_path / "out", ALL)])
    assert [(f.path, f.size, f.mode) for f in files] == [("a", 0, 0o644), ("b", 3, 0o644)]
    assert files[1].sha256 == hashlib.sha256(b"bee").hexdigest()


@pytest.mark.parametrize("archive_format", ["tar", "tar.gz", "tar.xz", "tar.zst"])
def test_each_tar_format(tmp_path: Path, archive_format: str) -> None:
    plain = tar(tar_entry("file", b"bytes" * 1000))
    packed = {
        "tar": plain,
        "tar.gz": gzip.compress(plain),
        "tar.xz": lzma.compress(plain),
        "tar.zst": zstandard.compress(plain),
    }[archive_format]
    assert (_unpack(tmp_path, packed, archive_format) / "file").read_bytes() == b"bytes" * 1000


def test_zip_with_a_symlink(tmp_path: Path) -> None:
    data = zipped(
        zip_entry("F/Versions/A/f", b"x", mode=0o100755),
        zip_entry("F/Versions/Current", b"A", mode=0o120755),
        zip_entry("F/f", b"Versions/Current/f", mode=0o120755),
        zip_entry("F/dir/", mode=0o040755),
    )
    folder = _unpack(tmp_path, data, "zip")
    assert (folder / "F/f").read_bytes() == b"x"
    assert (folder / "F/Versions/A/f").stat().st_mode & 0o777 == 0o755


def test_zip_from_windows_has_no_modes(tmp_path: Path) -> None:
    info, data = zip_entry("file", b"x", mode=0)
    info.create_system = 0
    assert (_unpack(tmp_path, zipped((info, data)), "zip") / "file").stat().st_mode & 0o777 == 0o644


def test_selection_strips_and_excludes(tmp_path: Path) -> None:
    data = tar_gz(
        tar_entry("pkg/lib/a/x.so", b"1"),
        tar_entry("pkg/lib/a/y.txt", b"2"),
        tar_entry("pkg/lib/b/z.so", b"3"),
        tar_entry("pkg/other", b"4"),
    )
    folder = _unpack(tmp_path, data, members=("pkg/lib/**",), exclude=("**/*.txt",), strip=2)
    assert sorted(str(p.relative_to(folder)) for p in folder.rglob("*.so")) == ["a/x.so", "b/z.so"]
    assert not list(folder.rglob("*.txt"))


def test_one_pass_fills_several_folders(tmp_path: Path) -> None:
    source = tmp_path / "a.tar.gz"
    source.write_bytes(tar_gz(tar_entry("a/1", b"1"), tar_entry("b/2", b"2")))
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    one, two = unpack(
        source, "tar.gz", [Selection(folders[0], ("a/*",), strip=1), Selection(folders[1], ("**",))]
    )
    assert [file.path for file in one] == ["1"]
    assert [file.path for file in two] == ["a/1", "b/2"]


def test_a_pattern_without_a_match_is_named(tmp_path: Path) -> None:
    source = tmp_path / "a.tar.gz"
    source.write_bytes(tar_gz(tar_entry("a", b"1")))
    (tmp_path / "out").mkdir()
    with pytest.raises(ArchiveError, match=r"`a\.tar\.gz` has no member that matches `lib/x\.so`"):
        unpack(source, "tar.gz", [Selection(tmp_path / "out", ("a", "lib/x.so"))])
    assert not list((tmp_path / "out").iterdir())


# Hostile names, in both formats

HOSTILE_NAMES = {
    "../escape": "`..` is not allowed in a path",
    "a/../../escape": "`..` is not allowed in a path",
    "/etc/passwd": "the path is absolute",
    "C:/windows": "a colon names a drive or a stream on Windows",
    "file:stream": "a colon names a drive or a stream on Windows",
    "a\nb": "the name holds a control or formatting character",
    "a\x1b[2Jb": "the name holds a control or formatting character",
    "a//b": "a path component is empty",
    "a/./b": "`.` is not allowed in a path",
    "con.txt": "`con.txt` is a device name on Windows",
    "dir/NUL": "`NUL` is a device name on Windows",
    "trailing.": "Windows strips a trailing dot or space",
    "x" * 256: "a path component is longer than 255 bytes",
    "/".join(["d" * 100] * 11): "the name is longer than 1024 characters",
    "abc\u202ecod.exe": "the name holds a control or formatting character",
}


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=lambda name: name[:20].encode("unicode_escape").decode())
def test_hostile_tar_names(tmp_path: Path, name: str) -> None:
    data = tar_gz(tar_entry("good", b"x"), tar_entry(name, b"x"))
    message = _refused(tmp_path, data)
    assert message.startswith("`bad` is not safe to unpack: `")
    assert HOSTILE_NAMES[name] in message
    assert "\n" not in message
    assert "\x1b" not in message


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=lambda name: name[:20].encode("unicode_escape").decode())
def test_hostile_zip_names(tmp_path: Path, name: str) -> None:
    message = _refused(tmp_path, zipped(zip_entry("good", b"x"), zip_entry(name, b"x")), "zip")
    assert HOSTILE_NAMES[name] in message


def test_backslashes(tmp_path: Path) -> None:
    assert "a backslash separates folders" in _refused(tmp_path, tar_gz(tar_entry("..\\escape", b"x")))
    (tmp_path / "out").rmdir()
    assert "a backslash in the name" in _refused(tmp_path, raw_zip(b"..\\escape", b"..\\escape"), "zip")


def test_nul_in_a_zip_name(tmp_path: Path) -> None:
    assert "a NUL in the name" in _refused(tmp_path, raw_zip(b"a\0b", b"a\0b"), "zip")


COLLISIONS = [
    (("lib/File", "lib/file"), "on some file systems its name is the same as that of `lib/File`"),
    (("caf\u00e9", "cafe\u0301"), "on some file systems its name is the same as that of"),
    (("STRASSE", "straße"), "on some file systems its name is the same as that of `STRASSE`"),
    (("dir/x", "DIR/y"), "on some file systems its name is the same as that of `dir`"),
    (("a", "a/b"), "on some file systems its name is the same as that of `a`"),
    (("same", "same"), "the name stands twice in the archive"),
]


@pytest.mark.parametrize(("names", "reason"), COLLISIONS)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_colliding_names(tmp_path: Path, names: tuple[str, str], reason: str) -> None:
    assert reason in _refused(tmp_path, tar_gz(*(tar_entry(name, b"x") for name in names)))
    (tmp_path / "out").rmdir()
    assert reason in _refused(tmp_path, zipped(*(zip_entry(name, b"x") for name in names)), "zip")


def test_names_that_collide_once_stripped(tmp_path: Path) -> None:
    source = tmp_path / "a.tar.gz"
    source.write_bytes(tar_gz(tar_entry("a/x", b"1"), tar_entry("b/X", b"2")))
    (tmp_path / "out").mkdir()
    with pytest.raises(ArchiveError, match="without its leading folders it collides with `x`"):
        unpack(source, "tar.gz", [Selection(tmp_path / "out", ALL, strip=1)])


# Hostile kinds

KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "hard link": ({"type": tarfile.LNKTYPE, "linkname": "good"}, "a hard link"),
    "character device": ({"type": tarfile.CHRTYPE}, "not a file, a folder or a symlink"),
    "block device": ({"type": tarfile.BLKTYPE}, "not a file, a folder or a symlink"),
    "pipe": ({"type": tarfile.FIFOTYPE}, "not a file, a folder or a symlink"),
    "contiguous": ({"type": tarfile.CONTTYPE}, "not a file, a folder or a symlink"),
    "unknown": ({"type": b"Z"}, "not a file, a folder or a symlink"),
    "setuid": ({"mode": 0o4755}, "a setuid, setgid or sticky bit"),
    "setgid": ({"mode": 0o2755}, "a setuid, setgid or sticky bit"),
    "sticky": ({"mode": 0o1755}, "a setuid, setgid or sticky bit"),
    "sparse": (
        {
            "pax_headers": {
                "GNU.sparse.major": "1",
                "GNU.sparse.minor": "0",
                "GNU.sparse.name": "s",
                "GNU.sparse.realsize": "1024",
            }
        },
        "a sparse file",
    ),
    "two sizes": ({"pax_headers": {"size": "0"}}, "its pax header gives another size than its own header"),
    "absolute link": ({"type": tarfile.SYMTYPE, "linkname": "/etc"}, "which is not a relative path"),
    "escaping link": ({"type": tarfile.SYMTYPE, "linkname": "../x"}, "which leads outside"),
    "empty link": ({"type": tarfile.SYMTYPE, "linkname": ""}, "which is not a relative path"),
    "windows link": ({"type": tarfile.SYMTYPE, "linkname": "a\\b"}, "which is not a relative path"),
    "link with escape": ({"type": tarfile.SYMTYPE, "linkname": "a\x1b"}, "holds a control character"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_tar_members(tmp_path: Path, kind: str) -> None:
    fields, reason = KINDS[kind]
    body = b"1\n0\n512\n" + bytes(1016) if kind == "sparse" else b""
    message = _refused(tmp_path, tar_gz(tar_entry("good", b"x"), tar_entry("evil", body, **fields)))
    assert reason in message
    assert "`evil`" in message or "`s`" in message


def test_a_link_through_a_link_that_leads_outside(tmp_path: Path) -> None:
    data = tar_gz(
        tar_entry("a/b/c", b"x"),
        tar_entry("up", type=tarfile.SYMTYPE, linkname="a/b"),
        tar_entry("out", type=tarfile.SYMTYPE, linkname="up/../../../etc"),
    )
    assert "which leads outside" in _refused(tmp_path, data)


def test_links_that_never_end(tmp_path: Path) -> None:
    data = tar_gz(
        tar_entry("a", type=tarfile.SYMTYPE, linkname="b"),
        tar_entry("b", type=tarfile.SYMTYPE, linkname="a"),
    )
    assert "which never ends" in _refused(tmp_path, data)


def test_a_file_below_a_symlink(tmp_path: Path) -> None:
    data = tar_gz(
        tar_entry("dir", type=tarfile.SYMTYPE, linkname="."),
        tar_entry("dir/file", b"x"),
    )
    assert "its name is the same as that of `dir`" in _refused(tmp_path, data)


def test_a_link_that_leaves_its_part_once_stripped(tmp_path: Path) -> None:
    source = tmp_path / "a.tar.gz"
    source.write_bytes(
        tar_gz(tar_entry("top/x", b"1"), tar_entry("lib/l", type=tarfile.SYMTYPE, linkname="../top/x"))
    )
    (tmp_path / "out").mkdir()
    with pytest.raises(ArchiveError, match="which leads outside"):
        unpack(source, "tar.gz", [Selection(tmp_path / "out", ("lib/**",), strip=1)])


ZIP_MEMBERS = {
    "device": (0o020644, "not a file, a folder or a symlink"),
    "setuid": (0o104755, "a setuid, setgid or sticky bit"),
    "folder by mode": (0o040755, "a folder by its mode and a file by its name"),
}


@pytest.mark.parametrize("kind", ZIP_MEMBERS)
def test_hostile_zip_members(tmp_path: Path, kind: str) -> None:
    mode, reason = ZIP_MEMBERS[kind]
    assert reason in _refused(tmp_path, zipped(zip_entry("evil", b"", mode=mode)), "zip")


def test_a_zip_symlink_that_escapes(tmp_path: Path) -> None:
    data = zipped(zip_entry("evil", b"../../etc", mode=0o120777))
    assert "which leads outside" in _refused(tmp_path, data, "zip")


ZIP_LIES: dict[str, tuple[dict[str, int], bytes, bytes, str]] = {
    "name": ({}, b"good", b"evil", "its local header calls it `good`"),
    "size": ({"size": 3}, b"a", b"a", "its two headers disagree on size or checksum"),
    "packed": ({"packed": 3}, b"a", b"a", "its two headers disagree on size or checksum"),
    "crc": ({"crc": 1}, b"a", b"a", "its two headers disagree on size or checksum"),
    "method": ({"method": 8}, b"a", b"a", "its two headers disagree on how it is packed"),
    "flags": ({"flags": 8}, b"a", b"a", "its two headers disagree on how it is packed"),
}


@pytest.mark.parametrize("lie", ZIP_LIES)
def test_zip_headers_that_disagree(tmp_path: Path, lie: str) -> None:
    wrong, local, central, reason = ZIP_LIES[lie]
    assert reason in _refused(tmp_path, raw_zip(local, central, b"data", **wrong), "zip")


def test_an_encrypted_zip(tmp_path: Path) -> None:
    data = bytearray(raw_zip(b"a", b"a", flags=1))
    data[data.index(b"PK\1\2") + 8] = 1
    assert "it is encrypted" in _refused(tmp_path, bytes(data), "zip")


def test_an_unusual_compression(tmp_path: Path) -> None:
    data = zipped(zip_entry("a", b"x" * 100), compression=zipfile.ZIP_BZIP2)
    assert "compression method 12" in _refused(tmp_path, data, "zip")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_overlapping_zip_entries(tmp_path: Path) -> None:
    message = _refused(tmp_path, overlapping_zip(["a", "b", "c"]), "zip")
    assert "overlaps" in message.lower()


# Budgets


def test_too_many_entries(tmp_path: Path) -> None:
    data = tar_gz(*(tar_entry(f"f{number}") for number in range(12)))
    assert "more than 10 entries" in _refused(tmp_path, data, budget=Budget(10, 1 << 20))


def test_too_many_bytes_announced(tmp_path: Path) -> None:
    data = zipped(zip_entry("zeros", bytes(2 << 20)))
    assert "more than 1048576 bytes" in _refused(tmp_path, data, "zip", Budget(10, 1 << 20))


def test_too_many_bytes_in_padding(tmp_path: Path) -> None:
    # Nothing is announced here: the bytes come after the end marker.
    data = gzip.compress(tar(tar_entry("a", b"x")) + bytes(70 << 20))
    assert "unpacks to more bytes than its size allows" in _refused(
        tmp_path, data, budget=Budget(10, 1 << 20)
    )


def test_the_default_budget_stops_a_bomb(tmp_path: Path) -> None:
    bomb = gzip.compress(tar(tar_entry("zeros", bytes(100 << 20))))
    assert len(bomb) < 200_000
    assert "bytes when unpacked" in _refused(tmp_path, bomb)


def test_the_default_budget_allows_real_libraries() -> None:
    assert archive.budget_for(19_000_000).bytes > 40 * 19_000_000


# Damage


def test_truncated(tmp_path: Path) -> None:
    data = tar_gz(tar_entry("a", os.urandom(5000)))
    assert "is damaged or not a tar.gz archive" in _refused(tmp_path, data[:-100])


def test_without_an_end_marker(tmp_path: Path) -> None:
    plain = tar(tar_entry("a", b"x" * 512))
    assert "a header is damaged or missing" in _refused(tmp_path, plain[:1024], "tar")


def test_a_broken_header_in_the_middle(tmp_path: Path) -> None:
    plain = bytearray(tar(tar_entry("a", b"x" * 512), tar_entry("b", b"y")))
    plain[1024 + 10] ^= 0xFF
    assert "a header is damaged or missing" in _refused(tmp_path, bytes(plain), "tar")


def test_a_wrong_checksum_at_the_end(tmp_path: Path) -> None:
    data = bytearray(tar_gz(tar_entry("a", b"x")))
    data[-6] ^= 0xFF
    assert "is damaged or not a tar.gz archive" in _refused(tmp_path, bytes(data))


@pytest.mark.parametrize("archive_format", ["tar", "tar.gz", "tar.xz", "tar.zst", "zip"])
def test_not_an_archive(tmp_path: Path, archive_format: str) -> None:
    message = _refused(tmp_path, b"<html>please log in</html>" * 40, archive_format)
    assert f"`bad` is damaged or not a {archive_format} archive" in message


@pytest.mark.parametrize("archive_format", ["tar", "tar.gz", "tar.xz", "tar.zst", "zip"])
def test_empty_file(tmp_path: Path, archive_format: str) -> None:
    _refused(tmp_path, b"", archive_format)


def test_gzip_by_the_standard_library_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert (_unpack(tmp_path, tar_gz(tar_entry("a", b"x"))) / "a").read_bytes() == b"x"


def test_zstd_without_a_reader_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    message = _refused(tmp_path, zstandard.compress(tar(tar_entry("a"))), "tar.zst")
    assert "which this Python cannot read" in message


def test_a_file_without_a_name(tmp_path: Path) -> None:
    assert "the name is empty" in _refused(tmp_path, raw_zip(b"", b""), "zip")
    (tmp_path / "out").rmdir()
    assert "the name is empty" in _refused(tmp_path, tar_gz(tar_entry("./x"), tar_entry("./.", b"x")))


def test_a_zip_offset_before_the_file(tmp_path: Path) -> None:
    data = bytearray(raw_zip(b"a", b"a"))
    end = data.index(b"PK\5\6")
    data[end + 16 : end + 20] = (1 << 20).to_bytes(4, "little")
    _refused(tmp_path, bytes(data), "zip")


MUTATIONS = 4000


@pytest.mark.parametrize("seed", range(2))
def test_mutated_archives_unpack_or_are_refused(tmp_path: Path, seed: int) -> None:
    """No mutation may end in anything but files or an `ArchiveError`; found three that did."""
    source, folder = tmp_path / "archive", tmp_path / "out"
    chance = random.Random(seed)
    samples = _samples()
    refused = 0
    for _ in range(MUTATIONS):
        archive_format, data = chance.choice(samples)
        source.write_bytes(_mutated(chance, data))
        folder.mkdir(exist_ok=True)
        try:
            unpack(source, archive_format, [Selection(folder, ALL)])
            shutil.rmtree(folder)
        except ArchiveError:
            refused += 1
            assert list(folder.iterdir()) == []
    assert 0 < refused < MUTATIONS


def _samples() -> list[tuple[str, bytes]]:
    plain = tar(
        tar_entry("a/b", b"x" * 700),
        tar_entry("ü" * 60 + "/" + "n" * 120, b"long"),
        tar_entry("link", type=tarfile.SYMTYPE, linkname="a/b"),
        tar_entry("dir/", type=tarfile.DIRTYPE),
    )
    packed = zipped(
        zip_entry("a/b", b"x" * 700),
        zip_entry("ünï", b"y" * 40),
        zip_entry("link", b"a/b", mode=0o120777),
        zip_entry("dir/", mode=0o40755),
    )
    return [
        ("tar", plain),
        ("tar.gz", gzip.compress(plain)),
        ("tar.xz", lzma.compress(plain)),
        ("tar.zst", zstandard.compress(plain)),
        ("zip", packed),
        ("zip", zipped(zip_entry("a", b"x" * 50), compression=zipfile.ZIP_STORED)),
        ("zip", raw_zip(b"name", b"name")),
    ]


def _mutated(chance: random.Random, data: bytes) -> bytes:
    mutated = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        place = chance.randrange(len(mutated))
        kind = chance.randrange(4)
        if kind == 0:
            mutated[place] = chance.choice([0, 255, chance.randrange(256)])
        elif kind == 1:
            number = chance.choice([0, 1, 0x7FFFFFFF, 0xFFFFFFFF, chance.randrange(1 << 32)])
            mutated[place : place + 4] = number.to_bytes(4, "little")
        elif kind == 2:
            mutated[place:place] = mutated[place : place + chance.randrange(1, 64)]
        elif len(mutated) > 20 and chance.random() < 0.3:
            del mutated[place:]
        mutated = mutated or bytearray(b"x")
    return bytes(mutated)


@pytest.mark.parametrize(
    ("target", "ok"),
    [("b", True), ("../b", True), ("./b", True), ("../../b", False), ("/b", False), ("b//c", True)],
)
def test_escape_reason(target: str, *, ok: bool) -> None:
    assert (escape_reason("a/link", target, {}) is None) == ok


@pytest.mark.parametrize("after", [0, 1, 5])
def test_halting(tmp_path: Path, after: int) -> None:
    """Whoever is not wanted any more stops in the middle of a file, and leaves nothing."""
    archive = tmp_path / "a.tar"
    archive.write_bytes(pack_tar([Entry("a", bytes(5 << 20)), Entry("b", b"b")], ""))
    folder = tmp_path / "out"
    folder.mkdir()
    asked = iter([False] * after)
    with pytest.raises(HaltedError):
        unpack(archive, "tar", [Selection(folder, ("**",))], halted=lambda: next(asked, True))
    assert list(folder.iterdir()) == []
