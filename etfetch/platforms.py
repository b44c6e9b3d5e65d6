"""The platforms an app is built for, and which of them a host can build."""

from __future__ import annotations

PLATFORMS = (
    "linux-x86_64",
    "linux-aarch64",
    "macos-arm64",
    "ios",
    "ios-simulator",
    "android-arm64-v8a",
    "android-x86_64",
    "windows-x86_64",
)
"""Every platform that a request may name."""

ANY = "any"
"""The platform of headers and other files that do not depend on one."""

ALL = "all"
"""What `--platform all` says: install what is locked, also what this host cannot build."""

APPLE = frozenset({"macos-arm64", "ios", "ios-simulator"})
"""Platforms whose builds need Xcode, hence a Mac."""

VARIANTS = ("release", "debug")

_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


def host_platform(system: str, machine: str) -> str | None:
    """The platform of a machine as `sys.platform` and `platform.machine()` describe it.

    None where ExecuTorch publishes nothing for it.
    """
    architecture = _MACHINES.get(machine.lower())
    if system.startswith("linux") and architecture:
        return f"linux-{architecture}"
    if system == "darwin" and architecture == "aarch64":
        return "macos-arm64"
    if system == "win32" and architecture == "x86_64":
        return "windows-x86_64"
    return None


def can_build(system: str, platform: str) -> bool:
    """Whether a host (`sys.platform`) can build apps for `platform`."""
    return platform not in APPLE or system == "darwin"
