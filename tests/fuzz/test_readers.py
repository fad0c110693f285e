"""Readers answer any bytes with a table or with the promised error, and with nothing else.

Inputs follow from their number alone, so that a failure can be repeated: it names the reader and the number. CI tries
the first 600 of every kind of file; with SPARING_FUZZ_MINUTES all kinds together take so many minutes.
"""

import os
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from mutations import corpus, mutated
from scipy import sparse

from sparing.cells import Cells
from sparing.estimators import load_model
from sparing.planning import bought_pilot
from sparing.tables import read_prices, read_table

pytestmark = pytest.mark.fuzz

MINUTES = float(os.environ.get("SPARING_FUZZ_MINUTES", 0))
IN_CI = 600  # inputs per kind of file
LONGEST = 0.9  # minutes for all kinds together; a slow machine tries fewer inputs
FILES = corpus()


def read_data(path: Path, rng: np.random.Generator) -> None:
    """Whatever table comes out can be learnt from."""
    options = {"encode": bool(rng.integers(2)), "drop_missing": bool(rng.integers(2))}
    target = [None, "y", "a", "word", "flag"][rng.choice(5, p=[0.2, 0.5, 0.1, 0.1, 0.1])]
    table = read_table(path, target, drop=["b"] if rng.random() < 0.1 else [], **options)
    values = table.X.data if sparse.issparse(table.X) else table.X
    assert np.isfinite(values).all()
    assert np.isfinite(table.y).all()
    assert table.X.shape == (len(table.y), len(table.names))
    assert len(set(table.names)) == len(table.names)
    assert table.target not in table.names


def read_target(path: Path, rng: np.random.Generator) -> None:
    np.savez(path.with_suffix(".npz"), X=np.ones((5, 2)))
    assert read_table(path.with_suffix(".npz"), str(path)).y.shape == (5,)


def read_costs(path: Path, rng: np.random.Generator) -> None:
    prices = read_prices(path, ["a", "b", "c d"])
    assert prices.costs.shape == (3,)
    assert (prices.costs > 0).all()
    assert len(prices.groups) == 3


def read_cells(path: Path, rng: np.random.Generator) -> None:
    cells = bought_pilot(path, "y", 2, None, 5, 0)[0] if rng.random() < 0.2 else Cells.load(path)
    assert cells.starts[-1] == len(cells)
    assert np.isfinite(cells.values).all()


def read_model(path: Path, rng: np.random.Generator) -> None:
    model = load_model(path)
    assert np.isfinite(model.predict(np.zeros((2, model.n_features_in_)))).all()


READERS = {"cells.npz": read_cells, "model.npz": read_model, ".npy": read_target, "prices.csv": read_costs}


def try_input(suffix: str, number: int, folder: Path) -> str:
    """Break a file and read it; say what came of it."""
    rng = np.random.default_rng((sorted(FILES).index(suffix), number))
    files = FILES[suffix]
    path = folder / (suffix if suffix in ("cells.npz", "model.npz", "prices.csv") else f"data{suffix}")
    path.write_bytes(mutated(files[rng.integers(len(files))], files, suffix, rng))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            READERS.get(suffix, read_data)(path, rng)
    except ValueError:
        return "refused"
    except Exception as error:
        raise AssertionError(f"{suffix} input {number}: {type(error).__name__}: {error}") from error
    return "read"


@pytest.mark.parametrize("suffix", sorted(FILES))
def test_any_bytes_are_read_or_refused(suffix, tmp_path):
    start, number, outcomes = time.monotonic(), 0, set()
    while time.monotonic() < start + 60 * max(MINUTES, LONGEST) / len(FILES):
        outcomes.add(try_input(suffix, number, tmp_path))
        number += 1
        if number == IN_CI and not MINUTES:
            break
    print(f"{suffix}: {number:,} inputs")
    assert outcomes == {"read", "refused"}  # or the mutations would be too weak or too strong to show anything


def test_files_as_they_are_can_be_read(tmp_path):
    """The corpus itself is valid, so that mutations start from files that reach deep into the readers."""
    for suffix in (".csv", ".csv.gz", ".parquet", ".npz"):
        for number, content in enumerate(FILES[suffix]):
            path = tmp_path / f"data{number}{suffix}"
            path.write_bytes(content)
            drop = ["lists"] if suffix == ".parquet" and number == 2 else []
            assert read_table(path, None if suffix == ".npz" else "y", encode=True, drop_missing=True, drop=drop)
