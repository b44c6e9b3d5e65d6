"""Random locks, records and trees, for the laws that must hold for all of them."""

from __future__ import annotations

from hypothesis import strategies as st

from etfetch.lockfile import Lock, LockedArtifact, LockedComponent
from etfetch.manifest import FORMATS, KINDS, LINK_KINDS, Link, Part
from etfetch.needs import ModelNeeds
from etfetch.platforms import ANY, PLATFORMS, VARIANTS
from etfetch.request import Request

DIGESTS = st.text("0123456789abcdef", min_size=64, max_size=64)
NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789_é☃", min_size=1, max_size=12)
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


def unique(items: st.SearchStrategy[str], least: int = 0) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(items, min_size=least, max_size=3, unique=True).map(lambda x: tuple(sorted(x)))


def platforms(known: tuple[str, ...] = PLATFORMS) -> st.SearchStrategy[tuple[str, ...]]:
    chosen = st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True)
    return chosen.map(lambda names: tuple(sorted(names, key=known.index)))


REQUESTS = st.builds(
    Request,
    package=NAMES,
    version=st.sampled_from(["", "==1.5.1", "<2,>=1", "~=1.4.0"]),
    platforms=unique(st.sampled_from(PLATFORMS), 1),
    variant=st.sampled_from(VARIANTS),
    backends=unique(TEXTS),
    kernels=unique(NAMES),
    libraries=unique(NAMES),
    extras=unique(NAMES),
    features=unique(NAMES),
    models=unique(PATHS),
)

LINKS = st.builds(
    Link,
    platforms=platforms(),
    kind=st.sampled_from(LINK_KINDS),
    files=unique(PATHS),
    registers=st.booleans(),
    frameworks=unique(NAMES),
    libraries=unique(TEXTS),
    resources=unique(PATHS),
    headers=unique(PATHS),
    definitions=unique(TEXTS),
    cxx_standard=st.sampled_from([None, 17, 20]),
)

PARTS = st.builds(
    Part,
    component=NAMES,
    platforms=platforms((*PLATFORMS, ANY)),
    members=unique(PATHS, 1),
    exclude=unique(PATHS),
    strip=st.integers(0, 3),
    to=st.one_of(st.just(""), PATHS),
    provides=unique(NAMES),
    links=st.lists(LINKS, max_size=2).map(tuple),
)

ARTIFACTS = st.builds(
    LockedArtifact,
    name=NAMES,
    source=NAMES.map(lambda name: f"https://host/{name}"),
    sha256=DIGESTS,
    format=st.sampled_from(FORMATS),
    parts=st.lists(PARTS, min_size=1, max_size=3).map(tuple),
    size=st.one_of(st.none(), st.integers(1, 1 << 40)),
)

COMPONENTS = st.builds(
    LockedComponent,
    name=NAMES,
    kind=st.sampled_from(KINDS),
    platforms=platforms(),
    requires=unique(NAMES),
    delegate=st.one_of(st.none(), NAMES),
    operators=unique(NAMES),
)

MODELS = st.builds(
    ModelNeeds,
    path=st.builds(str.__add__, st.sampled_from(["", "../", "../../"]), PATHS),
    sha256=DIGESTS,
    delegates=unique(NAMES),
    operators=unique(TEXTS),
)

LOCKS = st.builds(
    Lock,
    request=REQUESTS,
    release=NAMES,
    components=st.lists(COMPONENTS, max_size=3).map(tuple),
    artifacts=st.lists(ARTIFACTS, max_size=3, unique_by=lambda a: a.sha256).map(tuple),
    models=st.lists(MODELS, max_size=2).map(tuple),
)
