"""A project opened for one command: its folders, its settings, its cache."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from etfetch import __version__, config, installer, lockfile, uptodate
from etfetch.cache import Cache
from etfetch.config import Options, Project
from etfetch.lockfile import Lock
from etfetch.platforms import can_build
from etfetch.request import Settings
from etfetch.sources import Network

if TYPE_CHECKING:
    from etfetch.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where one command works. `start` is the folder it was begun in."""

    options: Options
    project: Project
    settings: Settings
    destination: Path
    cache: Cache
    start: Path

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

    def catalogue(self) -> Catalogue:
        """All releases that this project can see."""
        from etfetch import shelf

        return shelf.load(self.project.folder)

    def network(self) -> Network:
        """How sources reach out from here; makes the cache's scratch folder."""
        return Network(
            self.settings.connect_timeout,
            self.settings.read_timeout,
            self.settings.retries,
            self.project.folder,
            self.cache.scratch(),
        )

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


def open_workspace(options: Options) -> Workspace:
    """Open the project that the options mean. `ConfigError` or `UsageError` when it makes no sense."""
    settings = config.settings_of(options)
    project = config.find_project(options)
    destination = config.destination_of(project, options)
    installer.check_destination(project.folder, destination)
    cache = Cache(settings.cache_dir, settings.lock_timeout)
    return Workspace(options, project, settings, destination, cache, Path.cwd())
