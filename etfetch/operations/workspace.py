"""A project opened for one command: its folders, its settings, its cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from etfetch import __version__, config, installer, lockfile, uptodate
from etfetch.cache import Cache
from etfetch.config import Options, Project
from etfetch.errors import OfflineError
from etfetch.lockfile import Lock, LockedArtifact
from etfetch.platforms import can_build
from etfetch.request import Settings

if TYPE_CHECKING:
    from etfetch.catalogue import Catalogue
    from etfetch.fetch import Fetched
    from etfetch.netconfig import Access
    from etfetch.progress import Progress
    from etfetch.servers import Servers


@dataclass(frozen=True)
class Workspace:
    """Where one command works. `start` is the folder it was begun in.

    `opened` holds the servers once they were needed: a command that asks nobody never loads httpx.
    """

    options: Options
    project: Project
    settings: Settings
    destination: Path
    cache: Cache
    start: Path
    opened: list[Servers] = field(default_factory=list, compare=False)

    @property
    def lock_path(self) -> Path:
        return self.project.folder / lockfile.NAME

    def read_lock(self) -> Lock | None:
        """The project's lock, or None if there is none; `LockfileError` if it is not sound."""
        try:
            text = self.lock_path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        return lockfile.parse(text)

    @property
    def may_ask(self) -> bool:
        """Whether the network may be used."""
        return not (self.settings.offline or self.settings.skip_download)

    def refuse_offline(self, absent: Sequence[LockedArtifact]) -> None:
        """`OfflineError` with what is missing, if the network may not be used."""
        if not self.may_ask:
            raise OfflineError(
                "the network may not be used, and the cache does not hold everything",
                data=[f"{artifact.name} (sha256 {artifact.sha256})" for artifact in absent],
                hint="run the command once with the network, or set `ETFETCH_CACHE_DIR` to a filled cache",
            )

    def catalogue(self, package: str) -> Catalogue:
        """All releases that this project can see: carried, its own, and those of a package on its mirrors."""
        from etfetch import shelf

        known = shelf.load(self.project.folder)
        if self.may_ask and any(place.base for place in self.access.places):
            return self.servers().catalogue(package, known)
        return known

    @cached_property
    def access(self) -> Access:
        """How servers are reached from here."""
        from etfetch import netconfig

        return netconfig.access_of(self.project, self.options)

    def servers(self) -> Servers:
        """The servers of this command, opened once; makes the cache's scratch folder."""
        if not self.opened:
            self.opened.append(self._open_servers())
        return self.opened[0]

    def _open_servers(self) -> Servers:
        from etfetch.servers import Servers
        from etfetch.sources import Network

        access = self.access
        network = Network(
            self.settings.connect_timeout,
            self.settings.read_timeout,
            self.settings.retries,
            self.project.folder,
            self.cache.scratch(),
            access.credentials,
            access.proxies,
            access.certificates,
        )
        return Servers(access.places, network, self.cache)

    @contextmanager
    def fetching(
        self, package: str, version: str, artifacts: Sequence[LockedArtifact], progress: Progress
    ) -> Iterator[Iterator[Fetched]]:
        """`fetch.fetching` of a release's artifacts, into this cache, from these servers."""
        from etfetch import fetch

        release, jobs = fetch.Release(package, version), self.settings.jobs
        with fetch.fetching(artifacts, release, self.cache, self.servers(), progress, jobs) as arriving:
            yield arriving

    def platforms_to_install(self, lock: Lock) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The locked platforms that are installed here, and those that this host cannot build."""
        platforms = lock.request.platforms
        if config.installs_all(self.options):
            return platforms, ()
        here = config.this_system()
        fit = tuple(p for p in platforms if can_build(here, p))
        return fit, tuple(p for p in platforms if p not in fit)

    def inputs(self, lock: Lock) -> str:
        """The digest for the record's short cut; "" when a plain install would not do the same."""
        plain = Options(project=str(self.project.folder))
        same = (
            self.destination == config.destination_of(self.project, plain)
            and config.request_of(self.project, plain, lock.request) == lock.request
            and not config.installs_all(self.options)
        )
        if not same:
            return ""
        text = lockfile.render(lock).encode("utf-8")
        return uptodate.inputs_digest(str(self.project.folder), config.environment(), __version__, text)


@contextmanager
def open_workspace(options: Options) -> Iterator[Workspace]:
    """Open the project that the options mean, and close its connections at the end.

    `ConfigError` or `UsageError` when the options make no sense.
    """
    settings = config.settings_of(options)
    project = config.find_project(options)
    destination = config.destination_of(project, options)
    installer.check_destination(project.folder, destination)
    cache = Cache(settings.cache_dir, settings.lock_timeout)
    workspace = Workspace(options, project, settings, destination, cache, Path.cwd())
    try:
        yield workspace
    finally:
        for servers in workspace.opened:
            servers.close()
