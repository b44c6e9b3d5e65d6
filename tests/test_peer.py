"""etfetch beside react-native-executorch's own downloader: the same app, the same server, the same files.

The original package comes from the registry, and the archives are packed from the real libraries of its 0.9.2
package. Both run in a copy of the package with one app above them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from server_fixtures import react_native
from server_fixtures.release_server import ReleaseServer
from tests.apps import EXAMPLES, KEY, write_package
from tests.programs import need

pytestmark = pytest.mark.registry

BACKENDS = ("xnnpack", "coreml", "mlx", "vulkan")
FEATURES = (
    *("llm", "multimodalLLM", "privacyFilter", "speechToText", "textToSpeech", "vad", "textEmbeddings"),
    *("imageEmbeddings", "classification", "objectDetection", "keypointDetection", "semanticSegmentation"),
    *("instanceSegmentation", "ocr", "verticalOCR", "styleTransfer", "textToImage", "segmentAnything"),
    "tokenizer",
)
NOTHING: dict[str, object] = {"backends": [], "libs": [], "features": []}

CASES: dict[str, tuple[object, dict[str, str]]] = {
    "no block": (None, {}),
    "empty lists": (NOTHING, {}),
    "empty block": ({}, {}),
    **{f"backend {name}": ({"backends": [name]}, {}) for name in BACKENDS},
    **{f"library {name}": ({"libs": [name]}, {}) for name in ("opencv", "phonemis")},
    **{f"feature {name}": ({"features": [name]}, {}) for name in FEATURES},
    "all three": ({"backends": ["vulkan"], "libs": ["opencv"], "features": ["vad"]}, {}),
    "a pod": ({"libs": ["opencv"], "opencvPod": "FastOpenCV-iOS"}, {}),
    "null": ({"backends": None, "opencvPod": None}, {}),
    "Android, one ABI": (None, {"RNET_TARGET": "android-arm64-v8a"}),
    "Android, the other ABI": (None, {"RNET_TARGET": "android-x86_64"}),
    "no emulator": (None, {"RNET_NO_X86_64": "1"}),
    "iOS": (None, {"RNET_TARGET": "ios"}),
    "iOS, coreml": ({"backends": ["coreml"]}, {"RNET_TARGET": "ios"}),
    "headers only": (None, {"RNET_HEADERS_ONLY": "1"}),
    "skip-download": ({"features": ["ocr"]}, {"RNET_SKIP_DOWNLOAD": "1"}),
}


class Beside:
    """Two apps with the same package: `theirs` runs the original script, `mine` etfetch."""

    def __init__(self, root: Path, package: Path, url: str) -> None:
        self.root = root
        self.url = url
        for folder in (self.theirs, self.mine):
            folder.parent.mkdir(parents=True)
            shutil.copytree(package, folder)
        shutil.copyfile(EXAMPLES / "library/etfetch.toml", self.mine / "etfetch.toml")

    @property
    def theirs(self) -> Path:
        return self.root / "theirs/node_modules" / KEY

    @property
    def mine(self) -> Path:
        return self.root / "mine/node_modules" / KEY

    def choose(self, block: object, *, given: bool) -> None:
        for folder in (self.theirs, self.mine):
            app = folder.parent.parent
            write_package(app, dependencies={KEY: "*"}, **({KEY: block} if given else {}))

    def run_both(self, variables: dict[str, str]) -> None:
        # The original never removes anything, so it always starts from what its package holds.
        for name in ("android", "ios", "include"):
            shutil.rmtree(self.theirs / "third-party" / name, ignore_errors=True)
        script = self.theirs / "scripts/download-libs.js"
        self._run(self.theirs, [need("node"), str(script)], "their-cache", variables)
        self._run(self.mine, [sys.executable, "-m", "etfetch", "install"], "my-cache", variables)

    def _run(self, folder: Path, command: list[str], cache: str, variables: dict[str, str]) -> None:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("ETFETCH_", "RNET_"))
        }
        settings = {
            "INIT_CWD": str(folder.parent.parent),
            "NO_PROXY": "127.0.0.1",
            "PYTHONPATH": str(EXAMPLES.parent.parent),
            "RNET_BASE_URL": self.url,
            "RNET_LIBS_CACHE_DIR": str(self.root / cache),
        }
        environment = {**kept, **settings, **variables}
        environment.pop("CI", None)
        ran = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The unpacked packages of two versions, by version."""
    found = {}
    for version in ("0.9.2", "0.10.2"):
        folder = tmp_path_factory.mktemp(version)
        command = [need("npm"), "pack", "--silent", f"{KEY}@{version}"]
        subprocess.run(command, cwd=folder, capture_output=True, check=True)
        [tarball] = folder.glob("*.tgz")
        subprocess.run([need("tar"), "-xzf", tarball], cwd=folder, check=True)
        found[version] = folder / "package"
    return found


@pytest.fixture(scope="module")
def beside(originals: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    root = tmp_path_factory.mktemp("beside")
    react_native.write(originals["0.9.2"] / "third-party", root / "served")
    with ReleaseServer(root / "served") as server:
        yield Beside(root, originals["0.10.2"], server.url)


def _contents(tree: Path) -> dict[str, str]:
    return {
        path.relative_to(tree).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in tree.rglob("*")
        if path.is_file() and ".etfetch" not in path.parts
    }


@pytest.mark.parametrize("case", CASES)
def test_the_same_files_and_the_same_flags(beside: Beside, case: str) -> None:
    """etfetch goes from each case to the next one; the original starts anew."""
    block, variables = CASES[case]
    if case == "skip-download":
        shutil.rmtree(beside.mine / "third-party/.etfetch")
        for name in ("android", "ios", "include"):
            shutil.rmtree(beside.mine / "third-party" / name, ignore_errors=True)
        shutil.rmtree(beside.root / "my-cache")
    beside.choose(block, given=block is not None)
    beside.run_both(variables)
    theirs, mine = (_contents(folder / "third-party") for folder in (beside.theirs, beside.mine))
    assert mine == theirs
    config = json.loads((beside.theirs / "rne-build-config.json").read_text())
    own = json.loads((beside.mine / "rne-build-config.json").read_text())
    assert own.pop("enablePhonemizer") == config["enablePhonemis"]
    assert own == config


_PODSPEC = """
require "json"
module Pod
  class Informative < StandardError; end
  class Spec
    def initialize; @said = {}; yield self; puts JSON.generate(@said); end
    def ios; self; end
    def dependency(*words); (@said["dependency"] ||= []) << words; end
    def method_missing(name, *words); @said[name.to_s.chomp("=")] = words; end
    def respond_to_missing?(*) = true
  end
end
def install_modules_dependencies(_spec); end
eval(File.read(ARGV[0]), nil, ARGV[0])
"""


@pytest.mark.parametrize("block", [None, {"backends": ["coreml"]}, {"features": ["textToSpeech"]}])
def test_its_podspec_reads_the_same(beside: Beside, block: object) -> None:
    beside.choose(block, given=block is not None)
    beside.run_both({"RNET_TARGET": "ios"})
    said = []
    for folder in (beside.theirs, beside.mine):
        podspec = str(folder / "react-native-executorch.podspec")
        ran = subprocess.run(
            [need("ruby"), "-e", _PODSPEC, podspec], capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        said.append(ran.stdout.replace(str(folder), "HERE"))
    assert "vendored_frameworks" in said[0]
    assert said[0] == said[1]


def test_the_0_9_2_package_gives_its_own_files(originals: dict[str, Path], tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    requirement = "react-native-executorch[xnnpack,opencv]==0.9.2"
    command = [sys.executable, "-m", "etfetch", "install", requirement, "--platform", "android-arm64-v8a"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(EXAMPLES.parent.parent),
        "ETFETCH_CACHE_DIR": str(tmp_path / "c"),
    }
    ran = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    original = _contents(originals["0.9.2"] / "third-party")
    wanted = {
        name: digest
        for name, digest in original.items()
        if name.startswith("include/") or "/arm64-v8a/" in name
    }
    assert _contents(project / "third-party") == wanted
    assert len(wanted) > 400
