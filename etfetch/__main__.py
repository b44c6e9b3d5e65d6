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
    from etfetch import cli

    return cli.main(words)


if __name__ == "__main__":
    sys.exit(main())
