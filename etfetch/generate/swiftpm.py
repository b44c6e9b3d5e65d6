"""SwiftPM: a `Package.swift` with a product for each Apple component.

Local: beside the installed xcframeworks, since a package may name none outside of its folder. Remote: for a
package that is published, with the archives' addresses and digests from the lock; SwiftPM's checksum is the
archive's SHA-256.

A product is a binary target and an empty one that brings what it links. SwiftPM has no way to say
`-force_load` for a package's users, so the file says which flags the app needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from etfetch.generate import linking
from etfetch.generate.xcode import SDKS
from etfetch.lockfile import Lock
from etfetch.manifest import Link

FILE = "Package.swift"
_SOURCES = "swiftpm"
_PLATFORM_NAMES = {"ios": ".iOS", "ios-simulator": ".iOS", "macos-arm64": ".macOS"}
_MINIMUM = {".iOS": ".iOS(.v17)", ".macOS": ".macOS(.v12)"}


@dataclass(frozen=True, slots=True)
class _Product:
    """A component as SwiftPM sees it: `place` is the binary target's arguments after its name.

    `loads` are the static libraries that an app has to force-load.
    """

    name: str
    place: str
    needs: tuple[str, ...]
    frameworks: tuple[str, ...]
    libraries: tuple[str, ...]
    loads: tuple[str, ...]


def render(lock: Lock, destination: str, *, remote: bool = False) -> dict[str, str]:
    """The files by their paths: the manifest, and a source for each target, which may not be empty."""
    products = _products(lock, remote=remote)
    folder = "" if remote else f"{destination}/"
    files = {f"{folder}{FILE}": _manifest(lock, products)}
    for product in products:
        files[f"{folder}{_SOURCES}/{product.name}/{product.name}.swift"] = f"{_NOTE}\n"
    return files


def _products(lock: Lock, *, remote: bool) -> list[_Product]:
    apple = frozenset(platform for platform in linking.platforms(lock) if platform in SDKS)
    needs = {c.name: c.needs for platform in apple for c in linking.linked(lock, platform)}
    suffix = "_debug" if lock.request.variant == "debug" else ""
    found: dict[str, list[_Product]] = {}
    for artifact in lock.artifacts:
        if remote and artifact.format != "zip":
            # SwiftPM downloads nothing else.
            continue
        for part in artifact.parts:
            links = [link for link in part.links if apple & set(link.platforms)]
            for bundle in _bundles(links):
                where = f"url: {_swift(artifact.source)}, checksum: {_swift(artifact.sha256)}"
                product = _Product(
                    name=f"{bundle.rpartition('/')[2].removesuffix('.xcframework')}{suffix}",
                    place=where if remote else f"path: {_swift(bundle)}",
                    needs=needs.get(part.component, ()),
                    frameworks=linking.once(link.frameworks for link in links),
                    libraries=linking.once(link.libraries for link in links),
                    loads=linking.once(
                        (f.rpartition("/")[2] for f in link.files) for link in links if link.registers
                    ),
                )
                found.setdefault(part.component, []).append(product)
    # What a component needs, as the products that hold it.
    return [
        replace(product, needs=tuple(p.name for name in product.needs for p in found.get(name, ())))
        for products in found.values()
        for product in products
    ]


def _bundles(links: Iterable[Link]) -> list[str]:
    """The xcframeworks that some links are in."""
    files = [file for link in links for file in link.files if ".xcframework" in file]
    return list(dict.fromkeys(f"{file.partition('.xcframework')[0]}.xcframework" for file in files))


def _manifest(lock: Lock, products: list[_Product]) -> str:
    apple = [platform for platform in linking.platforms(lock) if platform in SDKS]
    systems = dict.fromkeys(_PLATFORM_NAMES[platform] for platform in apple)
    loads = [f"//   -force_load $(BUILT_PRODUCTS_DIR)/{name}" for p in products for name in p.loads]
    note = [_FORCE, *loads, "//"] if loads else []
    lines = [
        "// swift-tools-version:5.9",
        _NOTE,
        "//",
        *note,
        "",
        "import PackageDescription",
        "",
        "let package = Package(",
        f"    name: {_swift(lock.request.package)},",
        f"    platforms: [{', '.join(_MINIMUM[system] for system in systems)}],",
        "    products: [",
        *(
            f"        .library(name: {_swift(p.name)}, targets: [{_swift(_target(p.name))}]),"
            for p in products
        ),
        "    ],",
        "    targets: [",
        *(line for product in products for line in _targets(product)),
        "    ]",
        ")",
    ]
    return "\n".join(lines) + "\n"


def _libraries(product: _Product) -> Iterator[str]:
    yield f"        .library(name: {_swift(product.name)}, targets: [{_swift(_target(product.name))}]),"


def _targets(product: _Product) -> Iterator[str]:
    yield f"        .binaryTarget(name: {_swift(product.name)}, {product.place}),"
    needs = [_swift(product.name), *(_swift(_target(name)) for name in product.needs)]
    settings = [f".linkedFramework({_swift(name)})" for name in product.frameworks]
    settings += [f".linkedLibrary({_swift(name)})" for name in product.libraries]
    yield "        .target("
    yield f"            name: {_swift(_target(product.name))},"
    yield f"            dependencies: [{', '.join(needs)}],"
    yield f"            path: {_swift(f'{_SOURCES}/{product.name}')},"
    yield f"            linkerSettings: [{', '.join(settings)}]"
    yield "        ),"


def _target(name: str) -> str:
    return f"{name}_with_dependencies"


def _swift(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\\/", "/")


_NOTE = "// Written by etfetch from etfetch.lock. Do not edit: `etfetch generate` writes it again."
_FORCE = """\
// Backends and kernels register themselves, and the linker drops what nobody refers to. Add to the app's
// OTHER_LDFLAGS, for the libraries it uses and the platform that it is built for (and not `-all_load`):
//"""
