"""A release tree with real archives, built from the C sources beside this file.

    python -m server_fixtures.release_tree DIR http://127.0.0.1:8000

The package `demo` has the shapes that real releases have: a runtime with headers, backends as archives of
their own, kernels that register the same operator, an Apple framework with a symlink, an archive a
flavour on Android, and a version whose digest stands in a sidecar. The layout is that of a release
server: `index.json`, `<package>/<version>/manifest.toml`, the archives and their `.sha256`.

Archives are the same bytes on every run. Without a C compiler the libraries are archives of the sources,
which is all that installing needs to know of them.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parent / "sources"
PACKAGE = "demo"
VERSIONS = ("1.0.0", "1.1.0", "2.0.0rc1")
LINUX = ("linux-x86_64", "linux-aarch64")
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Entry:
    """A member to pack; `link` makes it a symlink."""

    name: str
    data: bytes = b""
    mode: int = 0o644
    link: str = ""


def build(root: Path, base_url: str) -> None:
    """Write the whole tree below `root`, with manifests that point to `base_url`."""
    for version in VERSIONS:
        folder = root / PACKAGE / version
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in _archives(version).items():
            (folder / name).write_bytes(data)
            digest = hashlib.sha256(data).hexdigest()
            (folder / f"{name}.sha256").write_text(f"{digest}  {name}\n")
        text = manifest(folder, version, f"{base_url}/{PACKAGE}/{version}")
        (folder / "manifest.toml").write_text(text)
    (root / "operators").mkdir(exist_ok=True)
    for name, text in OPERATORS.items():
        (root / "operators" / f"{name}.txt").write_text(text)
    write_index(root)


def write_index(root: Path) -> None:
    """Write the `index.json` of the manifests and operator sets that stand below `root`."""
    packages: dict[str, dict[str, str]] = {}
    for path in sorted(root.glob("*/*/manifest.toml")):
        version = path.parent
        packages.setdefault(version.parent.name, {})[version.name] = _digest(path)
    operators = {path.stem: _digest(path) for path in sorted(root.glob("operators/*.txt"))}
    index = {"schema": 1, "packages": packages, "operators": operators}
    (root / "index.json").write_text(json.dumps(index, indent=2, sort_keys=True) + "\n")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def manifest(folder: Path, version: str, url: str) -> str:
    """The manifest of one version, with the digests and sizes of the archives in `folder`."""
    head = _HEAD.format(version=version)
    if "rc" in version:
        head = head.replace("[features]", "prerelease = true\n\n[features]")
    pieces = [head]
    for artifact in sorted(folder.glob("*.*")):
        if artifact.suffix in {".sha256", ".toml"}:
            continue
        lines = ["[[artifacts]]", f'name = "{artifact.name}"', f'source = "{url}/{artifact.name}"']
        if "slow" in artifact.name:
            lines.append('checksum = "sidecar"')
        else:
            data = artifact.read_bytes()
            lines.append(f'sha256 = "{hashlib.sha256(data).hexdigest()}"')
            lines.append(f"size = {len(data)}")
        if artifact.suffix == ".aar":
            lines.append(f'flavour = "{artifact.stem.rpartition("-")[2]}"')
        pieces.append("\n".join(lines) + "\n\n" + _parts(artifact.name))
    return "\n".join(pieces)


def pack_tar(entries: list[Entry], compression: str = "gz") -> bytes:
    """A TAR of the entries, always the same bytes; `compression` is gz, xz or ""."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tape:
        for entry in entries:
            info = tarfile.TarInfo(entry.name)
            info.mode = entry.mode
            if entry.link:
                info.type, info.linkname = tarfile.SYMTYPE, entry.link
            info.size = len(entry.data)
            tape.addfile(info, io.BytesIO(entry.data))
    data = plain.getvalue()
    if compression == "gz":
        return gzip.compress(data, mtime=0)
    if compression == "xz":
        import lzma

        return lzma.compress(data)
    return data


def pack_zip(entries: list[Entry]) -> bytes:
    """A ZIP of the entries, always the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bundle:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, _EPOCH)
            info.create_system = 3
            kind = 0o120000 if entry.link else 0o100000
            info.external_attr = (kind | entry.mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            bundle.writestr(info, entry.link or entry.data)
    return buffer.getvalue()


def _archives(version: str) -> dict[str, bytes]:
    header = (SOURCES / "include" / "demo" / "registry.h").read_bytes()
    number = f'#define DEMO_VERSION "{version}"\n'.encode()
    headers = [Entry("include/demo/registry.h", header), Entry("include/demo/version.h", number)]
    archives = {"headers.tar.gz": pack_tar(headers)}
    for platform in LINUX:
        for name, compression in (("runtime", "gz"), ("backend_fast", "xz"), ("backend_slow", "gz")):
            library = _library(name, version)
            members = [Entry(f"./lib/lib{name}.a", library), Entry(f"./share/{name}.txt", b"text\n")]
            members += [Entry("./bin/tool", b"#!/bin/sh\n", 0o755)] if name == "runtime" else []
            file = f"{name}-{platform}.tar.{compression}"
            archives[file] = pack_tar(members, compression)
        both = [
            Entry(f"sdk/lib/lib{name}.a", _library(name, version))
            for name in ("kernels_plain", "kernels_quick")
        ]
        archives[f"kernels-{platform}.zip"] = pack_zip(both)
    archives["runtime-apple.zip"] = pack_zip(_framework(version))
    for flavour in ("fast", "slow"):
        member = Entry("jni/arm64-v8a/libdemo.so", flavour.encode() + version.encode())
        archives[f"android-{flavour}.aar"] = pack_zip([member, Entry("classes.jar", b"jar")])
    return archives


def _framework(version: str) -> list[Entry]:
    root = "demo.xcframework/macos-arm64/demo.framework"
    return [
        Entry("demo.xcframework/Info.plist", b"<plist/>\n"),
        Entry(f"{root}/Versions/A/demo", _library("runtime", version), 0o755),
        Entry(f"{root}/Versions/Current", link="A"),
        Entry(f"{root}/demo", link="Versions/Current/demo"),
    ]


def _library(name: str, version: str) -> bytes:
    """A static library of one source. Only the runtime differs between versions."""
    if name != "runtime":
        version = VERSIONS[0]
    compiler, archiver = shutil.which("cc"), shutil.which("ar")
    if not (compiler and archiver):
        return _archive_of((SOURCES / f"{name}.c").read_bytes() + version.encode())
    with tempfile.TemporaryDirectory() as scratch:
        built = Path(scratch) / f"{name}.o"
        define = f'-DDEMO_VERSION="{version}"'
        source = [str(SOURCES / f"{name}.c"), f"-I{SOURCES / 'include'}"]
        subprocess.run([compiler, "-c", "-O1", define, *source, "-o", str(built)], check=True)
        library = Path(scratch) / f"lib{name}.a"
        subprocess.run([archiver, "rcsD", str(library), str(built)], check=True)
        return library.read_bytes()


def _archive_of(data: bytes) -> bytes:
    """An `ar` archive with one member (see ar(5))."""
    header = f"{'source.c/':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode()
    return b"!<arch>\n" + header + data + b"\n" * (len(data) % 2)


def _parts(name: str) -> str:
    stem = name.partition(".")[0]
    if stem == "headers":
        return _part("headers", ["any"], ["include/**"], to=PACKAGE)
    if stem == "runtime-apple":
        return _part("runtime", ["macos-arm64", "ios"], ["demo.xcframework/**"], to="demo/apple")
    if stem.startswith("android"):
        given = f'provides = ["backend_{stem.rpartition("-")[2]}"]\n'
        members = ["jni/arm64-v8a/*.so", "classes.jar"]
        return _part("runtime", ["android-arm64-v8a"], members, to="demo/android") + given
    component, _, platform = stem.partition("-")
    to = f"demo/{platform}"
    if component == "kernels":
        return "\n".join(
            _part(kernels, [platform], [f"sdk/lib/lib{kernels}.a"], to=to, strip=1)
            for kernels in ("kernels_plain", "kernels_quick")
        )
    link = (
        f'\n[[artifacts.parts.links]]\nplatforms = ["{platform}"]\nkind = "static"\n'
        f'files = ["{to}/lib/lib{component}.a"]\nregisters = true\n'
    )
    return _part(component, [platform], ["**"], to=to) + link


def _part(component: str, platforms: list[str], members: list[str], *, to: str, strip: int = 0) -> str:
    lines = [
        "[[artifacts.parts]]",
        f'component = "{component}"',
        f"platforms = {json.dumps(platforms)}",
        f"members = {json.dumps(members)}",
        f'to = "{to}"',
    ]
    if strip:
        lines.append(f"strip = {strip}")
    return "\n".join(lines) + "\n"


_HEAD = """\
schema = 1
package = "demo"
version = "{version}"

[features]
speed = ["backend_fast", "kernels_quick"]

[components.runtime]
kind = "runtime"
short = "demo"
requires = ["headers"]

[components.headers]
kind = "headers"

[components.backend_fast]
kind = "backend"
short = "fast"
aliases = ["rapid"]
delegate = "FastBackend"

[components.backend_slow]
kind = "backend"
short = "slow"
delegate = "SlowBackend"

[components.backend_never]
kind = "backend"
short = "never"
stability = "experimental"
unavailable = "nobody builds it"
hint = "use `fast`"

[components.kernels_plain]
kind = "kernels"
short = "plain"
operators = ["demo-plain"]

[components.kernels_quick]
kind = "kernels"
short = "quick"
operators = ["demo-quick"]
"""

OPERATORS = {"demo-plain": "demo::add.out\ndemo::mul.out\n", "demo-quick": "demo::add.out\n"}
"""The operator sets that the manifests refer to, for a `manifests/operators/` folder."""


if __name__ == "__main__":
    build(Path(sys.argv[1]), sys.argv[2].rstrip("/"))
