"""What there is to link on a platform, read off a lock.

In: a lock and a platform. Out: its components in an order in which each stands after those it needs, with
their link facts. Everything that writes build files starts here, so all of them name the same libraries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from etfetch.lockfile import Lock
from etfetch.manifest import Link
from etfetch.platforms import PLATFORMS


@dataclass(frozen=True, slots=True)
class Linked:
    """A component on one platform: its link facts, what it needs there, and what it is built into.

    `links` is empty for a component without files of its own: one that is `within` another, or headers.
    """

    name: str
    kind: str
    links: tuple[Link, ...] = ()
    needs: tuple[str, ...] = ()
    within: str | None = None
    delegate: str | None = None
    operators: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """The name without its kind, as `etfetch add` takes it."""
        prefix = f"{self.kind}_"
        return self.name.removeprefix(prefix)


def platforms(lock: Lock) -> tuple[str, ...]:
    """The locked platforms that have something to link, in one order."""
    return tuple(p for p in PLATFORMS if p in lock.request.platforms and linked(lock, p))


def linked(lock: Lock, platform: str) -> tuple[Linked, ...]:
    """The components that can be linked on a platform; headers come with those that use them."""
    links = _links(lock, platform)
    holders = _holders(lock, platform)
    found: dict[str, Linked] = {}
    runtime = next((c.name for c in lock.components if c.kind == "runtime"), None)
    for component in lock.components:
        if platform not in component.platforms or not (component.name in links or component.name in holders):
            continue
        needs = {*component.requires, *([runtime] if runtime else [])} - {component.name}
        found[component.name] = Linked(
            name=component.name,
            kind=component.kind,
            links=links.get(component.name, ()),
            needs=tuple(sorted(needs)),
            within=None if component.name in links else holders[component.name],
            delegate=component.delegate,
            operators=component.operators,
        )
    return tuple(_in_order(found))


def once(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """The values of all lists in their order, each once: what several libraries want of a linker."""
    return tuple(dict.fromkeys(value for values in lists for value in values))


def _links(lock: Lock, platform: str) -> dict[str, tuple[Link, ...]]:
    found: dict[str, tuple[Link, ...]] = {}
    for artifact in lock.artifacts:
        for part in artifact.parts:
            here = tuple(link for link in part.links if platform in link.platforms)
            if here:
                found[part.component] = (*found.get(part.component, ()), *here)
    return found


def _holders(lock: Lock, platform: str) -> dict[str, str]:
    """Components that are built into another's libraries, each with that one."""
    return {
        name: part.component
        for artifact in lock.artifacts
        for part in artifact.parts
        if platform in part.platforms and any(platform in link.platforms for link in part.links)
        for name in part.provides
    }


def _in_order(found: Mapping[str, Linked]) -> Iterator[Linked]:
    """Each component after those it needs and the one it is within; names decide otherwise."""
    said: set[str] = set()

    def visit(component: Linked) -> Iterator[Linked]:
        if component.name in said:
            return
        said.add(component.name)
        for name in (*component.needs, *([component.within] if component.within else [])):
            if name in found:
                yield from visit(found[name])
        yield component

    for name in sorted(found):
        yield from visit(found[name])
