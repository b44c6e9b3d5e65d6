"""The build configuration of a library: one JSON object that Gradle and CocoaPods scripts read.

A flag is true when its component is locked for any platform, whether it has an effect on the one being built
or not: build scripts know their own platform.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def render(flags: Iterable[tuple[str, str]], components: frozenset[str], passed: Mapping[str, Any]) -> str:
    """The file's text: the flags in the library's order, then what is passed on from the app's choices."""
    values = {**{key: component in components for key, component in flags}, **passed}
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"
