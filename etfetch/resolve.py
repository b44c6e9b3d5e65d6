"""From a request and the catalogue to the components and artifacts that answer it.

In: `Request`, `Catalogue`. Out: `Resolution`, or one `ResolutionError` that lists everything that is missing.
Rules, in this order:

1. The release is the highest the specifier admits (`catalogue.choose_release`).
2. Wanted are the components asked for by name or feature (every release has `all`), what those require
   on each platform where they have files of their own, and always the runtime.
3. A component asked for by name that no requested platform has is an error; one that some have, and
   one that only a feature asks for, is a notice.
   A component has a platform if it has a part there, is built into another's part, or comes from
   elsewhere (CocoaPods, a source tree).
4. Of artifacts with a flavour, each platform gets exactly one: the first that gives all that only
   flavours give there. If none does, the request is refused with what each would give.
5. Two components that conflict, by declaration or because they register the same operator, are
   never both on one platform: ExecuTorch aborts at start when an operator is registered twice.

Not here: the bytes. Whether two parts write one path is seen when they are unpacked (`plan`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from etfetch.catalogue import Catalogue, Rejection, choose_release
from etfetch.errors import ResolutionError, did_you_mean
from etfetch.manifest import Artifact, Component, Manifest, Part
from etfetch.platforms import ANY, PLATFORMS
from etfetch.request import EVERYTHING, KIND_OF_KEY, NAMED, Origin, Request

_PLURALS = {
    "runtime": "runtime",
    "backend": "backends",
    "kernels": "kernels",
    "library": "libraries",
    "headers": "headers",
}


_OPTIONAL = ("backend", "kernels", "library")


@dataclass(frozen=True, slots=True)
class Choice:
    """A component that is in: on which platforms, and what brought it there."""

    component: Component
    platforms: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChosenArtifact:
    """An artifact and those of its parts that are in, narrowed to the requested platforms."""

    artifact: Artifact
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Resolution:
    """The answer to a request; `rejected` keeps why higher releases and other flavours are not in it.

    `absences` are the notices that a component has no effect on some of the platforms.
    """

    request: Request
    manifest: Manifest
    choices: tuple[Choice, ...]
    artifacts: tuple[ChosenArtifact, ...]
    notices: tuple[str, ...] = ()
    absences: tuple[str, ...] = ()
    rejected: tuple[Rejection, ...] = ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A part that could serve one platform, with the artifact it would come from."""

    artifact: Artifact
    part: Part


class _Asked:
    """The components asked for, by full name with reasons; `named` are those not only in a feature."""

    def __init__(self) -> None:
        self.reasons: dict[str, list[str]] = {}
        self.named: set[str] = set()

    def by_name(self, name: str, reason: str) -> None:
        self.named.add(name)
        self.reasons.setdefault(name, []).append(reason)

    def by_feature(self, name: str, feature: str) -> None:
        self.reasons.setdefault(name, []).append(f"in the feature `{feature}`")


class _Selection:
    """What one platform gets: its wanted components with reasons, and the parts that give them."""

    def __init__(self, platform: str) -> None:
        self.platform = platform
        self.reasons: dict[str, list[str]] = {}
        self.parts: list[_Candidate] = []

    def want(self, name: str, reason: str) -> bool:
        """Note a reason for a component; True when it was not wanted before."""
        known = name in self.reasons
        reasons = self.reasons.setdefault(name, [])
        if reason not in reasons:
            reasons.append(reason)
        return not known


class _Problems:
    """Everything that is wrong with a request, to be told at once, with the first hint."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.hint: str | None = None

    def add(self, *lines: str, hint: str | None = None) -> None:
        self.lines += [line for line in lines if line not in self.lines]
        self.hint = self.hint or hint


def resolve(request: Request, catalogue: Catalogue, origin: Origin | None = None) -> Resolution:
    """Answer a request, or raise `ResolutionError`; `origin` lets its lines name file and line."""
    manifest, rejected = choose_release(catalogue, request.package, request.version)
    problems = _Problems()
    asked = _identify(request, manifest, catalogue, origin or Origin(), problems)
    selections = _select(request, manifest, catalogue, asked, problems)
    _check_available(request, manifest, asked, selections, problems)
    if problems.lines:
        raise ResolutionError(
            f"{manifest.package} {manifest.version} does not give what is asked for",
            data=[*problems.lines, *_what_exists(manifest, request.platforms)],
            hint=problems.hint or "change the request to what exists",
        )
    return Resolution(
        request=request,
        manifest=manifest,
        choices=_choices(manifest, selections),
        artifacts=_chosen_artifacts(manifest, selections),
        notices=tuple(_notices(request, manifest, selections)),
        absences=tuple(_absences(manifest, asked, selections)),
        rejected=(*rejected, *_other_flavours(manifest, selections)),
    )


def find(manifest: Manifest, name: str, kind: str | None = None) -> list[Component]:
    """The components that `name` may mean, within one kind or all: a full name beats short ones."""
    wanted = _spelling(name)
    of_kind = [c for c in manifest.components if kind in (None, c.kind)]
    exact = [c for c in of_kind if _spelling(c.name) == wanted]
    return exact or [c for c in of_kind if wanted in {_spelling(n) for n in c.names}]


def available(manifest: Manifest, component: str, platform: str, variant: str) -> bool:
    """Rule 3: whether a release has a component on a platform in a variant."""
    return any(
        component in (c.part.component, *c.part.provides) for c in _candidates(manifest, platform, variant)
    ) or any(notice.concerns(platform) for notice in manifest.component(component).elsewhere)


def _spelling(name: str) -> str:
    return name.lower().replace("-", "_")


def _identify(
    request: Request, manifest: Manifest, catalogue: Catalogue, origin: Origin, problems: _Problems
) -> _Asked:
    asked = _Asked()
    for key in NAMED:
        for name in getattr(request, key):
            where = origin.where(key, name)
            if key == "features":
                _identify_feature(request, manifest, name, where, asked, problems)
            else:
                _identify_name(manifest, catalogue, key, name, where, asked, problems)
    return asked


def _identify_feature(
    request: Request, manifest: Manifest, name: str, where: str, asked: _Asked, problems: _Problems
) -> None:
    for feature in manifest.features:
        if feature.name == name:
            for component in feature.components:
                asked.by_feature(component, name)
            return
    if name == EVERYTHING:
        for component in _everything(request, manifest):
            asked.by_feature(component, name)
        return
    known = [feature.name for feature in manifest.features]
    listed = f"features: {', '.join((EVERYTHING, *known))}"
    problems.add(f"{where}: no feature `{name}`{did_you_mean(name, known)}", listed)


def _everything(request: Request, manifest: Manifest) -> list[str]:
    """All that a release has for the requested platforms beside its runtime, unless it can never be had."""
    return [
        component.name
        for component in manifest.components
        if component.kind in _OPTIONAL
        and component.unavailable is None
        and any(available(manifest, component.name, p, request.variant) for p in request.platforms)
    ]


def _identify_name(
    manifest: Manifest,
    catalogue: Catalogue,
    key: str,
    name: str,
    where: str,
    asked: _Asked,
    problems: _Problems,
) -> None:
    found = find(manifest, name, KIND_OF_KEY.get(key))
    if len(found) > 1:
        meant = " or ".join(f"`{c.name}` ({c.kind})" for c in found)
        problems.add(f"{where}: `{name}` may mean {meant}; write the full name")
        return
    if not found:
        problems.add(*_unknown(manifest, catalogue, key, name, where))
        return
    component = found[0]
    if component.unavailable:
        stability = f" ({component.stability})" if component.stability != "stable" else ""
        problems.add(f"{where}: `{component.short}`{stability}: {component.unavailable}", hint=component.hint)
        return
    place = f"in `{where.partition(':')[0]}`" if ":" in where else "on the command line"
    asked.by_name(component.name, f"asked for by `{key}` {place}")


def _unknown(manifest: Manifest, catalogue: Catalogue, key: str, name: str, where: str) -> list[str]:
    kind = KIND_OF_KEY.get(key)
    known = [n for c in manifest.components if kind in (None, c.kind) for n in c.names]
    elsewhere = [c for c in manifest.components if _spelling(name) in map(_spelling, c.names)]
    label = kind or "component"
    if kind and elsewhere:
        other = elsewhere[0]
        return [f"{where}: `{name}` is no {label} but of kind `{other.kind}`"]
    lines = [f"{where}: no {label} `{name}`{did_you_mean(name, known)}"]
    return lines + [
        f"`{name}` is in {found}" for found in _releases_with(catalogue, manifest, [(kind, name)])
    ]


def _candidates(manifest: Manifest, platform: str, variant: str) -> Iterator[_Candidate]:
    for artifact in manifest.artifacts:
        if artifact.variant in (None, variant):
            for part in artifact.parts:
                if platform in part.platforms or ANY in part.platforms:
                    yield _Candidate(artifact, part)


def _select(
    request: Request,
    manifest: Manifest,
    catalogue: Catalogue,
    asked: _Asked,
    problems: _Problems,
) -> list[_Selection]:
    selections = []
    for platform in request.platforms:
        if not available(manifest, manifest.runtime.name, platform, request.variant):
            problems.add(
                f"{platform}: {manifest.package} {manifest.version} has no runtime for it",
                *_releases_for(catalogue, manifest, platform),
            )
            continue
        selection = _Selection(platform)
        _want_all(selection, manifest, request.variant, asked, problems)
        _choose_parts(selection, manifest, catalogue, request.variant, problems)
        _check_conflicts(selection, manifest, catalogue, problems)
        selections.append(selection)
    return selections


def _want_all(
    selection: _Selection,
    manifest: Manifest,
    variant: str,
    asked: _Asked,
    problems: _Problems,
) -> None:
    """Rule 2 on one platform: the closure of what is asked for over `requires` and built-in providers."""
    platform = selection.platform
    queue = [(manifest.runtime.name, "the runtime, which is always in")]
    queue += [
        (name, reason)
        for name, reasons in asked.reasons.items()
        for reason in reasons
        if available(manifest, name, platform, variant)
    ]
    while queue:
        name, reason = queue.pop(0)
        if not available(manifest, name, platform, variant):
            problems.add(f"{platform}: `{name}`, {reason}, is not there")
            continue
        if not selection.want(name, reason):
            continue
        candidates = list(_candidates(manifest, platform, variant))
        if any(c.part.component == name for c in candidates):
            requires = manifest.component(name).requires
            queue += [(required, f"required by `{name}`") for required in requires]
        else:
            # Built into another component, which then brings along what it needs; or from elsewhere.
            holders = [c.part.component for c in candidates if name in c.part.provides]
            queue += [(holder, f"holds `{name}`") for holder in holders[:1]]


def _choose_parts(
    selection: _Selection,
    manifest: Manifest,
    catalogue: Catalogue,
    variant: str,
    problems: _Problems,
) -> None:
    """Rule 4 on one platform."""
    wanted = set(selection.reasons)
    candidates = [c for c in _candidates(manifest, selection.platform, variant) if c.part.component in wanted]
    plain = [c for c in candidates if c.artifact.flavour is None]
    flavours: dict[str, list[_Candidate]] = {}
    for candidate in candidates:
        if candidate.artifact.flavour is not None:
            flavours.setdefault(candidate.artifact.flavour, []).append(candidate)
    needed = {n for group in flavours.values() for n in _given(group)} & wanted - _given(plain)
    chosen = next((group for group in flavours.values() if needed <= _given(group)), [])
    if flavours and not chosen:
        problems.add(
            *_flavour_problem(selection, manifest, catalogue, flavours, needed),
            hint="ask for one of them, or use the release that has them apart",
        )
    selection.parts = plain + chosen


def _given(candidates: Iterable[_Candidate]) -> set[str]:
    return {n for c in candidates for n in (c.part.component, *c.part.provides)}


def _flavour_problem(
    selection: _Selection,
    manifest: Manifest,
    catalogue: Catalogue,
    flavours: dict[str, list[_Candidate]],
    needed: set[str],
) -> list[str]:
    common = set.intersection(*(_given(group) for group in flavours.values()))
    apart = [c for c in manifest.components if c.name in needed - common]
    names = " and ".join(f"`{c.short}`" for c in apart)
    release = f"{manifest.package} {manifest.version}"
    why = f"each archive of {release} is a whole runtime with one backend built in"
    lines = [f"{selection.platform}: {names} cannot be installed together: {why}"]
    lines += [
        f"`{group[0].artifact.name}` gives {_shorts(manifest, _given(group) - common)}"
        for group in flavours.values()
    ]
    wanted = [(component.kind, component.short) for component in apart]
    lines += [
        f"{found} has them apart"
        for found in _releases_with(catalogue, manifest, wanted, selection.platform, apart=True)
    ]
    return lines


def _shorts(manifest: Manifest, names: Iterable[str]) -> str:
    return ", ".join(sorted(f"`{manifest.component(name).short}`" for name in names))


def _check_conflicts(
    selection: _Selection, manifest: Manifest, catalogue: Catalogue, problems: _Problems
) -> None:
    """Rule 5 on one platform. What is built into one library registers once, whatever it holds."""
    components = [c for c in manifest.components if c.name in selection.reasons]
    separate = {candidate.part.component for candidate in selection.parts}
    for one, other in combinations(components, 2):
        if not separate & {one.name, other.name}:
            continue
        shared = sorted(catalogue.operators(manifest, one) & catalogue.operators(manifest, other))
        if shared:
            problems.add(
                f"{selection.platform}: `{one.short}` and `{other.short}` both register "
                f"{len(shared)} operators, such as {shared[0]}: the app would abort at start with "
                "RegistrationAlreadyRegistered (0x16)",
                hint=f"ask for `{one.short}` or `{other.short}`, not both",
            )
        elif other.name in one.conflicts or one.name in other.conflicts:
            problems.add(
                f"{selection.platform}: `{one.short}` and `{other.short}` conflict",
                hint=f"ask for `{one.short}` or `{other.short}`, not both",
            )


def _check_available(
    request: Request,
    manifest: Manifest,
    asked: _Asked,
    selections: list[_Selection],
    problems: _Problems,
) -> None:
    """Rule 3: each component asked for is on at least one requested platform.

    A feature bundles what each platform has of it, so what only features ask for may be missing.
    """
    for name in asked.reasons:
        if name not in asked.named:
            continue
        if selections and not any(name in selection.reasons for selection in selections):
            component = manifest.component(name)
            has = [p for p in PLATFORMS if available(manifest, name, p, request.variant)]
            problems.add(
                f"{', '.join(request.platforms)}: no `{component.short}`; "
                f"it exists on {', '.join(has) or 'no platform'}"
            )


def _choices(manifest: Manifest, selections: list[_Selection]) -> tuple[Choice, ...]:
    choices = []
    for component in sorted(manifest.components, key=lambda c: c.name):
        on = [s for s in selections if component.name in s.reasons]
        if on:
            reasons = dict.fromkeys(r for s in on for r in s.reasons[component.name])
            choices.append(Choice(component, tuple(s.platform for s in on), tuple(reasons)))
    return tuple(choices)


def _chosen_artifacts(manifest: Manifest, selections: list[_Selection]) -> tuple[ChosenArtifact, ...]:
    chosen = []
    for artifact in manifest.artifacts:
        parts = []
        for part in artifact.parts:
            on = [s.platform for s in selections if any(c.part is part for c in s.parts)]
            if on:
                narrowed = (ANY,) if ANY in part.platforms else tuple(on)
                links = tuple(link for link in part.links if set(link.platforms) & set(on))
                parts.append(replace(part, platforms=narrowed, links=links))
        if parts:
            chosen.append(ChosenArtifact(artifact, tuple(parts)))
    return tuple(chosen)


def _absences(manifest: Manifest, asked: _Asked, selections: list[_Selection]) -> Iterator[str]:
    for name in asked.reasons:
        component = manifest.component(name)
        missing = [s.platform for s in selections if name not in s.reasons]
        if missing:
            yield f"`{component.short}` does not exist on {', '.join(missing)} and has no effect there"


def _notices(request: Request, manifest: Manifest, selections: list[_Selection]) -> Iterator[str]:
    for sentence, platforms in _sentences(request, manifest, selections).items():
        yield f"{', '.join(platforms)}: {sentence}"


def _sentences(request: Request, manifest: Manifest, selections: list[_Selection]) -> dict[str, list[str]]:
    """Sentences that hold on some platforms, each with those platforms, so that none is said twice."""
    said: dict[str, list[str]] = {}
    for selection in selections:
        here = selection.platform
        sentences = []
        for candidate in selection.parts:
            if candidate.part.provides:
                into = manifest.component(candidate.part.component).short
                built_in = _shorts(manifest, candidate.part.provides)
                sentences.append(f"{built_in} built into `{into}`")
            if request.variant == "debug" and candidate.artifact.variant is None:
                sentences.append("there is one build only, without debug logs")
        for component in manifest.components:
            if component.name in selection.reasons:
                notices = [n for n in (*component.notices, *component.elsewhere) if n.concerns(here)]
                sentences += [notice.text for notice in notices]
        for sentence in dict.fromkeys(sentences):
            said.setdefault(sentence, []).append(here)
    return said


def _other_flavours(manifest: Manifest, selections: list[_Selection]) -> Iterator[Rejection]:
    taken = {c.artifact.flavour for s in selections for c in s.parts}
    for artifact in manifest.artifacts:
        if artifact.flavour and artifact.flavour not in taken:
            yield Rejection(artifact.name, "another flavour gives all that is asked for")


def _what_exists(manifest: Manifest, platforms: tuple[str, ...]) -> Iterator[str]:
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


def _releases_for(catalogue: Catalogue, manifest: Manifest, platform: str) -> Iterator[str]:
    """The newest release of the same package that a platform has a runtime in."""
    for version in catalogue.versions(manifest.package):
        other = catalogue.manifest(manifest.package, version)
        if not other.prerelease and platform in other.platforms:
            yield f"the newest release for {platform} is {other.package} {version}"
            return


def _releases_with(
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
    found = find(manifest, name, kind)
    if not found:
        return False
    if apart:
        return any(
            c.part.component == found[0].name and c.artifact.flavour is None
            for c in _candidates(manifest, platform, "release")
        )
    return available(manifest, found[0].name, platform, "release")
