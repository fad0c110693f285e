"""The command ``sparing``, which is also ``python -m sparing``."""

import os
import signal
import sys


def main() -> None:
    """Run a command. Imports come last, so that Ctrl-C is answered during imports, too."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, _stop)

    from sparing.cli import app

    app(prog_name="sparing")


def _stop(*_) -> None:
    """Answer Ctrl-C before a command has begun, and after it has ended."""
    print("sparing: stopped.", file=sys.stderr, flush=True)
    os._exit(130)


if __name__ == "__main__":
    main()
