"""From a request and the catalogue to the components and artifacts that answer it.

In: `Request`, `Catalogue`, what models need. Out: `Resolution`, or one `ResolutionError` that lists all that
is missing. Rules, in this order:

1. The release is the highest the specifier admits (`catalogue.choose_release`).
2. Wanted are the components asked for by name or feature (every release has `all`), then what gives the
   delegates and operators of models (`offers`), what those require on each platform where they have
   files of their own, and always the runtime. A model that cannot load on a platform brings nothing there:
   a notice, and an error if it is so on all of them.
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

from etfetch import alternatives, offers
from etfetch.catalogue import Catalogue, Rejection, choose_release
from etfetch.errors import ResolutionError, did_you_mean
from etfetch.manifest import Artifact, Component, Manifest, Part
from etfetch.needs import ModelNeeds
from etfetch.offers import Candidate, Offer, available, candidates, lists_operators
from etfetch.platforms import ANY, PLATFORMS
from etfetch.request import EVERYTHING, KIND_OF_KEY, NAMED, Origin, Request

_OPTIONAL = ("backend", "kernels", "library")
_HINT_OWN = (
    "what the app registers itself stands in `provided-operators` or `provided-delegates`; "
    "else change platforms or version"
)


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

    `models` are those it was made for, `absences` the notices that a component has no effect on some of the
    platforms.
    """

    request: Request
    manifest: Manifest
    choices: tuple[Choice, ...]
    artifacts: tuple[ChosenArtifact, ...]
    models: tuple[ModelNeeds, ...] = ()
    notices: tuple[str, ...] = ()
    absences: tuple[str, ...] = ()
    rejected: tuple[Rejection, ...] = ()


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
    """What one platform gets of its offer: wanted components with reasons, and the parts that give them.

    `unmet` is what models need that cannot be had there, by their paths.
    """

    def __init__(self, platform: str, offer: Offer) -> None:
        self.platform = platform
        self.offer = offer
        self.reasons: dict[str, list[str]] = {}
        self.parts: list[Candidate] = []
        self.unmet: dict[str, tuple[str, ...]] = {}

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


def resolve(
    request: Request,
    catalogue: Catalogue,
    origin: Origin | None = None,
    models: Sequence[ModelNeeds] = (),
) -> Resolution:
    """Answer a request, or raise `ResolutionError`; `origin` lets its lines name file and line."""
    manifest, rejected = choose_release(catalogue, request.package, request.version)
    problems = _Problems()
    asked = _identify(request, manifest, catalogue, origin or Origin(), problems)
    selections = _select(request, manifest, catalogue, asked, models, problems)
    _check_available(request, manifest, asked, selections, problems)
    _check_models(request, manifest, catalogue, models, selections, problems)
    if problems.lines:
        raise ResolutionError(
            f"{manifest.package} {manifest.version} does not give what is asked for",
            data=[*problems.lines, *alternatives.what_exists(manifest, request.platforms)],
            hint=problems.hint or "change the request to what exists",
        )
    return Resolution(
        request=request,
        manifest=manifest,
        choices=_choices(manifest, selections),
        artifacts=_chosen_artifacts(manifest, selections),
        models=tuple(models),
        notices=(*_notices(request, manifest, selections), *_idle_models(manifest, models, selections)),
        absences=tuple(_absences(manifest, asked, selections)),
        rejected=(*rejected, *_other_flavours(manifest, selections)),
    )


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
    found = manifest.named(name, KIND_OF_KEY.get(key))
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
    elsewhere = manifest.named(name)
    label = kind or "component"
    if kind and elsewhere:
        other = elsewhere[0]
        return [f"{where}: `{name}` is no {label} but of kind `{other.kind}`"]
    lines = [f"{where}: no {label} `{name}`{did_you_mean(name, known)}"]
    return lines + [
        f"`{name}` is in {found}" for found in alternatives.releases_with(catalogue, manifest, [(kind, name)])
    ]


def _select(
    request: Request,
    manifest: Manifest,
    catalogue: Catalogue,
    asked: _Asked,
    models: Sequence[ModelNeeds],
    problems: _Problems,
) -> list[_Selection]:
    selections = []
    for platform in request.platforms:
        if not available(manifest, manifest.runtime.name, platform, request.variant):
            problems.add(
                f"{platform}: {manifest.package} {manifest.version} has no runtime for it",
                *alternatives.releases_for(catalogue, manifest, platform),
            )
            continue
        selection = _Selection(platform, offers.offer(catalogue, manifest, platform, request.variant))
        _want_asked(selection, manifest, request.variant, asked, problems)
        _want_for_models(selection, manifest, request.variant, models, problems)
        _choose_parts(selection, manifest, catalogue, request.variant, problems)
        _check_conflicts(selection, problems)
        selections.append(selection)
    return selections


def _want_asked(
    selection: _Selection,
    manifest: Manifest,
    variant: str,
    asked: _Asked,
    problems: _Problems,
) -> None:
    """The runtime, and what is asked for by name or feature as far as the platform has it."""
    wanted = [(manifest.runtime.name, "the runtime, which is always in")]
    wanted += [
        (name, reason)
        for name, reasons in asked.reasons.items()
        for reason in reasons
        if available(manifest, name, selection.platform, variant)
    ]
    _want(selection, manifest, variant, wanted, problems)


def _want_for_models(
    selection: _Selection,
    manifest: Manifest,
    variant: str,
    models: Sequence[ModelNeeds],
    problems: _Problems,
) -> None:
    """What gives the delegates and operators of the models that can load on one platform."""
    offer, judged = selection.offer, lists_operators(manifest)
    loading = []
    for model in models:
        unmet = offer.unmet(selection.reasons, model.delegates, model.operators if judged else ())
        if unmet:
            selection.unmet[model.path] = unmet
        else:
            loading.append(model)
    backends = offer.backends(selection.reasons, [name for model in loading for name in model.delegates])
    _want(selection, manifest, variant, _reasons(offer, backends, loading), problems)
    operators = {name for model in loading for name in model.operators} if judged else ()
    kernels = offer.kernels(selection.reasons, operators)
    if kernels is None:
        _clashing_kernels(selection, loading, problems)
        return
    present = [c for c in offer.named(selection.reasons) if c.kind != "runtime"]
    _want(selection, manifest, variant, _reasons(offer, (*kernels, *present), loading), problems)


def _reasons(
    offer: Offer, components: Iterable[Component], models: Sequence[ModelNeeds]
) -> list[tuple[str, str]]:
    """The components' names, each with every model that needs it."""
    return [
        (component.name, f"needed by `{model.path}`")
        for component in components
        for model in models
        if component.delegate in model.delegates
        or not offer.operators[component.name].isdisjoint(model.operators)
    ]


def _clashing_kernels(selection: _Selection, models: Sequence[ModelNeeds], problems: _Problems) -> None:
    """The problem of operators that each have a provider, but none that can be together in one app."""
    offer = selection.offer
    operators = {name for model in models for name in model.operators}
    kernels = [c for c in offer.addable(selection.reasons) if offer.operators[c.name] & operators]
    lines = []
    for component in kernels:
        others = frozenset().union(*(offer.operators[c.name] for c in kernels if c is not component))
        only = sorted(offer.operators[component.name] & operators - others)
        if only:
            whose = [f"`{m.path}`" for m in models if set(only) & set(m.operators)]
            lines.append(f"  only `{component.short}` has {', '.join(only)}, for {', '.join(whose)}")
    problems.add(
        f"{selection.platform}: the models' operators come from kernels that cannot be in one app: it would "
        "abort at start with RegistrationAlreadyRegistered (0x16)",
        *lines,
        hint="name the models of one app in `models`, or export them again for the same kernels",
    )


def _want(
    selection: _Selection,
    manifest: Manifest,
    variant: str,
    wanted: Sequence[tuple[str, str]],
    problems: _Problems,
) -> None:
    """Rule 2 on one platform: the closure of names with reasons over `requires` and built-in providers."""
    platform, queue = selection.platform, list(wanted)
    while queue:
        name, reason = queue.pop(0)
        if not available(manifest, name, platform, variant):
            problems.add(f"{platform}: `{name}`, {reason}, is not there")
            continue
        if not selection.want(name, reason):
            continue
        parts = list(candidates(manifest, platform, variant))
        if any(c.part.component == name for c in parts):
            requires = manifest.component(name).requires
            queue += [(required, f"required by `{name}`") for required in requires]
        else:
            # Built into another component, which then brings along what it needs; or from elsewhere.
            holders = [c.part.component for c in parts if name in c.part.provides]
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
    parts = [c for c in candidates(manifest, selection.platform, variant) if c.part.component in wanted]
    plain = [c for c in parts if c.artifact.flavour is None]
    flavours: dict[str, list[Candidate]] = {}
    for candidate in parts:
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


def _given(parts: Iterable[Candidate]) -> set[str]:
    return {n for c in parts for n in (c.part.component, *c.part.provides)}


def _flavour_problem(
    selection: _Selection,
    manifest: Manifest,
    catalogue: Catalogue,
    flavours: dict[str, list[Candidate]],
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
        for found in alternatives.releases_with(catalogue, manifest, wanted, selection.platform, apart=True)
    ]
    return lines


def _shorts(manifest: Manifest, names: Iterable[str]) -> str:
    return ", ".join(sorted(f"`{manifest.component(name).short}`" for name in names))


def _check_conflicts(selection: _Selection, problems: _Problems) -> None:
    """Rule 5 on one platform."""
    offer = selection.offer
    for one, other in combinations(sorted(offer.named(selection.reasons), key=lambda c: c.name), 2):
        if not offer.conflict(one, other):
            continue
        shared = sorted(offer.operators[one.name] & offer.operators[other.name])
        what = (
            f"both register {len(shared)} operators, such as {shared[0]}: the app would abort at start with "
            "RegistrationAlreadyRegistered (0x16)"
            if shared
            else "conflict"
        )
        problems.add(
            f"{selection.platform}: `{one.short}` and `{other.short}` {what}",
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


def _check_models(
    request: Request,
    manifest: Manifest,
    catalogue: Catalogue,
    models: Sequence[ModelNeeds],
    selections: Sequence[_Selection],
    problems: _Problems,
) -> None:
    """A model has to load on at least one requested platform."""
    for model in models:
        if not selections or not all(model.path in selection.unmet for selection in selections):
            continue
        on = ", ".join(selection.platform for selection in selections)
        known: dict[str, list[str]] = {}
        for name in dict.fromkeys(name for selection in selections for name in selection.unmet[model.path]):
            where = _whereabouts(request, manifest, catalogue, selections, name)
            known.setdefault(where, []).append(name)
        for where, names in known.items():
            listed = ", ".join(f"`{name}`" for name in names)
            problems.add(f"`{model.path}` needs {listed}, not to be had on {on}; {where}", hint=_HINT_OWN)


def _whereabouts(
    request: Request,
    manifest: Manifest,
    catalogue: Catalogue,
    selections: Sequence[_Selection],
    name: str,
) -> str:
    """What is known of a delegate or an operator that cannot be had."""
    for component in manifest.components:
        if component.delegate == name and component.unavailable:
            return component.unavailable
    for selection in selections:
        offer, asked = selection.offer, selection.offer.named(selection.reasons)
        for component in offer.components:
            rivals = [one for one in asked if offer.conflict(component, one)]
            if rivals and name in (component.delegate, *offer.operators[component.name]):
                return (
                    f"`{component.short}` gives it and conflicts with `{rivals[0].short}`, which is asked for"
                )
    return alternatives.giving(catalogue, manifest, request.variant, name) or "no known release has it"


def _idle_models(
    manifest: Manifest, models: Sequence[ModelNeeds], selections: Sequence[_Selection]
) -> Iterator[str]:
    """The notices of models that do not load on some platforms, and of needs that nobody can judge."""
    for model in models:
        idle: dict[tuple[str, ...], list[str]] = {}
        for selection in selections:
            if model.path in selection.unmet:
                idle.setdefault(selection.unmet[model.path], []).append(selection.platform)
        for names, platforms in idle.items():
            missing = ", ".join(f"`{name}`" for name in names)
            yield f"{', '.join(platforms)}: `{model.path}` cannot load there: nothing gives {missing}"
    if any(model.operators for model in models) and not lists_operators(manifest):
        release = f"{manifest.package} {manifest.version}"
        yield f"nobody has listed the operators of {release}: only backends were chosen for the models"


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
