"""`file:` sources: an archive on this machine or a mounted share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from etfetch.digest import CHUNK
from etfetch.errors import MissingError, NetworkError
from etfetch.sources import Network, Stream


@contextmanager
def open_stream(source: str, network: Network) -> Iterator[Stream]:  # noqa: ARG001  # an Opener
    """Open `file:///absolute/path`; `NetworkError` when it cannot be read."""
    parts = urlsplit(source)
    path = Path(url2pathname(parts.path))
    if parts.netloc not in {"", "localhost"} or not path.is_absolute():
        raise NetworkError(
            f"`{source}` is not an absolute path on this machine",
            hint="write it like `file:///srv/releases/NAME.tar.gz`",
        )
    with stream_file(path) as stream:
        yield stream


@contextmanager
def stream_file(path: Path) -> Iterator[Stream]:
    """The bytes of a local file as a stream; `NetworkError` when it cannot be opened."""
    try:
        reader = path.open("rb")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise MissingError(f"`{path}` is not there", hint="check the path in the manifest") from error
    except OSError as error:
        raise NetworkError(
            f"cannot read `{path}`: {error.strerror}", hint="check the path in the manifest"
        ) from error
    with reader:
        size = path.stat().st_size
        yield Stream(iter(lambda: reader.read(CHUNK), b""), size, str(path))
