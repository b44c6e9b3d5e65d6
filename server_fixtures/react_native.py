"""The archives of react-native-executorch's 0.10 releases, packed from what its 0.9.2 npm package holds.

    python -m server_fixtures.react_native THIRD_PARTY DIR

`THIRD_PARTY` is the package's folder of that name (`npm pack react-native-executorch@0.9.2`) or `stand_in`'s.
`DIR` becomes what any web server can serve: archives, each with its digest beside it. The 0.9.2 libraries
have their backends built in; small libraries of the same package stand for those that 0.10 has apart.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

ABIS = ("arm64-v8a", "x86_64")
_GROUPS = {"core": ("executorch", "pthreadpool", "cpuinfo"), "opencv": ("opencv", "opencv-third-party")}
_CPUINFO = "android/libs/cpuinfo/arm64-v8a/libcpuinfo.so"
_POOL = "android/libs/pthreadpool/arm64-v8a/libpthreadpool.so"
_IOS_POOL = "ios/libs/pthreadpool/physical-arm64-release/libpthreadpool.a"
_SIMULATOR_POOL = "ios/libs/pthreadpool/simulator-arm64-debug/libpthreadpool.a"
_SIMULATOR = "ios-arm64-simulator"
_FRAMEWORK = "ios/ExecutorchLib.xcframework"
_METALLIB = f"{_FRAMEWORK}/ios-arm64/ExecutorchLib.framework/mlx.metallib"
_IOS_CPUINFO = "ios/libs/cpuinfo/libcpuinfo.a"


def write(third_party: Path, folder: Path) -> None:
    """Pack every archive into a folder, with the sidecars that react-native-executorch's downloader reads."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in archives(third_party).items():
        (folder / name).write_bytes(data)
        # That downloader compares the whole text with the digest: nothing else may stand there.
        (folder / f"{name}.sha256").write_text(hashlib.sha256(data).hexdigest() + "\n")


def archives(third_party: Path) -> dict[str, bytes]:
    """Every archive of a release, by name."""
    found = {"headers.tar.gz": packed(_below(third_party, ["include"]))}
    libraries = third_party / "android/libs"
    for abi in ABIS:
        for group, names in _GROUPS.items():
            folders = [f"{name}/{abi}" for name in names if (libraries / name / abi).is_dir()]
            found[f"{group}-android-{abi}.tar.gz"] = packed(_below(libraries, folders))
        for backend, library in (("xnnpack", _POOL), ("vulkan", _CPUINFO)):
            member = f"executorch/{abi}/lib{backend}_executorch_backend.so"
            found[f"{backend}-android-{abi}.tar.gz"] = packed({member: third_party / library})
    for name, members in _ios(third_party).items():
        found[f"{name}-ios.tar.gz"] = packed(members)
    return found


def _ios(third_party: Path) -> dict[str, dict[str, Path]]:
    return {
        "core": {
            **_below(third_party / "ios", ["ExecutorchLib.xcframework"]),
            "libs/executorch/libthreadpool_ios.a": third_party / _IOS_POOL,
            "libs/executorch/libthreadpool_simulator.a": third_party / _SIMULATOR_POOL,
        },
        "xnnpack": {
            "XnnpackBackend.xcframework/ios-arm64/libXnnpackBackend.a": third_party / _IOS_POOL,
            f"XnnpackBackend.xcframework/{_SIMULATOR}/libXnnpackBackend.a": third_party / _SIMULATOR_POOL,
        },
        "coreml": {
            "CoreMLBackend.xcframework/ios-arm64/libCoreMLBackend.a": third_party / _IOS_CPUINFO,
            f"CoreMLBackend.xcframework/{_SIMULATOR}/libCoreMLBackend.a": third_party / _IOS_CPUINFO,
        },
        "mlx": {
            "MLXBackend.xcframework/ios-arm64/libMLXBackend.a": third_party / _IOS_CPUINFO,
            "libs/executorch/mlx.metallib": third_party / _METALLIB,
        },
    }


def stand_in(folder: Path) -> Path:
    """A small folder with the layout of the 0.9.2 package's `third-party`, where there is no registry."""
    names = [
        "include/executorch/runtime/platform/runtime.h",
        "include/opencv2/core.hpp",
        *(f"android/libs/executorch/{abi}/libexecutorch.so" for abi in ABIS),
        *(f"android/libs/opencv/{abi}/libopencv_core.a" for abi in ABIS),
        "android/libs/opencv-third-party/arm64-v8a/libkleidicv.a",
        _CPUINFO,
        _POOL,
        f"{_FRAMEWORK}/Info.plist",
        f"{_FRAMEWORK}/ios-arm64/ExecutorchLib.framework/ExecutorchLib",
        _METALLIB,
        _IOS_POOL,
        _SIMULATOR_POOL,
        _IOS_CPUINFO,
    ]
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"stands for {name}\n")
    return folder


def packed(members: Mapping[str, Path]) -> bytes:
    """A tar.gz of files under other names; the same bytes on every run."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tape:
        for name, path in members.items():
            entry = tarfile.TarInfo(name)
            data = path.read_bytes()
            entry.size = len(data)
            entry.mode = path.stat().st_mode & 0o777
            tape.addfile(entry, io.BytesIO(data))
    return gzip.compress(plain.getvalue(), 6, mtime=0)


def _below(root: Path, folders: Iterable[str]) -> dict[str, Path]:
    """All files below some folders, by their paths from the root."""
    return {
        path.relative_to(root).as_posix(): path
        for folder in folders
        for path in sorted((root / folder).rglob("*"))
        if path.is_file()
    }


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
