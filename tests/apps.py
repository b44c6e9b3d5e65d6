"""Apps and the library they depend on, installed as a package manager would have put them there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.world import Ran, World

EXAMPLES = Path(__file__).parent.parent / "examples/react-native"
KEY = "react-native-executorch"
NAME = "react-native-on-device"
"""The example library's name."""

FLAGS = {
    "enableOpencv": "opencv",
    "enablePhonemis": "phonemis",
    "enablePhonemizer": "phonemis",
    "enableXnnpack": "xnnpack",
    "enableCoreml": "coreml",
    "enableMlx": "mlx",
    "enableVulkan": "vulkan",
}


def flags(*names: str, **more: object) -> dict[str, object]:
    """The build configuration that turns these on and everything else off."""
    return {**{flag: name in names for flag, name in FLAGS.items()}, **more}


def write_package(folder: Path, **values: object) -> Path:
    """Write a `package.json` in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "package.json"
    path.write_text(json.dumps({"name": folder.name, **values}, indent=2) + "\n")
    return path


class App:
    """An app in `world.root / "app"` with its own copy of the example library."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.folder = world.root / "app"
        self.library = self.folder / "node_modules" / NAME
        shutil.copytree(EXAMPLES / "library", self.library)
        # As in a real package: sources of its own stand where the libraries go.
        own = self.library / "third-party/common/phonemis/src.cpp"
        own.parent.mkdir(parents=True)
        own.write_text("// the package's own\n")
        self.choose(None)
        for name in ("INIT_CWD", "npm_config_local_prefix", "npm_config_user_agent"):
            world.delenv(name)
        world.setenv(INIT_CWD=str(self.folder), RNET_BASE_URL=world.server.url)
        world.chdir(self.library)

    def choose(self, block: Any) -> None:  # noqa: ANN401  # any JSON, also wrong
        """Write the app's package.json with this block; None for none."""
        chosen = {} if block is None else {KEY: block}
        write_package(self.folder, dependencies={NAME: "*"}, **chosen)

    def install(self, *words: str) -> Ran:
        return self.world.ok("install", *words)

    @property
    def build_config(self) -> dict[str, object]:
        found: dict[str, object] = json.loads((self.library / "rne-build-config.json").read_text())
        return found

    @property
    def lock(self) -> Path:
        return self.folder / "etfetch.lock"

    @property
    def libraries(self) -> set[str]:
        """The names of all installed files but headers and the package's own."""
        root = self.library / "third-party"
        names = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
        return {name for name in names if name.split("/")[0] not in {".etfetch", "common", "include"}}
