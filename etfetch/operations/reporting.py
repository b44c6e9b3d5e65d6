"""What is installed and why: `list`, `verify`, `why`, `outdated`."""

from __future__ import annotations

from dataclasses import dataclass

from etfetch import config, installer, lockfile, offers
from etfetch.catalogue import choose_release, is_newer
from etfetch.config import Options
from etfetch.errors import ResolutionError, TreeError, did_you_mean
from etfetch.lockfile import Lock
from etfetch.operations import locking
from etfetch.operations.workspace import open_workspace
from etfetch.record import Record
from etfetch.resolve import Choice, Resolution


@dataclass(frozen=True, slots=True)
class Row:
    """A component on a platform: bytes on disk (None: no files of its own) and its archive's digest."""

    component: str
    version: str
    platform: str
    size: int | None
    sha256: str | None
    note: str = ""


def listing(options: Options) -> list[Row]:
    """`etfetch list`: what the lock holds, with what of it is on this disk."""
    with open_workspace(options) as workspace:
        lock = locking.there(workspace)
        seen = installer.read_record(workspace.destination)
        return [
            _row(lock, seen, component.name, platform)
            for component in lock.components
            for platform in component.platforms
        ]


def verify(options: Options, *, deep: bool = False) -> int:
    """`etfetch verify`: the number of files that are as the lock wants them.

    By size and time, or with `deep` by digest. `TreeError` with every difference otherwise.
    """
    with open_workspace(options) as workspace:
        seen = installer.survey(workspace.destination, deep=deep)
        differences = []
        if seen.interrupted:
            differences.append("an install was interrupted and is not finished")
        differences += _against_lock(seen.record, workspace.read_lock())
        differences += [f"missing: {path}" for path in sorted(seen.missing)]
        differences += [f"changed: {path}" for path in sorted(seen.edited)]
        if differences:
            raise TreeError(
                f"the files in `{workspace.destination}` are not what the lock says",
                data=differences,
                hint="run `etfetch install`; with `--force` it replaces changed files",
            )
        return len(seen.record.files)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a component is in, or why it is not: `lines` say it."""

    component: str
    included: bool
    lines: tuple[str, ...]


def why(options: Options, name: str) -> Explanation:
    """`etfetch why NAME`: what brought a component in, or why it, or a release, is not there."""
    with open_workspace(options) as workspace:
        older = workspace.read_lock()
        request = config.request_of(workspace.project, options, older.request if older else None)
        models = locking.models_of(workspace, request, older)
        resolution = locking.resolution_of(workspace, request, models, older)
        found = resolution.manifest.named(name)
        if not found:
            return _unknown(resolution, name)
        lines: list[str] = []
        included = False
        for component in found:
            choice = next((c for c in resolution.choices if c.component == component), None)
            included = included or choice is not None
            lines += _included(resolution, choice) if choice else _excluded(resolution, component.name)
        return Explanation(" / ".join(c.name for c in found), included, tuple(lines))


@dataclass(frozen=True, slots=True)
class Outdated:
    """The locked release, the newest that the request admits, and the newest there is."""

    package: str
    locked: str
    wanted: str
    latest: str

    @property
    def newer(self) -> bool:
        return is_newer(self.latest, self.locked)


def outdated(options: Options) -> Outdated:
    """`etfetch outdated`: compare the lock with the catalogue. Pre-releases count only if asked for."""
    with open_workspace(options) as workspace:
        lock = locking.there(workspace)
        package = lock.request.package
        catalogue = workspace.catalogue(package)
        wanted, _ = choose_release(catalogue, package, lock.request.version)
        latest, _ = choose_release(catalogue, package, "")
        return Outdated(package, lock.release, wanted.version, latest.version)


def _row(lock: Lock, seen: Record, component: str, platform: str) -> Row:
    numbers = {
        number
        for number, part in enumerate(seen.parts)
        if part.component == component and {platform, "any"} & set(part.platforms)
    }
    digests = [
        artifact.sha256
        for artifact in lock.artifacts
        for part in artifact.parts
        if part.component == component and {platform, "any"} & set(part.platforms)
    ]
    size = sum(file.size for file in seen.files if numbers & set(file.parts))
    note = "" if digests else _without_files(lock, component, platform)
    if digests and not numbers:
        note = "not installed"
    return Row(component, lock.release, platform, size if numbers else None, next(iter(digests), None), note)


def _without_files(lock: Lock, component: str, platform: str) -> str:
    for artifact in lock.artifacts:
        for part in artifact.parts:
            if component in part.provides and platform in part.platforms:
                return f"built into {part.component}"
    return "from elsewhere"


def _against_lock(seen: Record, lock: Lock | None) -> list[str]:
    if not seen.release:
        return ["nothing is installed"]
    if not seen.lock:
        return ["the last install was not complete"]
    if lock is None:
        return ["there is no `etfetch.lock`"]
    if seen.lock != lockfile.digest_of(lock):
        return ["the lock has changed since the last install"]
    return []


def _included(resolution: Resolution, choice: Choice) -> list[str]:
    name = choice.component.name
    lines = [f"`{name}` is in, on {', '.join(choice.platforms)}:"]
    lines += [f"  {reason}" for reason in choice.reasons]
    for chosen in resolution.artifacts:
        for part in chosen.parts:
            if name == part.component:
                lines.append(f"  from `{chosen.artifact.name}` ({', '.join(part.platforms)})")
            elif name in part.provides:
                lines.append(f"  built into `{part.component}` ({', '.join(part.platforms)})")
    lines += [f"  {notice.text}" for notice in choice.component.elsewhere]
    return lines


def _excluded(resolution: Resolution, name: str) -> list[str]:
    manifest, request = resolution.manifest, resolution.request
    component = manifest.component(name)
    if component.unavailable:
        hint = [f"  {component.hint}"] if component.hint else []
        return [f"`{name}` cannot be had: {component.unavailable}", *hint]
    on = [
        platform
        for platform in manifest.platforms
        if offers.available(manifest, name, platform, request.variant)
    ]
    lines = [f"`{name}` is not in: nothing asks for it, and nothing that is in requires it"]
    lines.append(f"  {manifest.package} {manifest.version} has it on {', '.join(on) or 'no platform'}")
    return lines


def _unknown(resolution: Resolution, name: str) -> Explanation:
    """A name that is no component: perhaps a release or an archive that was turned down."""
    for rejection in resolution.rejected:
        if rejection.name == name:
            return Explanation(name, included=False, lines=(f"`{name}` was not taken: {rejection.reason}",))
    manifest = resolution.manifest
    known = [n for c in manifest.components for n in c.names]
    raise ResolutionError(
        f"{manifest.package} {manifest.version} has no component `{name}`{did_you_mean(name, known)}",
        data=[f"components: {', '.join(sorted(c.name for c in manifest.components))}"],
    )
