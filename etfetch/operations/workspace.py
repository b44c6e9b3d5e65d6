"""A project opened for one command: its folders, its settings, its cache."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from etfetch import __version__, config, consumer, installer, lockfile, uptodate
from etfetch.cache import Cache
from etfetch.config import Options
from etfetch.errors import ConfigError, OfflineError
from etfetch.lockfile import Lock, LockedArtifact
from etfetch.projects import Project
from etfetch.record import Watch
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
        library = self.project.library
        return self.project.home / (library.lock if library else lockfile.NAME)

    def read_lock(self) -> Lock | None:
        """The project's lock, or None if there is none; `LockfileError` if it is not sound.

        `ConfigError` when the lock where a library's should stand is somebody else's.
        """
        try:
            text = self.lock_path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        found = lockfile.parse(text, self.lock_path.name)
        package = config.package_of(self.project)
        if self.project.library is not None and found.request.package != package:
            raise ConfigError(
                f"`{self.lock_path.name}` beside the app's `package.json` is not this library's",
                data=[f"{self.lock_path} locks {found.request.package}, the library is for {package}"],
                hint='give the library a lock of its own: `lock = "NAME.lock"` in its project file',
            )
        return found

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
            self.project.home,
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
        return config.platforms_here(self.project, self.options, lock.request.platforms)

    def watch(self, models: Sequence[Path] | None) -> Watch | None:
        """What an install depends on beside the project's own files; None where that is nothing.

        `models` are the models, and the folders they were searched in.
        """
        library, app = self.project.library, self.project.consumer
        if app is None and not models:
            return None
        watch = Watch(
            lock=_relative(self.lock_path, self.project.folder.resolve()),
            times=tuple(os.path.abspath(path) for path in models or ()),
        )
        if library is None or app is None:
            return watch
        return replace(
            watch,
            choices=tuple(str(block.path) for block in app.blocks),
            files=tuple(str(path) for path in app.files),
            folders=tuple(str(path) for path in app.folders or ()),
            variables=(*consumer.VARIABLES, *(stand_in.name for stand_in in library.stand_ins)),
        )

    def inputs(self, lock: Lock, models: Sequence[Path] | None) -> str:
        """The digest for the record's short cut; "" when a plain install would not do the same.

        `models` is as for `watch`, and None when nobody looked at them, as a plain install would.
        """
        plain, project, watch = Options(), self.project, self.watch(models)
        locked = lock.request.platforms
        same = (
            (models is not None or not lock.request.models)
            and self.destination == config.destination_of(project, plain)
            and config.request_of(project, plain, lock.request) == lock.request
            and config.platforms_here(project, plain, locked)
            == config.platforms_here(project, self.options, locked)
            and not (project.consumer and project.consumer.folders is None)
        )
        if not same:
            return ""
        text = lockfile.render(lock).encode("utf-8")
        folder, watched = str(project.folder), asdict(watch) if watch else None
        return uptodate.inputs_digest(folder, config.environment(), __version__, text, watched)


def _relative(path: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path.resolve(), folder)).as_posix()
    except ValueError:
        # Another drive of Windows.
        return str(path)


@contextmanager
def open_workspace(options: Options) -> Iterator[Workspace]:
    """Open the project that the options mean, and close its connections at the end.

    `ConfigError` or `UsageError` when the options make no sense.
    """
    project = config.find_project(options)
    settings = config.settings_of(options, project.variables)
    destination = config.destination_of(project, options)
    installer.check_destination(project.folder, destination)
    cache = Cache(settings.cache_dir, settings.lock_timeout)
    workspace = Workspace(options, project, settings, destination, cache, Path.cwd())
    try:
        yield workspace
    finally:
        for servers in workspace.opened:
            servers.close()
