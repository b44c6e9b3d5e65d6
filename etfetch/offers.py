"""What a release offers on one platform, and which of it gives the operators and delegates of models.

In: a manifest, the catalogue's operator sets. Out: components. Rules:

- A component is there if it has a part, is built into another's part, or comes from elsewhere.
- Two components conflict if both register an operator or one declares it, unless both are built into
  another's libraries, which register once, whatever they hold.
- An operator gets exactly one provider: of several the one that the manifest prefers, as far as it conflicts
  with nothing that is in or is needed for another operator.

Not here: what is asked for by name, and the archives (`resolve`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from etfetch.catalogue import Catalogue
from etfetch.manifest import Artifact, Component, Manifest, Part
from etfetch.platforms import ANY


@dataclass(frozen=True, slots=True)
class Candidate:
    """A part that could serve one platform, with the artifact it would come from."""

    artifact: Artifact
    part: Part


def candidates(manifest: Manifest, platform: str, variant: str) -> Iterator[Candidate]:
    """All parts of a release that could serve a platform."""
    for artifact in manifest.artifacts:
        if artifact.variant in (None, variant):
            for part in artifact.parts:
                if platform in part.platforms or ANY in part.platforms:
                    yield Candidate(artifact, part)


def available(manifest: Manifest, component: str, platform: str, variant: str) -> bool:
    """Whether a release has a component on a platform in a variant."""
    return any(
        component in (c.part.component, *c.part.provides) for c in candidates(manifest, platform, variant)
    ) or any(notice.concerns(platform) for notice in manifest.component(component).elsewhere)


@dataclass(frozen=True, slots=True)
class Offer:
    """What can be had on one platform: `components` in the order of the manifest's preference.

    `operators` is what each registers, by its name; `apart` are those with libraries of their own.
    """

    components: tuple[Component, ...]
    operators: Mapping[str, frozenset[str]]
    apart: frozenset[str]

    def named(self, names: Collection[str]) -> list[Component]:
        """Those of the components that bear one of the names."""
        return [component for component in self.components if component.name in names]

    def conflict(self, one: Component, other: Component) -> bool:
        """Whether an app with both would abort at its start, or one refuses the other."""
        if not self.apart & {one.name, other.name}:
            return False
        declared = other.name in one.conflicts or one.name in other.conflicts
        return declared or not self.operators[one.name].isdisjoint(self.operators[other.name])

    def addable(self, present: Collection[str]) -> list[Component]:
        """What is not in, and would not conflict with what is."""
        there = self.named(present)
        return [
            component
            for component in self.components
            if component.name not in present and not any(self.conflict(component, one) for one in there)
        ]

    def unmet(
        self, present: Collection[str], delegates: Iterable[str], operators: Iterable[str]
    ) -> tuple[str, ...]:
        """The delegates and operators that neither what is in nor what could be added gives."""
        possible = [*self.named(present), *self.addable(present)]
        registered = {name for component in possible for name in self.operators[component.name]}
        ids = {component.delegate for component in possible}
        return (
            *(name for name in dict.fromkeys(delegates) if name not in ids),
            *(name for name in dict.fromkeys(operators) if name not in registered),
        )

    def backends(self, present: Collection[str], delegates: Iterable[str]) -> tuple[Component, ...]:
        """What to add for delegates, one component each; those that nothing gives are left out."""
        ids = {component.delegate for component in self.named(present)}
        addable = self.addable(present)
        found = (
            next((c for c in addable if c.delegate == name), None) for name in delegates if name not in ids
        )
        return tuple(dict.fromkeys(component for component in found if component is not None))

    def kernels(self, present: Collection[str], operators: Iterable[str]) -> tuple[Component, ...] | None:
        """What to add for operators: exactly one provider for each, the preferred of several.

        None where no choice gives all of them without a conflict.
        """
        registered = {name for component in self.named(present) for name in self.operators[component.name]}
        missing = sorted(set(operators) - registered)
        useful = [c for c in self.addable(present) if not self.operators[c.name].isdisjoint(missing)]
        return self._cover((), useful, missing)

    def _cover(
        self, chosen: tuple[Component, ...], useful: list[Component], missing: list[str]
    ) -> tuple[Component, ...] | None:
        if not missing:
            return chosen
        for component in useful:
            given = self.operators[component.name]
            if missing[0] not in given:
                continue
            rest = [c for c in useful if c != component and not self.conflict(c, component)]
            found = self._cover((*chosen, component), rest, [name for name in missing if name not in given])
            if found is not None:
                return found
        return None


def offer(catalogue: Catalogue, manifest: Manifest, platform: str, variant: str) -> Offer:
    """What a release has on a platform; `ManifestError` for an operator set that is not there."""
    order = {name: number for number, name in enumerate(manifest.prefer)}
    there = [
        component
        for component in manifest.components
        if component.unavailable is None and available(manifest, component.name, platform, variant)
    ]
    there.sort(key=lambda component: order.get(component.name, len(order)))
    return Offer(
        components=tuple(there),
        operators={component.name: catalogue.operators(manifest, component) for component in there},
        apart=frozenset(c.part.component for c in candidates(manifest, platform, variant)),
    )


def lists_operators(manifest: Manifest) -> bool:
    """Whether anybody has listed the operators of a release's components."""
    return any(component.operators for component in manifest.components)
