"""Changing a project file's request and keeping everything else: comments, order, line ends.

Pure: text in, text out. TOML is edited with tomlkit, which keeps what it does not touch; JSON
keeps its indentation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit import items

from etfetch.errors import ConfigError


def with_names(text: str, keys: Sequence[str], changes: Mapping[str, Sequence[str]]) -> str:
    """TOML text with the lists below the table `keys` replaced where `changes` says so."""
    document = tomlkit.parse(text)
    table: Any = document
    for key in keys:
        table = table[key]
    for key, values in changes.items():
        if key in table:
            _change_array(table[key], values)
        else:
            array = tomlkit.array()
            array.extend(values)
            table[key] = array
    return tomlkit.dumps(document)


def with_json_names(text: str, changes: Mapping[str, Sequence[str]]) -> str:
    """package.json text with the lists of its `etfetch` key replaced where `changes` says so."""
    values = json.loads(text)
    values["etfetch"].update({key: list(names) for key, names in changes.items()})
    end = "\n" if text.endswith("\n") else ""
    return json.dumps(values, indent=_indentation(text), ensure_ascii=False) + end


def new_file(package: str, version: str, lists: Mapping[str, Sequence[str]]) -> str:
    """The `etfetch.toml` that `etfetch init` writes; `lists` are its keys that hold several names."""
    lines = [
        "# What this project needs of ExecuTorch. `etfetch install` puts it into third-party/.",
        f'package = "{package}"',
        f'version = "{version}"',
        *(f"{key} = {_inline(values)}" for key, values in lists.items()),
    ]
    return "\n".join(lines) + "\n"


def _inline(values: Sequence[str]) -> str:
    return "[" + ", ".join(tomlkit.string(value).as_string() for value in values) + "]"


def _change_array(array: object, values: Sequence[str]) -> None:
    if not isinstance(array, items.Array):
        raise ConfigError("the list to change is not a list")
    for index in reversed(range(len(array))):
        if array[index] not in values:
            del array[index]
    for value in values:
        if value not in array:
            array.append(value)


def _indentation(text: str) -> int | str:
    for line in text.splitlines()[1:]:
        stripped = line.lstrip()
        if stripped:
            space = line[: len(line) - len(stripped)]
            return space if "\t" in space else len(space)
    return 2
