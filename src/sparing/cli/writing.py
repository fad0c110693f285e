"""The files that commands write: they are checked before anything is computed, and named when written."""

from collections.abc import Callable, Iterable
from pathlib import Path

from sparing.files import refuse_to_replace


class Writer:
    """The output files of one command.

    :func:`sparing.files.refuse_to_replace` checks them before anything is computed, and again when they are written,
    which may be hours later.
    """

    def __init__(self, paths: Iterable[Path], *, inputs: Iterable[object] = (), force: bool):
        self.inputs = [Path(str(path)) for path in inputs if path is not None]
        self.force = force
        for path in paths:
            self._check(path)

    def _check(self, path: Path) -> None:
        refuse_to_replace(path, inputs=self.inputs, force=self.force)

    def write(self, what: str, path: Path, write: Callable[[Path], object]) -> None:
        """Write a file and print its name."""
        self._check(path)
        note = " (replaced)" if path.exists() else ""
        write(path)
        print(f"{what}: {path}{note}")

    def draw(self, path: Path, draw: Callable[[Path], object]) -> None:
        """Write a picture and print its name; without matplotlib print what to install."""
        try:
            self.write("picture", path, draw)
        except ImportError as error:
            print(f"no picture: {error}")


def ending(output: Path, end: str) -> Path:
    """The file whose name is that of ``output`` with ``end`` appended."""
    return output.with_name(output.name + end) if output.name else output
