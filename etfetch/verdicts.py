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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from etfetch import alternatives, offers
from etfetch.catalogue import Catalogue
from etfetch.lockfile import Lock
from etfetch.manifest import Manifest
from etfetch.needs import Provided
from etfetch.offers import Offer
from etfetch.program import Method, Model

NOT_FOUND, OPERATOR_MISSING = "0x20", "0x14"
ALREADY_REGISTERED, INVALID_PROGRAM = "0x16", "0x23"
KNOWN_SCHEMA = 0
"""The schema version that every runtime so far reads."""

APP = "the app"
UNKNOWN = "not known"
"""Who gives what no component does: the app itself, and operators that nobody has listed."""


@dataclass(frozen=True, slots=True)
class Registered:
    """What a program that links everything locked has registered on one platform, and which component did.

    `operators` is None for a release of which nobody has listed the operators: then they are not judged.
    `provided` is what the app registers itself.
    """

    delegates: Mapping[str, str]
    operators: Mapping[str, str] | None
    provided: Provided

    def delegate_from(self, name: str) -> str | None:
        """Which component gives a delegate, or `APP`; None if nothing does."""
        return self.delegates.get(name) or (APP if name in self.provided.delegates else None)

    def operator_from(self, name: str) -> str | None:
        """Which component gives an operator, `APP`, or `UNKNOWN`; None if nothing does."""
        if self.provided.has_operator(name):
            return APP
        return UNKNOWN if self.operators is None else self.operators.get(name)

    @property
    def twice(self) -> tuple[str, ...]:
        """The app's own operators that a locked library registers, too."""
        return tuple(name for name in self.provided.operators if name in (self.operators or ()))


@dataclass(frozen=True, slots=True)
class Verdict:
    """One method on one platform. `error` is the runtime's code, None when it runs.

    `schema_version` is the program's. `given` is what it needs and has, by who gives it. `add` are the
    components that would repair it, as `etfetch add` takes them; `hopeless` is what no component of the
    release has there.
    """

    model: str
    platform: str
    method: str
    schema_version: int = KNOWN_SCHEMA
    given: tuple[tuple[str, tuple[str, ...]], ...] = ()
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


def judge(name: str, model: Model, platform: str, there: Registered, release: Release) -> list[Verdict]:
    """The verdicts on a model's methods."""
    return [_judge(name, model, method, platform, there, release) for method in model.methods]


def _judge(
    name: str, model: Model, method: Method, platform: str, there: Registered, release: Release
) -> Verdict:
    delegate_from = {d.id: there.delegate_from(d.id) for d in method.delegates}
    operator_from = {operator: there.operator_from(operator) for operator, _ in method.operators}
    delegates = sorted(name for name, giver in delegate_from.items() if giver is None)
    operators = [name for name, giver in operator_from.items() if giver is None]
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
        schema_version=model.schema_version,
        given=_by_giver({**delegate_from, **operator_from}),
        missing_delegates=tuple(delegates),
        missing_operators=tuple(operators),
        twice=there.twice,
        error=error,
        add=add,
        hopeless=hopeless,
    )


def _by_giver(needs: Mapping[str, str | None]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    given: dict[str, list[str]] = {}
    for name, giver in needs.items():
        if giver is not None:
            given.setdefault(giver, []).append(name)
    return tuple((giver, tuple(names)) for giver, names in given.items())


@dataclass(frozen=True, slots=True)
class Release:
    """The locked release as its manifest describes it: what could be added."""

    catalogue: Catalogue
    manifest: Manifest
    lock: Lock
    _offers: dict[str, Offer] = field(default_factory=dict, compare=False)

    def registered(self, platform: str, provided: Provided) -> Registered:
        """What is registered on a platform when everything locked is linked, built-in components included."""
        names = self._locked(platform)
        here = [component for component in self.manifest.components if component.name in names]
        delegates = {c.delegate: c.name for c in here if c.delegate is not None}
        operators = {name: c.name for c in here for name in self.catalogue.operators(self.manifest, c)}
        listed = offers.lists_operators(self.manifest)
        return Registered(delegates, operators if listed else None, provided)

    def repair(
        self, platform: str, delegates: Sequence[str], operators: Sequence[str]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The components that give what is missing, by their short names, and what none gives there."""
        if not (delegates or operators):
            return (), ()
        present = self._locked(platform)
        offer = self._offer(platform)
        hopeless = offer.unmet(present, delegates, operators)
        backends = offer.backends(present, delegates)
        present |= {component.name for component in backends}
        kernels = offer.kernels(present, set(operators) - set(hopeless))
        if kernels is None:
            # Each operator has a provider, and no two of them may be in one app.
            return tuple(c.short for c in backends), (*hopeless, *operators)
        return tuple(c.short for c in (*backends, *kernels)), hopeless

    def _offer(self, platform: str) -> Offer:
        if platform not in self._offers:
            variant = self.lock.request.variant
            self._offers[platform] = offers.offer(self.catalogue, self.manifest, platform, variant)
        return self._offers[platform]

    def _locked(self, platform: str) -> set[str]:
        """The names of what is locked on a platform, built-in components included."""
        names = {component.name for component in self.lock.components if platform in component.platforms}
        for artifact in self.lock.artifacts:
            for part in artifact.parts:
                if platform in part.platforms:
                    names.update(part.provides)
        return names

    def elsewhere(self, name: str) -> str | None:
        """Which component gives a delegate or an operator, and where: of this release, else of another."""
        return alternatives.giving(self.catalogue, self.manifest, self.lock.request.variant, name)
