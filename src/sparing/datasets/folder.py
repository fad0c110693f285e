"""Files of real data, in the folder that the environment variable SPARING_DATA names."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "SPARING_DATA"


def data_file(name: str, *, download: bool = True) -> Path | None:
    """The file in that folder, or None if the variable is not set. ``download``: whether the data can be downloaded."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return None
    path = Path(folder).expanduser() / name
    if path.is_file():
        return path
    missing = f"has no file {name}" if path.parent.is_dir() else f"does not exist, and {name} is needed from it"
    otherwise = f", or unset {VARIABLE} to download the data set" if download else ""
    raise FileNotFoundError(
        f"the folder {folder!r} named by {VARIABLE} {missing}; put {name} there, or let {VARIABLE} name the "
        f"folder that has it{otherwise}."
    )


def required_file(name: str) -> Path:
    """The file in that folder, for data that cannot be downloaded."""
    path = data_file(name, download=False)
    if path is None:
        raise FileNotFoundError(
            f"{name} is needed and cannot be downloaded; set the environment variable {VARIABLE} to a folder "
            "that has it."
        )
    return path


@contextmanager
def fetching(what: str, name: str) -> Iterator[None]:
    """Turn a failed download into an error that names the data set and says what to do."""
    try:
        yield
    except OSError as error:
        raise OSError(
            f"{what} could not be downloaded: {error}; go online, or set the environment variable {VARIABLE} to a "
            f"folder that has {name}."
        ) from error
