"""Hostile and honest archives, built member by member, for the tests of unpacking."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable

EPOCH = (1980, 1, 1, 0, 0, 0)


def tar_entry(name: str, data: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    """A TAR member; `fields` are set on the `TarInfo` as they are."""
    info = tarfile.TarInfo(name)
    info.mode = 0o644
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def tar(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tape:
        for info, data in entries:
            tape.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def tar_gz(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    return gzip.compress(tar(*entries), mtime=0)


def zip_entry(name: str, data: bytes = b"", *, mode: int = 0o100644) -> tuple[zipfile.ZipInfo, bytes]:
    """A ZIP member with a Unix mode."""
    info = zipfile.ZipInfo(name, EPOCH)
    info.create_system = 3
    info.external_attr = mode << 16
    return info, data


def zipped(*entries: tuple[zipfile.ZipInfo, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as bundle:
        for info, data in entries:
            info.compress_type = compression
            bundle.writestr(info, data)
    return buffer.getvalue()


def raw_zip(local: bytes, central: bytes, data: bytes = b"data", **wrong: int) -> bytes:
    """A ZIP of one stored member, its name given for each header apart; `wrong` falsifies local fields."""
    crc = zlib.crc32(data)
    size = len(data)
    first = struct.pack(
        "<4s5H3I2H",
        b"PK\3\4",
        20,
        wrong.get("flags", 0),
        wrong.get("method", 0),
        0,
        33,
        wrong.get("crc", crc),
        wrong.get("packed", size),
        wrong.get("size", size),
        len(local),
        0,
    )
    attributes = wrong.get("mode", 0o100644) << 16
    directory = struct.pack(
        "<4s6H3I5H2I",
        b"PK\1\2",
        (3 << 8) | 20,
        20,
        0,
        0,
        0,
        33,
        crc,
        size,
        size,
        len(central),
        0,
        0,
        0,
        0,
        attributes,
        0,
    )
    body = first + local + data
    directory += central
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(directory), len(body), 0)
    return body + directory + end


def overlapping_zip(names: Iterable[str]) -> bytes:
    """A ZIP whose entries all point to the first one's data (David Fifield's bomb, in small)."""
    names = list(names)
    whole = zipped(zip_entry(names[0], b"data"), compression=zipfile.ZIP_STORED)
    start = whole.index(b"PK\1\2")
    entry = whole[start : whole.index(b"PK\5\6")]
    directory = entry * len(names)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, len(names), len(names), len(directory), start, 0)
    return whole[:start] + directory + end
