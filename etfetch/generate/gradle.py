"""Gradle: `etfetch.gradle`, with the libraries to pack, the ABIs there are, and CMake's arguments.

It begins with the guard: a build whose libraries are not installed stops with the command that is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from etfetch.generate import guards, linking
from etfetch.lockfile import Lock

FILE = "etfetch.gradle"
_ANDROID = "android-"


def render(
    lock: Lock, name: str, destination: str, flags: Iterable[tuple[str, str]], prefix: str | None
) -> dict[str, str]:
    """The file by its name.

    `flags` are a build configuration's, each with its component. With a `prefix` each becomes an argument for
    CMake: `enableXnnpack` is `-DRNE_ENABLE_XNNPACK=ON` for `RNE_`.
    """
    abis = [p.removeprefix(_ANDROID) for p in linking.platforms(lock) if p.startswith(_ANDROID)]
    components = {component.name for component in lock.components}
    arguments = [
        f"-D{prefix}{_upper(flag)}={'ON' if component in components else 'OFF'}"
        for flag, component in flags
        if prefix is not None
    ]
    text = _GRADLE.replace("@ABIS@", _list(abis))
    text = text.replace("@FOLDERS@", _list(_folders(lock, destination)))
    text = text.replace("@ARGUMENTS@", _list(arguments))
    text = text.replace("@CMAKE@", guards.quoted(f"{destination}/share/cmake/executorch"))
    return {FILE: text.replace("@GUARD@", guards.gradle(name, destination))}


def _folders(lock: Lock, destination: str) -> list[str]:
    """The folders with a folder for each ABI in which shared libraries stand: what `jniLibs` wants."""
    found = []
    for platform in linking.platforms(lock):
        if platform.startswith(_ANDROID):
            abi = platform.removeprefix(_ANDROID)
            for component in linking.linked(lock, platform):
                for link in component.links:
                    if link.kind == "shared":
                        found += [f"{destination}/{file.partition(f'/{abi}/')[0]}" for file in link.files]
    return list(dict.fromkeys(found))


def _upper(flag: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", flag).upper()


def _list(values: Iterable[str]) -> str:
    return f"[{', '.join(guards.quoted(value) for value in values)}]"


_GRADLE = """\
// Written by etfetch from etfetch.lock. Do not edit: `etfetch install` and `etfetch generate` write it again.
//
//   apply from: "../etfetch.gradle"               after the Android plugin, in build.gradle
//   apply(from = "../etfetch.gradle")             the same in build.gradle.kts

@GUARD@
def etfetchRoot = buildscript.sourceFile.parentFile
android {
    defaultConfig {
        ndk {
            abiFilters.addAll(@ABIS@)
        }
        externalNativeBuild {
            cmake {
                arguments.add("-Dexecutorch_DIR=" + new File(etfetchRoot, @CMAKE@))
                arguments.addAll(@ARGUMENTS@)
            }
        }
    }
    sourceSets {
        main {
            @FOLDERS@.each { jniLibs.srcDir(new File(etfetchRoot, it)) }
        }
    }
}
"""
