"""Where the app is that a library is installed for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from etfetch import consumer
from etfetch.consumer import Consumer
from etfetch.errors import ConfigError
from tests.apps import write_package

BLOCK: dict[str, object] = {"key": {"backends": []}}


def _library(folder: Path) -> Path:
    return write_package(folder / "node_modules/lib", version="1").parent


def _find(library: Path, here: Path | None = None, **environment: Path) -> Consumer:
    variables = {name: str(path) for name, path in environment.items()}
    return consumer.find(library, "key", variables, here or library)


def _files(found: Consumer) -> list[Path]:
    return [block.path for block in found.blocks]


def test_where_the_package_manager_was_called(tmp_path: Path) -> None:
    app = write_package(tmp_path / "app", **BLOCK)
    write_package(tmp_path, **BLOCK)
    found = _find(_library(tmp_path), INIT_CWD=tmp_path / "app")
    assert (found.folder, _files(found)) == (tmp_path / "app", [app])
    assert found.blocks[0].value == {"backends": []}


def test_the_folder_npm_works_on_comes_second(tmp_path: Path) -> None:
    write_package(tmp_path / "app", **BLOCK)
    inside = tmp_path / "app/ios"
    inside.mkdir()
    library = _library(tmp_path / "elsewhere")
    found = _find(library, INIT_CWD=inside, npm_config_local_prefix=tmp_path / "app")
    assert found.folder == tmp_path / "app"


def test_without_a_package_manager_the_working_directory(tmp_path: Path) -> None:
    write_package(tmp_path / "app", **BLOCK)
    library = _library(tmp_path / "store")
    assert _find(library, here=tmp_path / "app").folder == tmp_path / "app"
    # Under a package manager the working directory is the library's, or nobody's business.
    assert _find(library, here=tmp_path / "app", INIT_CWD=tmp_path).blocks == ()


def test_the_folders_above_the_library(tmp_path: Path) -> None:
    write_package(tmp_path, workspaces=["apps/*"])
    app = write_package(tmp_path / "apps/mobile", **BLOCK)
    library = _library(tmp_path / "apps/mobile")
    found = _find(library, INIT_CWD=tmp_path)
    assert _files(found) == [app]
    assert found.files[-1] == app
    assert found.folders == ()


def test_pnpms_store_leads_to_the_root(tmp_path: Path) -> None:
    app = write_package(tmp_path, **BLOCK)
    assert _files(_find(_library(tmp_path / "node_modules/.pnpm/lib@1"))) == [app]


def test_a_package_between_is_not_the_app(tmp_path: Path) -> None:
    write_package(tmp_path)
    write_package(tmp_path / "node_modules/other", **BLOCK)
    found = _find(_library(tmp_path / "node_modules/other"))
    assert (found.folder, found.blocks) == (tmp_path, ())


@pytest.mark.parametrize("kind", ["npm", "yarn", "pnpm"])
def test_a_hoisted_library_finds_the_one_member_that_chose(tmp_path: Path, kind: str) -> None:
    patterns = ["apps/*", "packages/**", "!apps/old"]
    roots: dict[str, object] = {"npm": patterns, "yarn": {"packages": patterns}}
    write_package(tmp_path, **({"workspaces": roots[kind]} if kind in roots else {}))
    if kind == "pnpm":
        (tmp_path / "pnpm-workspace.yaml").write_text(f"packages: {json.dumps(patterns)}\n")
    app = write_package(tmp_path / "packages/native/mobile", **BLOCK)
    write_package(tmp_path / "packages/web")
    write_package(tmp_path / "apps/old", **BLOCK)
    write_package(tmp_path / "packages/web/node_modules/other", **BLOCK)
    found = _find(_library(tmp_path), INIT_CWD=tmp_path)
    assert (found.folder, _files(found)) == (app.parent, [app])
    # A new member may appear anywhere below: nothing short of searching again would see it.
    assert found.folders is None


def test_braces_name_several_folders(tmp_path: Path) -> None:
    write_package(tmp_path, workspaces=["apps/{mobile,tablet}"])
    app = write_package(tmp_path / "apps/tablet", **BLOCK)
    assert _files(_find(_library(tmp_path))) == [app]


def test_a_new_member_would_be_noticed(tmp_path: Path) -> None:
    write_package(tmp_path, workspaces=["apps/*", "tools"])
    write_package(tmp_path / "apps/mobile")
    found = _find(_library(tmp_path))
    assert found.folders == (tmp_path / "apps", tmp_path)
    assert tmp_path / "apps/mobile/package.json" in found.files


def test_several_members_share_the_lock_at_the_root(tmp_path: Path) -> None:
    write_package(tmp_path, workspaces=["apps/*"])
    files = [write_package(tmp_path / "apps" / name, **BLOCK) for name in ("a", "b")]
    found = _find(_library(tmp_path))
    assert (found.folder, _files(found)) == (tmp_path, files)


def test_nobody_chose(tmp_path: Path) -> None:
    write_package(tmp_path / "app")
    found = _find(_library(tmp_path / "app"), INIT_CWD=tmp_path / "app")
    assert (found.folder, found.blocks) == (tmp_path / "app", ())


def test_a_library_alone_is_its_own_home(tmp_path: Path) -> None:
    library = write_package(tmp_path / "lib", **BLOCK).parent
    found = _find(library, INIT_CWD=library)
    assert (found.folder, found.blocks) == (library, ())


def test_a_library_in_its_own_workspace_is_not_an_app(tmp_path: Path) -> None:
    write_package(tmp_path, workspaces=["packages/*", "apps/*"])
    library = write_package(tmp_path / "packages/lib", **BLOCK).parent
    app = write_package(tmp_path / "apps/example", **BLOCK)
    assert _files(_find(library, INIT_CWD=tmp_path)) == [app]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("package.json", "{", "package.json` is not valid JSON: Expecting property name"),
        ("package.json", b"\xff\xfe", "package.json` is not valid JSON: 'utf-8' codec can't decode"),
        ("pnpm-workspace.yaml", "packages: [", "pnpm-workspace.yaml` is not valid YAML: while parsing"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, text: str | bytes, message: str) -> None:
    library = _library(tmp_path)
    (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ConfigError) as caught:
        _find(library)
    assert message in caught.value.message
    assert caught.value.code == 2


@pytest.mark.parametrize("text", ["[]", '"x"', "null"])
def test_json_of_another_shape_is_no_package(tmp_path: Path, text: str) -> None:
    (tmp_path / "package.json").write_text(text)
    library = _library(tmp_path)
    assert _find(library).folder == library


def test_windows_editors_begin_with_a_mark(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(json.dumps(BLOCK), encoding="utf-8-sig")
    assert _find(_library(tmp_path)).folder == tmp_path


def test_dependencies_are_found_as_node_finds_them(tmp_path: Path) -> None:
    app = write_package(
        tmp_path / "apps/a", dependencies={"lib": "*"}, devDependencies={"@x/dev": "*"}
    ).parent
    hoisted = _library(tmp_path)
    own = write_package(app / "node_modules/@x/dev").parent
    write_package(tmp_path / "node_modules/unasked")
    assert consumer.dependencies(app) == (own, hoisted)
    shutil.rmtree(hoisted)
    assert consumer.dependencies(app) == (own,)
    assert consumer.dependencies(tmp_path) == ()
