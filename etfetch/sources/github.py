"""Assets of private releases on GitHub, whose plain addresses answer 404 also to who may see them.

The REST API gives an asset's bytes by its id: `GET /repos/{owner}/{repo}/releases/assets/{id}` with
`Accept: application/octet-stream` (GitHub's REST documentation, "Get a release asset"). GitHub Enterprise has
the same API at `/api/v3` of its own host. Asked only when the plain address answered 404 and there is
a token for the API's host.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from etfetch.errors import NetworkError
from etfetch.sources import transfer
from etfetch.sources.web import StatusError, Web

ACCEPT = "application/octet-stream"
_RELEASE = re.compile(r"/(?P<repo>[\w.-]+/[\w.-]+)/releases/download/(?P<tag>[^/]+)/(?P<name>[^/]+)")
_PUBLIC, _PUBLIC_API = "github.com", "https://api.github.com"
_MAX_LISTING = 8 << 20


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of a release: the API's address of the release, and the file's name."""

    release: str
    name: str


def asset_of(url: str) -> Asset | None:
    """The asset that a plain address names, or None if it is no address of a release's file."""
    parts = urlsplit(url)
    found = _RELEASE.fullmatch(parts.path)
    if not found or not parts.hostname:
        return None
    api = _PUBLIC_API if parts.hostname == _PUBLIC else f"{parts.scheme}://{parts.netloc}/api/v3"
    tag = quote(unquote(found["tag"]), safe="")
    return Asset(f"{api}/repos/{found['repo']}/releases/tags/{tag}", unquote(found["name"]))


def find(web: Web, url: str) -> str | None:
    """The API's address of a private asset, to be asked with `ACCEPT`.

    None if there is no such asset, or nothing to log in with; `NetworkError` when the API fails.
    """
    asset = asset_of(url)
    if asset is None or not web.has_credentials(asset.release):
        return None
    try:
        text, where = transfer.read(web, asset.release, _MAX_LISTING, "application/vnd.github+json")
    except StatusError as error:
        if error.missing:
            return None
        raise
    try:
        assets = json.loads(text)["assets"]
        ids = [int(one["id"]) for one in assets if one["name"] == asset.name]
    except (ValueError, KeyError, TypeError) as error:
        raise NetworkError(f"{where} did not answer with a release") from error
    repository = asset.release.partition("/releases/")[0]
    # The address is put together here: a link in the answer might lead the token elsewhere.
    return f"{repository}/releases/assets/{ids[0]}" if ids else None
