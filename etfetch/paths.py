"""What a relative path from outside may look like.

Paths in manifests, locks, records and archives are hostile until they passed here. The rules are those
of the strictest file system etfetch installs on, so that one lock works everywhere:
forward slashes only, no absolute path, no drive letter or stream (`:`), no `.` or `..`, no
control characters, no name that Windows reserves or strips, and no two names that fall
together when case or Unicode normalisation is ignored.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

MAX_PATH_LENGTH = 1024
"""Characters in a whole relative path; Linux allows 4096 bytes, macOS 1024."""

MAX_NAME_LENGTH = 255
"""Bytes in one path component, the limit of ext4, APFS and NTFS alike."""

_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?$")


def unsafe_reason(path: str) -> str | None:
    """Why `path` may not be used below a destination, or None if it may.

    `path` is relative with `/` between components and without a trailing slash.
    """
    if not path:
        return "the name is empty"
    if len(path) > MAX_PATH_LENGTH:
        return f"the name is longer than {MAX_PATH_LENGTH} characters"
    if path.startswith("/"):
        return "the path is absolute"
    for component in path.split("/"):
        reason = _component_reason(component)
        if reason:
            return reason
    return None


@lru_cache(maxsize=4096)
def _component_reason(component: str) -> str | None:
    if component == "":
        return "a path component is empty"
    if component in {".", ".."}:
        return f"`{component}` is not allowed in a path"
    if "\\" in component:
        return "a backslash separates folders on Windows"
    if ":" in component:
        return "a colon names a drive or a stream on Windows"
    if any(unicodedata.category(c) in {"Cc", "Cf", "Cs"} for c in component):
        return "the name holds a control or formatting character"
    if component.endswith((".", " ")):
        return "Windows strips a trailing dot or space"
    if _RESERVED.match(component):
        return f"`{component}` is a device name on Windows"
    if len(component.encode("utf-8", "surrogatepass")) > MAX_NAME_LENGTH:
        return f"a path component is longer than {MAX_NAME_LENGTH} bytes"
    return None


def has_control(text: str) -> bool:
    """Whether a text holds a control character, such as a line end or an escape."""
    return any(unicodedata.category(character) == "Cc" for character in text)


@lru_cache(maxsize=16384)
def fold(path: str) -> str:
    """The form under which case-insensitive, normalising file systems compare names."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def parents(path: str) -> list[str]:
    """Every folder above `path`, outermost first: `a/b/c` gives `a`, `a/b`."""
    components = path.split("/")[:-1]
    return ["/".join(components[: i + 1]) for i in range(len(components))]


class NameSet:
    """Names already taken below one root, to find those that collide.

    A file collides with any other entry of the same folded name; a folder only with a file, or with a
    folder that is spelled differently (both would be one folder on macOS and Windows).
    """

    def __init__(self) -> None:
        self._files: dict[str, str] = {}
        self._folders: dict[str, str] = {}

    def add_file(self, path: str) -> str | None:
        """Take `path` for a file; the name it collides with, if any."""
        clash = self._add_parents(path)
        if clash:
            return clash
        folded = fold(path)
        taken = self._files.get(folded) or self._folders.get(folded)
        if taken is None:
            self._files[folded] = path
        return taken

    def add_folder(self, path: str) -> str | None:
        """Take `path` for a folder; the name it collides with, if any."""
        return self._add_parents(path) or self._add_one_folder(path)

    def _add_parents(self, path: str) -> str | None:
        for parent in parents(path):
            clash = self._add_one_folder(parent)
            if clash:
                return clash
        return None

    def _add_one_folder(self, path: str) -> str | None:
        folded = fold(path)
        if folded in self._files:
            return self._files[folded]
        spelled = self._folders.setdefault(folded, path)
        return None if spelled == path else spelled


class Pattern:
    """Which members of an archive a part takes.

    `*` matches within one path component, `**` any number of components. A pattern without
    either names one member.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._regex = re.compile(_translate(text)).fullmatch

    def matches(self, path: str) -> bool:
        return self._regex(path) is not None


def _translate(pattern: str) -> str:
    pieces = []
    for piece in re.split(r"(\*\*/|\*\*|\*)", pattern):
        if piece == "**/":
            pieces.append("(?:.*/)?")
        elif piece == "**":
            pieces.append(".*")
        elif piece == "*":
            pieces.append("[^/]*")
        else:
            pieces.append(re.escape(piece))
    return "".join(pieces)
