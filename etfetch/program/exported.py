"""`.pt2`: a graph that `torch.export` saved, before it becomes a program.

A zip archive with `models/NAME.json`, whose graph names each node's target. Only that is read; weights stay
where they are. Nothing is unpickled.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections import Counter
from typing import IO, Any

from etfetch.errors import ModelError
from etfetch.program.model import Method, Model

_LARGEST = 256 << 20
"""Bytes of one graph's JSON; those of large models have a few megabytes."""


def read(file: IO[bytes]) -> Model:
    """Read the graphs of an archive: a method each, named after its file."""
    try:
        with zipfile.ZipFile(file) as archive:
            graphs = [info for info in archive.infolist() if _is_graph(info.filename)]
            methods = [_method(info.filename, _values(archive, info)) for info in graphs]
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, OSError, EOFError, ValueError) as error:
        raise ModelError(f"byte 0: a damaged zip archive: {error}") from error
    if not methods:
        raise ModelError("byte 0: a zip archive without an exported graph (`models/NAME.json`)")
    return Model("pt2", "PK", 0, tuple(sorted(methods, key=lambda method: method.name)))


def _is_graph(name: str) -> bool:
    folder, _, file = name.rpartition("/")
    return (folder == "models" or folder.endswith("/models")) and file.endswith(".json")


def _values(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:  # noqa: ANN401  # whatever the JSON holds
    with archive.open(info) as member:
        text = member.read(_LARGEST + 1)
    if len(text) > _LARGEST:
        raise ModelError(f"byte {info.header_offset}: a graph of more than {_LARGEST} bytes")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"byte {info.header_offset}: `{info.filename!a}` is not valid JSON") from error


def _method(name: str, values: Any) -> Method:  # noqa: ANN401  # whatever the JSON holds
    try:
        nodes = values["graph_module"]["graph"]["nodes"]
        calls = Counter(node["target"] for node in nodes)
        operators = tuple(sorted((_operator(target), number) for target, number in calls.items()))
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"byte 0: `{name!a}` is not a graph of torch.export") from error
    return Method(name.rpartition("/")[2].removesuffix(".json"), operators)


def _operator(target: str) -> str:
    """`torch.ops.aten.conv2d.default` as `aten::conv2d.default`; other targets as they are."""
    words = target.removeprefix("torch.ops.").split(".")
    if not target.startswith("torch.ops.") or len(words) < 2:  # noqa: PLR2004  # a namespace and a name
        return target
    return f"{words[0]}::{'.'.join(words[1:])}"
