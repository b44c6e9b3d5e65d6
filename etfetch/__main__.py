"""The program's entry: the short cut first, and only then the whole command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from etfetch import __version__, uptodate


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `etfetch` with `arguments` (default: the process's) and give its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    sentence = uptodate.summary(words, os.environ, __version__)
    if sentence is not None:
        if not {"-q", "--quiet"} & set(words):
            print(sentence, file=sys.stderr)
        return 0
    if words == ["--version"]:
        # The npm package asks this before every command that it passes on.
        print(f"etfetch {__version__}")
        return 0
    from etfetch import cli

    return cli.main(words)


def run() -> None:
    """The console script: `main`, and an end that waits for no download that hangs."""
    code = main()
    threading = sys.modules.get("threading")
    if threading and any(t.name.startswith("fetch") for t in threading.enumerate()):
        # Python would join the thread, hence wait for the server's next byte or the read timeout.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    run()
