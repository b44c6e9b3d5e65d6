"""Xcode: `etfetch.xcconfig`, with what a target links for each SDK.

Rules, all seen with Apple's object format (docs/linking.md):

- A static library that registers is force-loaded, once. `-all_load` would do it to every library of the app,
  and an archive that also stands in "Link Binary With Libraries" is taken twice.
- A value ends with its line, so each component has a variable of its own and the settings name those.

Paths start at `ETFETCH_DIR`, which is the folder of the Xcode project unless somebody sets it.
"""

from __future__ import annotations

from etfetch.generate import linking
from etfetch.generate.linking import Linked
from etfetch.lockfile import Lock
from etfetch.manifest import Link

FILE = "etfetch.xcconfig"

SDKS = {"ios": "iphoneos", "ios-simulator": "iphonesimulator", "macos-arm64": "macosx"}
SLICES = {"ios": "ios-arm64", "ios-simulator": "ios-arm64-simulator", "macos-arm64": "macos-arm64"}
"""The folders of an xcframework that is a framework, not a library, by platform."""


def render(lock: Lock, destination: str) -> dict[str, str]:
    """The file by its name."""
    platforms = [platform for platform in linking.platforms(lock) if platform in SDKS]
    blocks = "".join(f"\n{_platform(lock, platform)}" for platform in platforms)
    nothing = "" if platforms else "\n// etfetch.lock holds nothing for Apple's platforms.\n"
    return {FILE: _HEAD.replace("@DESTINATION@", destination) + blocks + nothing}


def link_words(link: Link, file: str, platform: str, root: str) -> str:
    """The linker's words for one library below `root`, quoted for build settings."""
    path = f"{root}/{file}"
    if link.kind == "static" and link.registers:
        return f'-force_load "{path}"'
    if link.kind == "framework":
        name = file.rpartition("/")[2].partition(".")[0]
        return f'-F "{path}/{SLICES[platform]}" -framework {name}'
    return f'"{path}"'


def _platform(lock: Lock, platform: str) -> str:
    sdk = SDKS[platform]
    components = [c for c in linking.linked(lock, platform) if c.links]
    lines = [f"{_variable(c, sdk)} = {_words(c, platform)}" for c in components]
    flags = " ".join(f"$({_variable(c, sdk)})" for c in components)
    lines.append(f"OTHER_LDFLAGS[sdk={sdk}*] = $(inherited) {flags}")
    links = [link for component in components for link in component.links]
    headers = linking.once(link.headers for link in links)
    if headers:
        paths = " ".join(f'"$(ETFETCH_ROOT)/{header}"' for header in headers)
        lines.append(f"HEADER_SEARCH_PATHS[sdk={sdk}*] = $(inherited) {paths}")
    definitions = linking.once(link.definitions for link in links)
    if definitions:
        lines.append(f"GCC_PREPROCESSOR_DEFINITIONS[sdk={sdk}*] = $(inherited) {' '.join(definitions)}")
    standards = [link.cxx_standard for link in links if link.cxx_standard]
    if standards:
        lines.append(f"CLANG_CXX_LANGUAGE_STANDARD[sdk={sdk}*] = c++{max(standards)}")
    shared = [file for link in links if link.kind in {"shared", "framework"} for file in link.files]
    lines += [f"// Embed and sign: $(ETFETCH_ROOT)/{file}" for file in shared]
    resources = linking.once(link.resources for link in links)
    lines += [f'// Add to "Copy Bundle Resources": $(ETFETCH_ROOT)/{resource}' for resource in resources]
    return "".join(f"{line}\n" for line in lines)


def _words(component: Linked, platform: str) -> str:
    words = [
        link_words(link, file, platform, "$(ETFETCH_ROOT)") for link in component.links for file in link.files
    ]
    words += [f"-framework {name}" for name in linking.once(link.frameworks for link in component.links)]
    words += [f"-l{name}" for name in linking.once(link.libraries for link in component.links)]
    return " ".join(words)


def _variable(component: Linked, sdk: str) -> str:
    return f"ETFETCH_{component.name}_{sdk}"


_HEAD = """\
// Written by etfetch from etfetch.lock. Do not edit: `etfetch install` and `etfetch generate` write it again.
//
// Choose it as the configuration file of the project (Project > Info > Configurations), or write
// `#include "etfetch.xcconfig"` into your own.
//
// Do not add `-all_load` for these libraries: `-force_load` takes each of them once, whole. Do not add the
// xcframeworks to "Link Binary With Libraries" as well: what is linked twice registers twice, and the app
// stops at its start with RegistrationAlreadyRegistered (0x16).

ETFETCH_DIR = $(SRCROOT)
ETFETCH_ROOT = $(ETFETCH_DIR)/@DESTINATION@
"""
