"""etfetch: the package manager for ExecuTorch's prebuilt native libraries.

The verbs that build scripts want are here: `install`, `lock` and `verify`. They are loaded when first
used, since the command line answers most installs without them.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers know the name; importing it from typing costs a no-op 4 ms
if TYPE_CHECKING:
    from etfetch.api import install as install
    from etfetch.api import lock as lock
    from etfetch.api import verify as verify
    from etfetch.errors import EtfetchError as EtfetchError
    from etfetch.lockfile import Lock as Lock
    from etfetch.operations.installing import Report as Report

__version__ = "0.1.0"
__all__ = ["EtfetchError", "Lock", "Report", "__version__", "install", "lock", "verify"]

_HOMES = {
    "EtfetchError": "etfetch.errors",
    "Lock": "etfetch.lockfile",
    "Report": "etfetch.operations.installing",
    "install": "etfetch.api",
    "lock": "etfetch.api",
    "verify": "etfetch.api",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'etfetch' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
