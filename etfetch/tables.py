"""Typed reading of TOML and JSON tables, with addresses in every error.

A `Table` knows the file it came from and the keys that lead to it, so that the message for a bad
value is `executorch/1.4.1.toml: artifacts[3].sha256: expected 64 hex digits`. The key-path habit
is that of packaging's `pylock`. Reading is strict: `done()` refuses what nobody asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from etfetch.errors import EtfetchError, did_you_mean

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class Table:
    """One table of a document, read key by key.

    `file` is the document's name in messages, `path` the keys that lead here and `error` the
    exception to raise, with the complete sentence as its argument.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        file: str,
        error: Callable[[str], EtfetchError],
        path: str = "",
    ) -> None:
        self._values = values
        self._file = file
        self._error = error
        self._path = path
        self._known: list[str] = []

    def address(self, key: str) -> str:
        """The key path of `key`, quoted where TOML would quote it."""
        shown = key if _BARE_KEY.fullmatch(key) else f'"{key}"'
        return f"{self._path}.{shown}" if self._path else shown

    def fail(self, key: str, problem: str) -> EtfetchError:
        """The error for `key`, to be raised by the caller."""
        return self._error(f"{self._file}: {self.address(key)}: {problem}")

    def names(self) -> list[str]:
        return list(self._values)

    def has(self, key: str) -> bool:
        return key in self._values

    def value(self, key: str) -> Any:  # noqa: ANN401  # whatever stands there, for those who pass it on
        """A value of any type, as it is; None for a missing key."""
        return self._take(key)

    def string(self, key: str) -> str:
        value = self._required(key)
        if not isinstance(value, str):
            raise self.fail(key, f"expected a string, not {_type_name(value)}")
        return value

    def optional_string(self, key: str) -> str | None:
        return self.string(key) if self._take(key) is not None else None

    def integer(self, key: str) -> int:
        value = self._required(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.fail(key, f"expected an integer, not {_type_name(value)}")
        if value < 0:
            raise self.fail(key, "expected a number that is not negative")
        return value

    def optional_integer(self, key: str) -> int | None:
        return self.integer(key) if self._take(key) is not None else None

    def boolean(self, key: str) -> bool:
        value = self._take(key)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise self.fail(key, f"expected true or false, not {_type_name(value)}")
        return value

    def choice(self, key: str, choices: Sequence[str]) -> str:
        value = self.string(key)
        if value not in choices:
            raise self.fail(
                key,
                f"`{value}` is not one of {_listed(choices)}{did_you_mean(value, choices)}",
            )
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        """A list of strings; a missing key is an empty list."""
        value = self._take(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.fail(key, f"expected a list of strings, not {_type_name(value)}")
        for index, item in enumerate(value):
            if not isinstance(item, str):
                raise self._error(
                    f"{self._file}: {self.address(key)}[{index}]: expected a string, not {_type_name(item)}"
                )
        return tuple(value)

    def integers(self, key: str) -> tuple[int, ...]:
        """A list of integers that are not negative; a missing key is an empty list."""
        value = self._take(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(type(i) is int and i >= 0 for i in value):
            raise self.fail(key, "expected a list of numbers that are not negative")
        return tuple(value)

    def choices(self, key: str, known: Sequence[str]) -> tuple[str, ...]:
        values = self.strings(key)
        for index, value in enumerate(values):
            if value not in known:
                raise self._error(
                    f"{self._file}: {self.address(key)}[{index}]: `{value}` is not one of "
                    f"{_listed(known)}{did_you_mean(value, known)}"
                )
        return values

    def table(self, key: str) -> Table:
        """A sub-table; a missing key is an empty one."""
        value = self._take(key)
        if value is None:
            value = {}
        if not isinstance(value, Mapping):
            raise self.fail(key, f"expected a table, not {_type_name(value)}")
        return Table(value, self._file, self._error, self.address(key))

    def tables(self, key: str) -> list[Table]:
        """A list of tables; a missing key is an empty list."""
        value = self._take(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
            raise self.fail(key, "expected a list of tables")
        return [
            Table(item, self._file, self._error, f"{self.address(key)}[{index}]")
            for index, item in enumerate(value)
        ]

    def done(self) -> None:
        """Refuse keys that were never read, with the nearest one that would have been."""
        for key in self._values:
            if key not in self._known:
                raise self.fail(key, f"unknown key{did_you_mean(key, self._known)}")

    def _take(self, key: str) -> object:
        self._known.append(key)
        return self._values.get(key)

    def _required(self, key: str) -> object:
        value = self._take(key)
        if value is None:
            raise self.fail(key, "is missing")
        return value


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _type_name(value: object) -> str:
    names = {str: "a string", bool: "true or false", int: "an integer", float: "a number"}
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list):
        return "a list"
    return names.get(type(value), type(value).__name__)
