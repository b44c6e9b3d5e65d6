"""A library: a package whose project file lets the apps that use it choose what is installed.

A React Native package, for one, ships no binaries but an `etfetch.toml`; the app that depends on it says in
its own `package.json` which backends and libraries it wants, and etfetch runs in the package's folder.

In: the tables of the library's project file, and the app's block. Out: `Library`, `Choices`. Rules:

- `consumer-key` makes a project a library. It names the block of the app's `package.json`.
- The library says for which platforms it is built; a machine installs those that it builds for. They are
  locked together, so the lock has the same bytes on every machine.
- No block means everything that the release has. A block means what it lists, and empty lists the core.
- `[environment]` lets older variables of the library stand for etfetch's own, which win where both are set.

Not here: where the app is (`consumer`), what names mean (`resolve`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from etfetch import modelpaths, paths
from etfetch.errors import did_you_mean
from etfetch.tables import Table

KEYS_OF_BLOCK = {
    "backends": "backends",
    "kernels": "kernels",
    "libraries": "libs",
    "extras": "extras",
    "features": "features",
}
"""The keys of a request, and under which key an app's block has them."""

STAND_INS = (
    "ETFETCH_BASE_URL",
    "ETFETCH_CACHE_DIR",
    "ETFETCH_EXCLUDE_PLATFORMS",
    "ETFETCH_HEADERS_ONLY",
    "ETFETCH_OFFLINE",
    "ETFETCH_PLATFORMS",
    "ETFETCH_SKIP_DOWNLOAD",
)
"""What an older variable may stand for. Tokens and configuration files are not for a package to name."""

_NO = frozenset({"", "0", "false", "no"})


@dataclass(frozen=True, slots=True)
class StandIn:
    """An older variable: `meaning` is the variable it stands for, with its own value or with `value`."""

    name: str
    meaning: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Library:
    """How a package serves apps: `key` is their block's, `lock` the name of the file beside `package.json`.

    `passed` are the keys of the block that mean nothing to etfetch and go into the build configuration.
    """

    key: str
    lock: str
    passed: tuple[str, ...]
    stand_ins: tuple[StandIn, ...]

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The environment with the older variables' meanings where etfetch's own are not set."""
        found = dict(environment)
        for stand_in in self.stand_ins:
            given = environment.get(stand_in.name, "")
            if not given or environment.get(stand_in.meaning):
                continue
            if stand_in.value is None:
                found[stand_in.meaning] = given
            elif is_yes(given):
                found[stand_in.meaning] = stand_in.value
        return found


@dataclass(frozen=True, slots=True)
class Choices:
    """What apps chose: names by the keys of a request, and the values that are passed on as they are.

    `models` are the patterns of their models, relative to the `package.json` that names them.
    """

    names: Mapping[str, tuple[str, ...]]
    passed: Mapping[str, Any]
    models: tuple[str, ...] = ()


def parse(table: Table, default_lock: str, passed: Sequence[str]) -> Library | None:
    """Read a library's keys from its project file; None for a project that is none."""
    key = table.optional_string("consumer-key")
    lock = table.optional_string("lock")
    environment = table.table("environment")
    if key is None:
        for name, given in (("lock", lock is not None), ("environment", bool(environment.names()))):
            if given:
                raise table.fail(name, "belongs to a library, which has a `consumer-key`")
        return None
    if not key or paths.has_control(key):
        raise table.fail("consumer-key", "is not a key of a `package.json`")
    if not table.has("platforms"):
        raise table.fail("platforms", "is missing: a library says what it is built for")
    return Library(key, _lock_name(table, lock or default_lock), tuple(passed), _stand_ins(environment))


def choices(library: Library, block: Table) -> Choices:
    """Read one app's block. Empty lists and `null` ask for nothing."""
    names = {key: tuple(sorted(set(block.strings(word)))) for key, word in KEYS_OF_BLOCK.items()}
    passed = {key: block.value(key) for key in library.passed if block.has(key)}
    models = modelpaths.patterns(block)
    block.done()
    return Choices(names, passed, models)


def together(all_choices: Sequence[Choices]) -> tuple[Choices, str | None]:
    """The choices of all apps that share one copy of a library, and the passed key they disagree about."""
    names = {
        key: tuple(sorted({name for one in all_choices for name in one.names[key]})) for key in KEYS_OF_BLOCK
    }
    models = tuple(sorted({pattern for one in all_choices for pattern in one.models}))
    passed: dict[str, Any] = {}
    for one in all_choices:
        for key, value in one.passed.items():
            if passed.setdefault(key, value) != value:
                return Choices(names, passed, models), key
    return Choices(names, passed, models), None


def is_yes(text: str) -> bool:
    """Whether a variable says yes: anything but nothing, 0, false and no."""
    return text.lower() not in _NO


def _lock_name(table: Table, name: str) -> str:
    reason = "it holds a slash" if "/" in name else paths.unsafe_reason(name)
    if reason is None and not name.endswith(".lock"):
        reason = "it does not end in `.lock`"
    if reason:
        raise table.fail("lock", f"`{name}` is not a lock's name: {reason}")
    return name


def _stand_ins(table: Table) -> tuple[StandIn, ...]:
    found = []
    for name in table.names():
        meaning, equals, value = table.string(name).partition("=")
        if meaning not in STAND_INS:
            raise table.fail(
                name,
                f"`{meaning}` is not one of {', '.join(STAND_INS)}{did_you_mean(meaning, STAND_INS)}",
            )
        found.append(StandIn(name, meaning, value if equals else None))
    return tuple(found)
