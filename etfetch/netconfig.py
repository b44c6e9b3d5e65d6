"""How the network is reached: mirrors, credentials, proxies, certificates.

With `config` the only reader of the environment, and the one of the user's own configuration file, which is
`ETFETCH_CONFIG` or `config.toml` in the user's configuration folder:

    [mirror]
    urls = ["https://releases.internal/et", "origin"]
    block-origin = true

    [credentials."releases.internal"]     # or "releases.internal:8443"
    token = "…"                           # or `username` and `password`

Credentials have their place there, in netrc and in the environment, never in a project's files. A token in
the environment goes to a host that the environment or the command line names: a checkout from
somewhere else can name mirrors in its project file, and must not be sent anything for that.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from etfetch import credentials, mirrors, paths, toml
from etfetch.config import Options, flag
from etfetch.credentials import Credential, Credentials
from etfetch.errors import ConfigError
from etfetch.mirrors import Place
from etfetch.projects import Project
from etfetch.sources import Certificates, Proxies
from etfetch.tables import Table

_GITHUB = ("github.com", "api.github.com")
_PROXY_VARIABLES = ("https_proxy", "http_proxy", "all_proxy")
_UNSENDABLE = "holds a character that cannot be sent"


@dataclass(frozen=True, slots=True)
class Access:
    """All of it, for one run."""

    places: tuple[Place, ...]
    credentials: Credentials
    proxies: Proxies
    certificates: Certificates


@dataclass(frozen=True, slots=True)
class _UserFile:
    """What the user's own configuration file says."""

    mirrors: str = ""
    block_origin: bool = False
    entries: tuple[Credential, ...] = ()


def access_of(project: Project, options: Options) -> Access:
    """How this project's servers are reached. `ConfigError` names the variable or the file that is wrong."""
    user = _user_file()
    own_base = options.base_url or _variable("ETFETCH_BASE_URL")
    base, base_entries = _listed(
        own_base or project.variables.get("ETFETCH_BASE_URL", ""), "`ETFETCH_BASE_URL`"
    )
    named, named_entries = _listed(_variable("ETFETCH_MIRRORS"), "`ETFETCH_MIRRORS`")
    rest = named or _project_mirrors(project) or _mirrors_in(user.mirrors, _user_path())
    places = mirrors.order((*base, *rest), block_origin=user.block_origin or flag("ETFETCH_BLOCK_ORIGIN"))
    entries = (
        *base_entries,
        *named_entries,
        *user.entries,
        *_netrc(),
        # A package says which older variable means the base URL: it must not thereby be sent the token.
        *_token(tuple(place.base for place in ((base if own_base else ()) or named) if place.base)),
        *_github_token(),
    )
    return Access(places, Credentials(entries), _proxies(), _certificates())


def _mirrors_in(text: str, where: str | Path) -> tuple[Place, ...]:
    """The places of a list that may be empty; `ConfigError` if one has credentials in it."""
    if not text.strip():
        return ()
    for word in mirrors.words(text):
        bare, header = _split(word, str(where))
        if header is not None:
            raise ConfigError(
                f"{where}: a mirror's address may not hold a login",
                data=[bare],
                hint="put it into `~/.netrc`, or into `[credentials.HOST]` of etfetch's configuration",
            )
    return mirrors.parse(text, str(where))


def _listed(text: str, where: str) -> tuple[tuple[Place, ...], tuple[Credential, ...]]:
    """The places that a flag or a variable lists, and the logins that stand in their addresses."""
    if not text.strip():
        return (), ()
    clean = text
    entries: list[Credential] = []
    for word in mirrors.words(text):
        bare, header = _split(word, where)
        if header is not None:
            entries += credentials.for_origin_of([bare], header)
            clean = clean.replace(word, bare)
    return mirrors.parse(clean, where), tuple(entries)


def _split(word: str, where: str) -> tuple[str, str | None]:
    try:
        return credentials.split(word)
    except ValueError as error:
        shown = credentials.without_credentials(word)
        raise ConfigError(f"{where}: `{shown}` is not the address of a mirror") from error


def _project_mirrors(project: Project) -> tuple[Place, ...]:
    if project.file is None or "mirror" not in project.file.values:
        return ()
    file = project.file
    table = Table(file.values, file.path.name, ConfigError).table("mirror")
    urls = table.strings("urls")
    table.done()
    return _mirrors_in(",".join(urls), f"{file.path.name}: mirror.urls")


def _user_path() -> Path:
    named = _variable("ETFETCH_CONFIG")
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_config_dir("etfetch", appauthor=False)) / "config.toml"


def _user_file() -> _UserFile:
    path = _user_path()
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError) as error:
        if _variable("ETFETCH_CONFIG"):
            raise ConfigError(f"`ETFETCH_CONFIG` names `{path}`, which is not there") from error
        return _UserFile()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read `{path}`: {error}") from error
    try:
        values = toml.loads(text)
    except toml.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    table = Table(values, str(path), ConfigError)
    mirror, logins = table.table("mirror"), table.table("credentials")
    found = _UserFile(
        mirrors=",".join(mirror.strings("urls")),
        block_origin=mirror.boolean("block-origin"),
        entries=tuple(_login(logins, host) for host in logins.names()),
    )
    mirror.done()
    table.done()
    return found


def _login(logins: Table, host: str) -> Credential:
    table = logins.table(host)
    token, user = table.optional_string("token"), table.optional_string("username")
    password = table.optional_string("password")
    table.done()
    if (token is None) == (user is None):
        raise logins.fail(host, "needs either `token`, or `username` and `password`")
    header = credentials.bearer(token) if token is not None else credentials.basic(user or "", password or "")
    parts = urlsplit(f"//{host}")
    try:
        name, port = parts.hostname, parts.port
    except ValueError:
        name, port = None, None
    if not name or parts.path or "@" in host:
        raise logins.fail(host, 'is not a host, as in `"releases.internal"` or `"releases.internal:8443"`')
    if not _is_sendable(header):
        raise logins.fail(host, _UNSENDABLE)
    return Credential(name, header, port=port)


def _netrc() -> tuple[Credential, ...]:
    """The logins of `NETRC`, or of `~/.netrc` (on Windows also `~/_netrc`)."""
    import netrc

    named = _variable("NETRC")
    for name in [named] if named else ["~/.netrc", "~/_netrc"]:
        path = Path(os.path.expanduser(name))
        try:
            found = netrc.netrc(str(path))
        except OSError:
            continue
        except (netrc.NetrcParseError, UnicodeDecodeError) as error:
            # Only where: what it says may quote the password.
            line = getattr(error, "lineno", None)
            raise ConfigError(f"`{path}` is not a netrc file" + (f" (line {line})" if line else "")) from None
        return tuple(
            Credential(host.lower(), credentials.basic(login, password or ""))
            for host, (login, _, password) in found.hosts.items()
            # Its `default` would be shown to everybody.
            if host != "default"
        )
    return ()


def _token(bases: tuple[str, ...]) -> tuple[Credential, ...]:
    token = _variable("ETFETCH_TOKEN")
    if not token:
        return ()
    # One token is one server's: the first that was named.
    return credentials.for_origin_of(bases[:1], _sendable(credentials.bearer(token), "`ETFETCH_TOKEN`"))


def _github_token() -> tuple[Credential, ...]:
    token = _variable("GITHUB_TOKEN")
    if not token:
        return ()
    header = _sendable(credentials.bearer(token), "`GITHUB_TOKEN`")
    return tuple(Credential(host, header, "https", 443) for host in _GITHUB)


def _sendable(header: str, where: str) -> str:
    if not _is_sendable(header):
        raise ConfigError(f"{where} {_UNSENDABLE}")
    return header


def _is_sendable(header: str) -> bool:
    return header.isascii() and not paths.has_control(header)


def _proxies() -> Proxies:
    """Whether there are proxies; npm's, when npm runs etfetch and the standard variables name none."""
    if any(_variable(name) or _variable(name.upper()) for name in _PROXY_VARIABLES):
        return Proxies(any=True)
    variables = _npm()
    http = variables.get("proxy") or None
    https = variables.get("https_proxy") or http
    without = variables.get("noproxy", "").replace(",", " ").split()
    return Proxies(any=bool(https), http=http, https=https, without=tuple(without) if https else ())


def _certificates() -> Certificates:
    return Certificates(
        _variable("SSL_CERT_FILE") or None,
        _variable("SSL_CERT_DIR") or None,
        _npm().get("cafile") or None,
    )


def _npm() -> Mapping[str, str]:
    """npm's configuration, as it tells the scripts that it runs; empty outside of npm."""
    if not _variable("npm_config_user_agent"):
        return {}
    prefix = "npm_config_"
    # Windows knows these names in capitals.
    lower = {name.lower(): value for name, value in os.environ.items()}
    return {name[len(prefix) :]: value for name, value in lower.items() if name.startswith(prefix)}


def _variable(name: str) -> str:
    return os.environ.get(name, "").strip()
