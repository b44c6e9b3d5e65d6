"""All releases that are known, and which of them a request means.

In: the texts of manifests and operator sets. Out: manifests, parsed when first looked at, since a
request needs one or two out of many. No I/O: `shelf` reads the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from etfetch import manifest
from etfetch.errors import ConfigError, ManifestError, ResolutionError, did_you_mean
from etfetch.manifest import Component, Manifest


@dataclass(frozen=True, slots=True)
class ManifestText:
    """An unread manifest: its text and the file it came from."""

    text: str
    file: str


@dataclass(frozen=True)
class Catalogue:
    """Manifests by package and version, and the operator sets they refer to."""

    texts: Mapping[str, Mapping[str, ManifestText]]
    operator_sets: Mapping[str, str] = field(default_factory=dict)
    _parsed: dict[tuple[str, str], Manifest] = field(default_factory=dict, compare=False)

    @property
    def packages(self) -> tuple[str, ...]:
        return tuple(sorted(self.texts))

    def versions(self, package: str) -> list[str]:
        """All versions of a package, highest first; `ResolutionError` for an unknown package."""
        if package not in self.texts:
            raise ResolutionError(
                f"no package `{package}`{did_you_mean(package, self.texts)}",
                data=[f"known packages: {', '.join(self.packages)}"],
            )
        return sorted(self.texts[package], key=Version, reverse=True)

    def manifest(self, package: str, version: str) -> Manifest:
        """The manifest of one release; KeyError if there is none, `ManifestError` if it is wrong."""
        key = (package, version)
        if key not in self._parsed:
            entry = self.texts[package][version]
            parsed = manifest.parse(entry.text, entry.file)
            if (parsed.package, parsed.version) != key:
                raise ManifestError(
                    f"{entry.file}: says it is {parsed.package} {parsed.version}, "
                    f"but its name says {package} {version}"
                )
            self._parsed[key] = parsed
        return self._parsed[key]

    def operators(self, release: Manifest, component: Component) -> frozenset[str]:
        """Every operator that a release's component registers; `ManifestError` for an unknown set."""
        names: set[str] = set()
        for set_name in component.operators:
            if set_name not in self.operator_sets:
                raise ManifestError(
                    f"{release.file}: components.{component.name}.operators: no operator set `{set_name}`"
                    f"{did_you_mean(set_name, self.operator_sets)}"
                )
            names.update(self.operator_sets[set_name].split())
        return frozenset(names)

    def merged(self, other: Catalogue) -> Catalogue:
        """Both catalogues in one.

        The same release in both is fine while it says the same; with other content it is a `ConfigError` that
        names both files, since a lock made here would not be the one made elsewhere. So with operator sets.
        """
        texts = {package: dict(versions) for package, versions in self.texts.items()}
        for package, versions in other.texts.items():
            mine = texts.setdefault(package, {})
            for version, entry in versions.items():
                if version in mine and mine[version].text != entry.text:
                    raise disagreement(package, version, mine[version].file, entry.file)
                mine.setdefault(version, entry)
        for name, text in other.operator_sets.items():
            if self.operator_sets.get(name, text) != text:
                raise operators_disagreement(name)
        return Catalogue(texts, {**self.operator_sets, **other.operator_sets})


def disagreement(package: str, version: str, one: str, other: str) -> ConfigError:
    """The error for one release that two files describe differently."""
    return ConfigError(
        f"two catalogues describe {package} {version} differently",
        data=[one, other],
        hint="remove one of them, or give yours a version of its own; make a mirror again with this etfetch",
    )


def operators_disagreement(name: str) -> ConfigError:
    """The error for one operator set that two catalogues hold with other operators."""
    return ConfigError(
        f"two catalogues hold different operators under `{name}`",
        hint="give your operator set a name of its own",
    )


@dataclass(frozen=True, slots=True)
class Rejection:
    """A candidate that was turned down, and why."""

    name: str
    reason: str


def choose_release(
    catalogue: Catalogue, package: str, specifier: str
) -> tuple[Manifest, tuple[Rejection, ...]]:
    """The highest release that `specifier` admits, and the higher ones with why they were not taken.

    A pre-release (by PEP 440, or marked so in its manifest, as nightlies are) only counts when the
    specifier names one. `ResolutionError` with all known versions when none is left.
    """
    rejected: list[Rejection] = []
    for judged in _judged(catalogue, package, specifier):
        if isinstance(judged, Manifest):
            return judged, tuple(rejected)
        rejected.append(judged)
    raise ResolutionError(
        f"no release of `{package}` satisfies `{specifier or 'any version'}`",
        data=[f"known versions: {', '.join(catalogue.versions(package))}"],
        hint="name one of these versions, or upgrade etfetch to learn of newer ones",
    )


def releases_of(catalogue: Catalogue, package: str, specifier: str) -> list[Manifest]:
    """Every release that `specifier` admits, the highest first; pre-releases as in `choose_release`."""
    found = [one for one in _judged(catalogue, package, specifier) if isinstance(one, Manifest)]
    # None at all is the same error as where one is chosen.
    return found or [choose_release(catalogue, package, specifier)[0]]


def is_newer(version: str, than: str) -> bool:
    """Whether one version is higher than another, by PEP 440."""
    return Version(version) > Version(than)


def is_version(text: str) -> bool:
    """Whether a file or folder name is a PEP 440 version."""
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def _judged(catalogue: Catalogue, package: str, specifier: str) -> Iterator[Manifest | Rejection]:
    """Every release, the highest first: itself if it is admitted, else why not."""
    wanted = SpecifierSet(specifier)
    named = {Version(one.version.removesuffix(".*")) for one in wanted}
    for text in catalogue.versions(package):
        version = Version(text)
        if not wanted.contains(version, prereleases=True):
            yield Rejection(text, f"`{specifier}` does not admit it")
            continue
        candidate = catalogue.manifest(package, text)
        if (version.is_prerelease or candidate.prerelease) and not any(
            _is_prerelease(catalogue, package, one) for one in named
        ):
            yield Rejection(text, "a pre-release, which the specifier does not name")
            continue
        yield candidate


def _is_prerelease(catalogue: Catalogue, package: str, version: Version) -> bool:
    if version.is_prerelease:
        return True
    text = str(version)
    known = catalogue.texts.get(package, {})
    return text in known and catalogue.manifest(package, text).prerelease
