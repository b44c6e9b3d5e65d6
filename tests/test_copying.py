"""Copies have the same bytes, whichever way they were made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from etfetch import copying


@pytest.mark.parametrize("size", [0, 1, 5_000_000])
def test_copy(tmp_path: Path, size: int) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(os.urandom(size))
    target.write_bytes(b"something longer that stood there" * 10)
    copying.copy(source, target)
    assert target.read_bytes() == source.read_bytes()


def test_clone_either_does_it_or_says_no(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"bytes" * 10_000)
    if copying.clone(source, target):
        assert target.read_bytes() == source.read_bytes()
        target.write_bytes(b"mine")
        assert source.read_bytes() == b"bytes" * 10_000


def test_a_missing_source(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        copying.copy(tmp_path / "nothing", tmp_path / "target")
