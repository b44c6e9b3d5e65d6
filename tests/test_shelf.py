"""Folders of manifests: the carried one, a project's own, and files that don't belong there."""

from __future__ import annotations

from pathlib import Path

import pytest

from etfetch import shelf
from etfetch.errors import ConfigError, ManifestError


def _write(folder: Path, name: str, data: bytes = b"schema = 1\n") -> None:
    path = folder / "manifests" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def test_without_a_folder_of_its_own(tmp_path: Path) -> None:
    assert shelf.load(tmp_path).packages == ("executorch", "react-native-executorch")
    assert shelf.load().packages == shelf.load(tmp_path).packages


def test_a_projects_own_releases_join(tmp_path: Path) -> None:
    _write(tmp_path, "executorch/9.9.toml")
    _write(tmp_path, "mine/0.1.toml")
    catalogue = shelf.load(tmp_path)
    assert catalogue.versions("executorch")[0] == "9.9"
    assert catalogue.versions("mine") == ["0.1"]


def test_the_same_release_with_other_content(tmp_path: Path) -> None:
    _write(tmp_path, "executorch/1.5.1.toml")
    with pytest.raises(ConfigError) as caught:
        shelf.load(tmp_path)
    assert caught.value.message == "two catalogues describe executorch 1.5.1 differently"
    assert caught.value.data == (
        "manifests/executorch/1.5.1.toml",
        f"{tmp_path}/manifests/executorch/1.5.1.toml",
    )


def test_an_operator_set_with_other_content(tmp_path: Path) -> None:
    _write(tmp_path, "operators/prim-1.4.0.txt", b"aten::add.out\n")
    with pytest.raises(ConfigError, match="two catalogues hold different operators under `prim-1\\.4\\.0`"):
        shelf.load(tmp_path)


def test_a_name_that_is_no_version(tmp_path: Path) -> None:
    _write(tmp_path, "mine/latest.toml")
    with pytest.raises(ManifestError, match="`latest` is not a version"):
        shelf.load(tmp_path)


def test_not_utf8(tmp_path: Path) -> None:
    _write(tmp_path, "mine/0.1.toml", b"# \xff")
    with pytest.raises(ManifestError, match="not UTF-8 at byte 2"):
        shelf.load(tmp_path)


def test_etfetchs_own_checkout_is_not_merged_with_itself() -> None:
    checkout = shelf.carried_folder().parent
    assert shelf.load(checkout).texts == shelf.load().texts
