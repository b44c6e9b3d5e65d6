"""A mirror's folder: the only writer and reader of one, apart from whichever web server serves it.

The layout is that of a release server (`docs/network.md`). What stands in the folder is the truth:
`index.json` and `index.html` are made from the manifests and archives that are there, so a folder can
grow by several runs, and by a company's own releases.

Links are refused, wherever they lead: what is served from here is what was put here, and what is written
here never lands elsewhere. The root itself may be a link.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from etfetch import copying, digest, durable, manifest, mirror_page, mirrors, paths
from etfetch.errors import EtfetchError, FilesystemError, ManifestError
from etfetch.manifest import Artifact, Manifest
from etfetch.mirror_page import Row
from etfetch.mirrors import INDEX, MANIFEST, OPERATORS, Index

PAGE = "index.html"
SIDECAR = ".sha256"
_OWN = ".etfetch"


@dataclass(frozen=True, slots=True)
class Verified:
    """What a check of a whole mirror found: `problems` have a line each, `size` is in bytes."""

    releases: int
    archives: int
    size: int
    problems: tuple[str, ...]


class MirrorFolder:
    """One folder with releases."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    # Writing

    def holds(self, package: str, version: str, name: str, sha256: str) -> bool:
        """Whether an archive is there with the right bytes, and its digest beside it."""
        path, sidecar = self._path(package, version, name), self._path(package, version, name + SIDECAR)
        try:
            written = sidecar.read_text(encoding="utf-8")
            return written == _sidecar_text(name, sha256) and digest.of_file(path) == sha256
        except (FileNotFoundError, UnicodeDecodeError):
            return False

    def place(self, blob: Path, package: str, version: str, name: str, sha256: str) -> None:
        """Put a verified archive there, and its digest beside it."""
        target = self._path(package, version, name)
        draft = self._scratch() / durable.unique_name(name)
        try:
            if not copying.clone(blob, draft):
                copying.copy(blob, draft)
            with draft.open("rb+") as file:
                durable.fsync(file.fileno())
            self._make(target.parent)
            durable.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
        self._write(target.with_name(name + SIDECAR), _sidecar_text(name, sha256))

    def write_sidecar(self, package: str, version: str, sidecar: str, name: str, sha256: str) -> None:
        """Write an archive's digest under the name that its manifest gives it."""
        self._write(self._path(package, version, sidecar), _sidecar_text(name, sha256))

    def write_manifest(self, package: str, version: str, text: str) -> None:
        """Put the manifest of a release there, as it is."""
        self._write(self._path(package, version, MANIFEST), text)

    def write_operators(self, name: str, text: str) -> None:
        """Put a set of operators there."""
        self._write(self._path(OPERATORS, f"{name}.txt"), text)

    def publish(self) -> Index:
        """Write `index.json` and `index.html` from what is there."""
        manifests = self._manifests()
        index = self._index(manifests)
        self._write(self._path(PAGE), mirror_page.render(self._rows(index, manifests)))
        # Last: a release is in the index when all of it is there.
        text = json.dumps(mirrors.index_values(index), indent=2, sort_keys=True)
        self._write(self._path(INDEX), text + "\n")
        return index

    # Reading

    def verify(self) -> Verified:
        """Read every file of the mirror and compare it with the index, the manifests and the digests."""
        links = [f"{self._shown(path)}: a link" for path in self._links()]
        if links:
            # Nothing is read through one, so there is no more to say.
            return Verified(0, 0, 0, tuple(links))
        try:
            index = mirrors.parse_index(json.loads(self._text(INDEX)), INDEX)
        except (EtfetchError, ValueError, OSError) as error:
            return Verified(0, 0, 0, (f"{INDEX}: {_told(error)}",))
        problems = []
        for name, sha256 in sorted(index.operators.items()):
            problems += self._against(f"{OPERATORS}/{name}.txt", sha256)
        sizes = []
        for package, version, sha256 in _releases(index):
            found, wrong = self._verify_release(package, version, sha256)
            sizes += found
            problems += wrong
        releases = sum(map(len, index.packages.values()))
        return Verified(releases, len(sizes), sum(sizes), tuple(problems))

    def _verify_release(self, package: str, version: str, sha256: str) -> tuple[list[int], list[str]]:
        """The sizes of a release's archives that are there, and what is wrong."""
        inside = f"{package}/{version}"
        problems = self._against(f"{inside}/{MANIFEST}", sha256)
        if problems:
            return [], problems
        try:
            artifacts = self._manifest(package, version).artifacts
        except ManifestError as error:
            return [], [error.message]
        checked = [self._check(inside, artifact) for artifact in artifacts]
        sizes = [size for size, _ in checked if size is not None]
        return sizes, [problem for _, wrong in checked for problem in wrong]

    def _check(self, inside: str, artifact: Artifact) -> tuple[int | None, list[str]]:
        """An archive's size and what is wrong with it; None if it is not there, which is no fault."""
        name = f"{inside}/{artifact.name}"
        path, sidecar = self._path(*name.split("/")), self._path(*f"{name}{SIDECAR}".split("/"))
        if not path.is_file():
            return None, [f"{name}: missing, though its digest is there"] if sidecar.exists() else []
        size, sha256 = path.stat().st_size, digest.of_file(path)
        wrong = []
        if artifact.sha256 not in {None, sha256}:
            wrong.append(f"{name}: sha256 {sha256}, but its manifest says {artifact.sha256}")
        if artifact.size not in {None, size}:
            wrong.append(f"{name}: {size} bytes, but its manifest says {artifact.size}")
        for beside in {sidecar.name, artifact.sidecar or sidecar.name}:
            try:
                written = self._text(f"{inside}/{beside}")
            except (OSError, UnicodeDecodeError):
                wrong.append(f"{name}: its digest, `{beside}`, cannot be read")
                continue
            if written.split() != [sha256, artifact.name]:
                wrong.append(f"{name}: sha256 {sha256}, but `{beside}` says otherwise")
        return size, wrong

    def _against(self, name: str, sha256: str) -> list[str]:
        try:
            found = digest.of_file(self._path(*name.split("/")))
        except FileNotFoundError:
            return [f"{name}: missing"]
        return [] if found == sha256 else [f"{name}: sha256 {found}, but the index says {sha256}"]

    def _manifests(self) -> dict[tuple[str, str], Manifest]:
        """Every manifest that is there, by package and version."""
        return {
            (package.name, version.name): self._manifest(package.name, version.name)
            for package in self._folders(self.root)
            for version in self._folders(package)
            if (version / MANIFEST).is_file() and not (version / MANIFEST).is_symlink()
        }

    def _index(self, manifests: Mapping[tuple[str, str], Manifest]) -> Index:
        packages: dict[str, dict[str, str]] = {}
        for package, version in manifests:
            sha256 = digest.of_file(self._path(package, version, MANIFEST))
            packages.setdefault(package, {})[version] = sha256
        sets = sorted((self.root / OPERATORS).glob("*.txt"))
        operators = {path.stem: digest.of_file(path) for path in sets if not path.is_symlink()}
        # Read again as a client reads it: a name that no client takes is found here, not there.
        return mirrors.parse_index(mirrors.index_values(Index(packages, operators)), str(self.root / INDEX))

    def _rows(self, index: Index, manifests: Mapping[tuple[str, str], Manifest]) -> list[Row]:
        return [
            row
            for package, version, _ in _releases(index)
            for artifact in manifests[package, version].artifacts
            for row in self._row(package, version, artifact)
        ]

    def _row(self, package: str, version: str, artifact: Artifact) -> Iterator[Row]:
        path = self._path(package, version, artifact.name)
        if not path.is_file():
            return
        platforms = {platform for part in artifact.parts for platform in part.platforms}
        components = {name for part in artifact.parts for name in (part.component, *part.provides)}
        sidecar = path.with_name(artifact.name + SIDECAR)
        sha256 = artifact.sha256 or (sidecar.read_text(encoding="utf-8").split() or [""])[0]
        yield Row(
            package,
            version,
            artifact.name,
            tuple(sorted(platforms)),
            tuple(sorted(components)),
            path.stat().st_size,
            sha256,
        )

    def _manifest(self, package: str, version: str) -> Manifest:
        shown = f"{package}/{version}/{MANIFEST}"
        found = manifest.parse(self._text(shown), str(self.root / shown))
        if (found.package, found.version) != (package, version):
            raise ManifestError(
                f"{self.root / shown}: says it is {found.package} {found.version}, and stands elsewhere"
            )
        return found

    def _text(self, name: str) -> str:
        return self._path(*name.split("/")).read_bytes().decode("utf-8")

    def _folders(self, folder: Path) -> list[Path]:
        with os.scandir(folder) as entries:
            found = [
                Path(entry.path)
                for entry in entries
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
            ]
        return sorted(found)

    def _links(self) -> list[Path]:
        return sorted(
            Path(folder) / name
            for folder, folders, files in os.walk(self.root)
            for name in (*folders, *files)
            if os.path.islink(os.path.join(folder, name))
        )

    def _path(self, *components: str) -> Path:
        """A path below the root; `FilesystemError` if a name is unsafe or a link stands in its way."""
        path = self.root
        for component in components:
            reason = "it holds a slash" if "/" in component else paths.unsafe_reason(component)
            if reason:
                raise FilesystemError(f"`{component}` cannot be a name in a mirror: {reason}")
            path /= component
            if path.is_symlink():
                raise FilesystemError(
                    f"`{self._shown(path)}` is a link, which a mirror may not hold",
                    data=[str(self.root)],
                    hint="remove it, and put the files themselves there",
                )
        return path

    def _shown(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _write(self, path: Path, text: str) -> None:
        data = text.encode("utf-8")
        self._make(path.parent)
        if not path.is_file() or path.read_bytes() != data:
            durable.write_file(path, data, self._scratch())

    def _make(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)

    def _scratch(self) -> Path:
        self._make(self.root)
        folder = self.root / _OWN
        if folder.is_symlink():
            raise FilesystemError(f"`{_OWN}` is a link, which a mirror may not hold", data=[str(self.root)])
        self._make(folder)
        return folder


def _releases(index: Index) -> list[tuple[str, str, str]]:
    """Every release with its manifest's digest: packages by name, the highest version first."""
    from packaging.version import Version

    return [
        (package, version, versions[version])
        for package, versions in sorted(index.packages.items())
        for version in sorted(versions, key=Version, reverse=True)
    ]


def _sidecar_text(name: str, sha256: str) -> str:
    """As `sha256sum` writes it."""
    return f"{sha256}  {name}\n"


def _told(error: Exception) -> str:
    if isinstance(error, EtfetchError):
        return error.message
    return f"{error.strerror}" if isinstance(error, OSError) else str(error)
