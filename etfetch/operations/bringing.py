"""Having archives in the cache that are known to be sound, for what is not an install."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from etfetch.lockfile import LockedArtifact
from etfetch.operations.workspace import Workspace
from etfetch.progress import Progress


def sound(
    workspace: Workspace, package: str, version: str, artifacts: Sequence[LockedArtifact], progress: Progress
) -> Generator[LockedArtifact, None, None]:
    """Each artifact of a release as soon as it is in the cache: what is there first, hashed again.

    What is not there is fetched; `OfflineError` if the network may not be used.
    """
    cache = workspace.cache
    here = [a for a in artifacts if cache.has_blob(a.sha256, a.size) and cache.blob_is_sound(a.sha256)]
    yield from here
    absent = [a for a in artifacts if a not in here]
    if absent:
        workspace.refuse_offline(absent)
        with workspace.fetching(package, version, absent, progress) as arriving:
            for fetched in arriving:
                yield fetched.artifact
