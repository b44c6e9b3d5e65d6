"""Writing a file in one step, wherever the temporary file can stand."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from etfetch import durable


def test_a_bind_mount_between_scratch_and_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers mount `node_modules` so: the device is the same, and renaming across is refused."""
    scratch, target = tmp_path / "node_modules", tmp_path / "etfetch.lock"
    scratch.mkdir()
    rename = os.replace

    def replace(source: Path, to: Path) -> None:
        if source.parent != to.parent:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(source, to)

    monkeypatch.setattr(os, "replace", replace)
    durable.write_file(target, b"new", scratch)
    assert target.read_bytes() == b"new"
    assert sorted(tmp_path.rglob("*")) == [target, scratch]


def test_other_refusals_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def replace(source: Path, to: Path) -> None:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(PermissionError):
        durable.write_file(tmp_path / "x", b"new", tmp_path)
    assert list(tmp_path.iterdir()) == []
