"""Whether programs will run with what is locked, and what they would fail with.

In: models, a lock, the operators in its operator sets. Out: a `Verdict` for each method on each platform.
Rules, which predicted the real runtime in every case that was tried (`tests/test_reality.py`):

- A method loads if and only if each of its delegates, and each of its operators with its overload, is
  registered.
- Delegates are asked for before operators: a missing one is `0x20` (NotFound), whatever else is missing;
  missing operators are `0x14` (OperatorMissing).
- An operator that two libraries register ends the app at its start: `0x16`. A lock never holds such
  libraries; an app's own operator can be one that a locked library has.
- A program of another schema than the runtime's is `0x23` (InvalidProgram).

Not here: opening files (`modelfile`), choosing what to install.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from etfetch.catalogue import Catalogue
from etfetch.lockfile import Lock
from etfetch.manifest import Component, Manifest
from etfetch.platforms import PLATFORMS
from etfetch.program import Method, Model
from etfetch.resolve import available

NOT_FOUND, OPERATOR_MISSING = "0x20", "0x14"
ALREADY_REGISTERED, INVALID_PROGRAM = "0x16", "0x23"
KNOWN_SCHEMA = 0
"""The schema version that every runtime so far reads."""


@dataclass(frozen=True, slots=True)
class Registered:
    """What a program that links everything locked has registered on one platform.

    `operators` is None for a release of which nobody has listed the operators: then they are not judged.
    """

    delegates: frozenset[str]
    operators: frozenset[str] | None
    declared: tuple[str, ...] = ()

    def has_operator(self, name: str) -> bool:
        if self.operators is None or name in self.operators:
            return True
        return any(fnmatchcase(name, pattern) for pattern in self.declared)

    @property
    def twice(self) -> tuple[str, ...]:
        """The app's own operators that a locked library registers, too."""
        return tuple(name for name in self.declared if name in (self.operators or ()))


@dataclass(frozen=True, slots=True)
class Verdict:
    """One method on one platform. `error` is the runtime's code, None when it runs.

    `add` are the components that would repair it, as `etfetch add` takes them; `hopeless` is what no
    component of the release has there.
    """

    model: str
    platform: str
    method: str
    missing_delegates: tuple[str, ...] = ()
    missing_operators: tuple[str, ...] = ()
    twice: tuple[str, ...] = ()
    error: str | None = None
    add: tuple[str, ...] = ()
    hopeless: tuple[str, ...] = ()

    @property
    def runs(self) -> bool:
        return self.error is None

    @property
    def fix(self) -> str | None:
        """The command that repairs it, if one does."""
        return f"etfetch add {' '.join(self.add)}" if self.add and not self.hopeless else None


def _newest(catalogue: Catalogue) -> list[Manifest]:
    """Each package's releases, newest first; no pre-releases."""
    found = [catalogue.manifest(p, version) for p in catalogue.packages for version in catalogue.versions(p)]
    return [manifest for manifest in found if not manifest.prerelease]


def judge(name: str, model: Model, platform: str, there: Registered, release: Release) -> list[Verdict]:
    """The verdicts on a model's methods."""
    return [_judge(name, model, method, platform, there, release) for method in model.methods]


def _judge(
    name: str, model: Model, method: Method, platform: str, there: Registered, release: Release
) -> Verdict:
    delegates = sorted({d.id for d in method.delegates if d.id not in there.delegates})
    operators = [operator for operator, _ in method.operators if not there.has_operator(operator)]
    error = None
    if there.twice:
        error = ALREADY_REGISTERED
    elif model.schema_version != KNOWN_SCHEMA:
        error = INVALID_PROGRAM
    elif delegates:
        error = NOT_FOUND
    elif operators:
        error = OPERATOR_MISSING
    add, hopeless = release.repair(platform, delegates, operators)
    return Verdict(
        model=name,
        platform=platform,
        method=method.name,
        missing_delegates=tuple(delegates),
        missing_operators=tuple(operators),
        twice=there.twice,
        error=error,
        add=add,
        hopeless=hopeless,
    )


@dataclass(frozen=True, slots=True)
class Release:
    """The locked release as its manifest describes it: what could be added."""

    catalogue: Catalogue
    manifest: Manifest
    lock: Lock

    def registered(self, platform: str, declared: Sequence[str] = ()) -> Registered:
        """What is registered on a platform when everything locked is linked, built-in components included."""
        names = {c.name for c in self.lock.components if platform in c.platforms}
        for artifact in self.lock.artifacts:
            for part in artifact.parts:
                if platform in part.platforms:
                    names.update(part.provides)
        here = [component for component in self.manifest.components if component.name in names]
        delegates = frozenset(c.delegate for c in here if c.delegate is not None)
        operators = frozenset(name for c in here for name in self._operators(c))
        listed = any(component.operators for component in self.manifest.components)
        return Registered(delegates, operators if listed else None, tuple(declared))

    def repair(
        self, platform: str, delegates: Iterable[str], operators: Iterable[str]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The components that give what is missing, by their short names, and what none gives there."""
        candidates = self._candidates(platform)
        wanted: list[Component] = []
        hopeless: list[str] = []
        for delegate in delegates:
            found = next((c for c in candidates if c.delegate == delegate), None)
            if found is None:
                hopeless.append(delegate)
            else:
                wanted.append(found)
        missing = set(operators)
        while missing:
            # The one that gives most; of equals the manifest's first.
            best = max(candidates, key=lambda c: len(missing & self._operators(c)), default=None)
            given = missing & self._operators(best) if best else set()
            if best is None or not given:
                hopeless += sorted(missing)
                break
            wanted.append(best)
            missing -= given
        return tuple(dict.fromkeys(c.short for c in wanted)), tuple(hopeless)

    def elsewhere(self, name: str) -> str | None:
        """Which component gives a delegate or an operator, and where: of this release, else of another."""
        releases = [self.manifest, *_newest(self.catalogue)]
        for manifest in releases:
            for component in manifest.components:
                operators = self.catalogue.operators(manifest, component)
                if component.unavailable is None and (name == component.delegate or name in operators):
                    variant = self.lock.request.variant
                    on = [p for p in PLATFORMS if available(manifest, component.name, p, variant)]
                    where = f"`{component.name}` of {manifest.package} {manifest.version}"
                    return f"{where} gives it on {', '.join(on)}"
        return None

    def _candidates(self, platform: str) -> list[Component]:
        """What could be added: what is there for the platform, and registers nothing that is registered."""
        locked = {c.name for c in self.lock.components if platform in c.platforms}
        variant = self.lock.request.variant
        taken = {name for c in self.manifest.components if c.name in locked for name in self._operators(c)}
        return [
            component
            for component in self.manifest.components
            if component.name not in locked
            and component.unavailable is None
            and available(self.manifest, component.name, platform, variant)
            and taken.isdisjoint(self._operators(component))
        ]

    def _operators(self, component: Component) -> frozenset[str]:
        return self.catalogue.operators(self.manifest, component)
