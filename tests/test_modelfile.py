"""Finding model files: patterns, what is watched, pointers of Git LFS."""

from __future__ import annotations

from pathlib import Path

import pytest

from etfetch import digest, modelfile, modelpaths
from etfetch.errors import ConfigError

DEEP = ("assets/deep/d.ptd", "assets/deep/er/c.pte")
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (
        "a.pte",
        "assets/b.pte",
        "assets/B.PTE",
        "assets/deep/er/c.pte",
        "assets/deep/d.ptd",
        "assets/.hidden/e.pte",
        "assets/[x]/f.pte",
        "node_modules/lib/g.pte",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    return tmp_path


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (["a.pte"], ["a.pte"]),
        (["*.pte"], ["a.pte"]),
        (["assets/*.pte"], ["assets/b.pte"]),
        (["assets/**/*.pte"], ["assets/[x]/f.pte", "assets/b.pte", "assets/deep/er/c.pte"]),
        (["assets/**/*.pt?"], ["assets/[x]/f.pte", "assets/b.pte", *DEEP]),
        (["**/*.pte"], ["a.pte", "assets/[x]/f.pte", "assets/b.pte", "assets/deep/er/c.pte"]),
        (["node_modules/*/*.pte"], ["node_modules/lib/g.pte"]),
        (["assets/[[]x]/f.pte"], ["assets/[x]/f.pte"]),
        (["a.pte", "*.pte"], ["a.pte"]),
    ],
)  # fmt: skip
def test_what_patterns_find(tree: Path, patterns: list[str], names: list[str]) -> None:
    found = modelfile.search(tree, patterns)
    assert [name for name, _ in found.files] == names
    assert all(path.read_bytes() == name.encode() for name, path in found.files)
    assert found.unmatched == ()
    assert all(modelfile.matches(name, patterns) for name in names)


def test_models_above_the_folder(tree: Path) -> None:
    (tree / "native").mkdir()
    found = modelfile.search(tree / "native", ["../assets/*.pte"])
    assert [name for name, _ in found.files] == ["../assets/b.pte"]


def test_patterns_without_a_file(tree: Path) -> None:
    found = modelfile.search(tree, ["b.pte", "assets", "none/*.pte", "*.pte"])
    assert found.unmatched == ("b.pte", "assets", "none/*.pte")


@pytest.mark.parametrize(
    ("pattern", "folders"),
    [
        ("*.pte", ["."]),
        ("assets/*.pte", ["assets"]),
        ("assets/*/f.pte", ["assets"]),
        ("assets/*/*.pte", ["assets", "assets/[x]", "assets/deep"]),
        ("assets/**/*.pte", ["assets", "assets/[x]", "assets/deep", "assets/deep/er"]),
        ("assets/**/c.pte", ["assets", "assets/[x]", "assets/deep", "assets/deep/er"]),
        ("none/*.pte", ["none"]),
    ],
)
def test_the_folders_where_another_would_be_found(tree: Path, pattern: str, folders: list[str]) -> None:
    found = modelfile.search(tree, [pattern])
    searched = set(found.places) - {path for _, path in found.files}
    assert sorted(path.relative_to(tree).as_posix() for path in searched) == folders
    assert {path for _, path in found.files} <= set(found.places)


def test_a_named_file_is_looked_for_whether_it_is_there_or_not(tree: Path) -> None:
    assert modelfile.search(tree, ["a.pte"]).places == (tree / "a.pte",)
    assert modelfile.search(tree, ["b.pte"]).places == (tree / "b.pte",)


def test_a_name_that_a_lock_cannot_hold(tree: Path) -> None:
    (tree / "aux.pte").touch()
    with pytest.raises(ConfigError) as caught:
        modelfile.search(tree, ["aux.pte"])
    assert (
        caught.value.message
        == "a lock cannot name the model `aux.pte`: `aux.pte` is a device name on Windows"
    )


def test_decomposed_names_are_composed(tree: Path) -> None:
    (tree / "modele\u0301.pte").touch()
    [(name, _)] = modelfile.search(tree, ["mod*.pte"]).files
    assert name == "model\u00e9.pte"


def test_a_literal_matches_nothing_else(tree: Path) -> None:
    pattern = modelpaths.literal("assets/[x]/f.pte")
    assert [name for name, _ in modelfile.search(tree, [pattern]).files] == ["assets/[x]/f.pte"]


def test_a_pointer_of_git_lfs(tmp_path: Path) -> None:
    model, pointer = tmp_path / "m.pte", tmp_path / "p.pte"
    model.write_bytes(b"weights")
    pointer.write_text(POINTER.format(digest.of_bytes(b"weights")))
    assert modelfile.pointed_to(pointer) == modelfile.sha256_of(pointer) == digest.of_bytes(b"weights")
    assert modelfile.pointed_to(model) is None
    assert modelfile.sha256_of(model) == digest.of_bytes(b"weights")
    pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:12\n")
    assert modelfile.pointed_to(pointer) is None
