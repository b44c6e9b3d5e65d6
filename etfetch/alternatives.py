"""What there is instead of what cannot be had: the words for errors.

In: a catalogue, the release that was chosen, what was asked for. Out: parts of sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from etfetch.catalogue import Catalogue
from etfetch.manifest import Manifest
from etfetch.offers import available, candidates
from etfetch.platforms import PLATFORMS

_PLURALS = {
    "runtime": "runtime",
    "backend": "backends",
    "kernels": "kernels",
    "library": "libraries",
    "headers": "headers",
}


def what_exists(manifest: Manifest, platforms: tuple[str, ...]) -> Iterator[str]:
    """What the release has, a line for each requested platform it knows, else its platforms."""
    known = [p for p in platforms if p in manifest.platforms]
    if not known:
        yield f"{manifest.package} {manifest.version} is there for {', '.join(manifest.platforms)}"
    for platform in known:
        groups = []
        for kind, plural in _PLURALS.items():
            shorts = [
                c.short
                for c in manifest.components
                if c.kind == kind
                and kind != "runtime"
                and any(available(manifest, c.name, platform, v) for v in ("release", "debug"))
            ]
            if shorts:
                groups.append(f"{plural} {', '.join(sorted(shorts))}")
        yield f"{platform} has {'; '.join(groups)}"


def releases_for(catalogue: Catalogue, manifest: Manifest, platform: str) -> Iterator[str]:
    """The newest release of the same package that a platform has a runtime in."""
    for version in catalogue.versions(manifest.package):
        other = catalogue.manifest(manifest.package, version)
        if not other.prerelease and platform in other.platforms:
            yield f"the newest release for {platform} is {other.package} {version}"
            return


def releases_with(
    catalogue: Catalogue,
    manifest: Manifest,
    wanted: Sequence[tuple[str | None, str]],
    platform: str | None = None,
    *,
    apart: bool = False,
) -> Iterator[str]:
    """The newest release of each package that has all of `wanted` (kind and name), as sentences' subjects.

    With `apart`, each of them must have a part of its own there.
    """
    for package in catalogue.packages:
        for version in catalogue.versions(package):
            other = catalogue.manifest(package, version)
            on = [
                p
                for p in ([platform] if platform else PLATFORMS)
                if all(_has(other, kind, name, p, apart=apart) for kind, name in wanted)
            ]
            if on and other is not manifest and not other.prerelease:
                yield f"{package} {version} ({', '.join(on)})"
                break


def _has(manifest: Manifest, kind: str | None, name: str, platform: str, *, apart: bool) -> bool:
    found = manifest.named(name, kind)
    if not found:
        return False
    if apart:
        return any(
            c.part.component == found[0].name and c.artifact.flavour is None
            for c in candidates(manifest, platform, "release")
        )
    return available(manifest, found[0].name, platform, "release")


def giving(catalogue: Catalogue, manifest: Manifest, variant: str, name: str) -> str | None:
    """Which component gives a delegate or an operator, and where: here, else in the newest release with it.

    `backend_vulkan of executorch 1.0.0 gives it on android-x86_64`, or None if nothing known does.
    """
    for release in (manifest, *_newest(catalogue)):
        for component in release.components:
            given = name == component.delegate or name in catalogue.operators(release, component)
            if component.unavailable is None and given:
                on = [p for p in PLATFORMS if available(release, component.name, p, variant)]
                where = f"`{component.name}` of {release.package} {release.version}"
                return f"{where} gives it on {', '.join(on)}"
    return None


def _newest(catalogue: Catalogue) -> Iterator[Manifest]:
    """Each package's releases, newest first; no pre-releases."""
    for package in catalogue.packages:
        for version in catalogue.versions(package):
            manifest = catalogue.manifest(package, version)
            if not manifest.prerelease:
                yield manifest
