"""Parquet files: bytes read as the operating system counts them, memory of a fit, and what equal bytes lead to.

    python benchmarks/parquet.py [bytes] [memory] [errors] [spread] [--gigabytes 4] [--folder FOLDER]

Files are made on the spot, in a temporary folder, and removed after: 200 columns with five common factors, of which 40
have weights, in 50 row groups. ``memory`` fits a file of so many gigabytes in a process of its own, which reports the
peak of its resident memory. Prints Markdown tables.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from time import perf_counter
from warnings import catch_warnings, simplefilter

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow.parquet import ParquetWriter

from sparing import BudgetRidge
from sparing.models.blocks import standard_error
from sparing.models.cross_validation import cross_validate, splits
from sparing.models.families import full_covariance
from sparing.sources import ParquetSource

COLUMNS, GROUPS, FACTORS, NOISE = 200, 50, 5, 0.5
SEEDS = 5


def world(columns: int = COLUMNS) -> tuple[np.ndarray, np.ndarray]:
    """Loadings of the columns on the factors, and weights."""
    generator = np.random.default_rng(0)
    weights = np.where(np.arange(columns) < columns // 5, generator.standard_normal(columns), 0.0)
    return 0.7 * generator.standard_normal((columns, FACTORS)), generator.permutation(weights)


def rows(n: int, seed, columns: int = COLUMNS) -> tuple[np.ndarray, np.ndarray]:
    """Rows and targets of that world."""
    loadings, weights = world(columns)
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n, FACTORS)) @ loadings.T + generator.standard_normal((n, columns))
    explained = np.sqrt(weights @ weights + np.sum((weights @ loadings) ** 2))
    return X, X @ weights + NOISE * explained * generator.standard_normal(n)


def write(path: Path, n: int, *, seed: int = 0, groups: int = GROUPS, columns: int = COLUMNS) -> None:
    """A file of so many rows in each row group, never in memory as a whole."""
    names = [f"x{at}" for at in range(columns)]
    schema = pa.schema([(name, pa.float64()) for name in [*names, "y"]])
    with ParquetWriter(path, schema, use_dictionary=False) as writer:
        for group in range(groups):
            X, y = rows(n, (seed, group), columns)
            writer.write_table(pa.table(dict(zip([*names, "y"], [*X.T, y], strict=True)), schema=schema))


def bytes_read_by_process() -> int:
    """What the operating system counts, this reading of its count included."""
    return int(Path("/proc/self/io").read_text().split()[1])


def fit(path: Path, budget: int = 10, **options) -> tuple[BudgetRidge, ParquetSource]:
    """A model of ``budget`` columns of each row group."""
    source = ParquetSource(path)
    with catch_warnings():
        simplefilter("ignore")  # of few looks: that is what is measured
        return BudgetRidge(budget, random_state=0, **options).fit(source, target="y"), source


def error(model, seed: int = 10**6, columns: int = COLUMNS) -> float:
    """Squared error on whole new rows over the variance of the target."""
    X, y = rows(20_000, (seed, 0), columns)
    named = pd.DataFrame(X, columns=model.feature_names_in_)
    return float(np.mean((y - model.predict(named)) ** 2) / y.var())


def show_bytes(folder: Path) -> None:
    """10 of 200 columns of 50 row groups."""
    path = folder / "bytes.parquet"
    write(path, 2_000)
    fit(path, features="linear")  # what is imported and compiled on the way is read, too
    before = bytes_read_by_process()
    _, source = fit(path, features="linear")
    counted, size = bytes_read_by_process() - before, path.stat().st_size
    print("| columns of 50 groups | file | read, by /proc/self/io | part | by `bytes_read` |")
    print("| --- | --- | --- | --- | --- |")
    print(f"| 10 of {COLUMNS} | {size:,} | {counted:,} | {counted / size:.4f} | {source.bytes_read:,} |")


def show_memory(folder: Path, gigabytes: float) -> None:
    """A large file, fitted in a process of its own."""
    path = folder / "large.parquet"
    write(path, int(gigabytes * 2**30 / 8 / (COLUMNS + 1) / GROUPS))
    start = perf_counter()
    said = subprocess.run([sys.executable, __file__, "--fit", str(path)], check=True, capture_output=True, text=True)
    peak, cells, read, found = said.stdout.split()
    print("| file, GiB | cells | read | peak memory, GiB | error | seconds |\n| --- | --- | --- | --- | --- | --- |")
    size = path.stat().st_size
    numbers = f"{size / 2**30:.2f} | {int(cells):,} | {int(read) / size:.3f} | {int(peak) / 2**20:.2f}"
    print(f"| {numbers} | {float(found):.3f} | {perf_counter() - start:.0f} |")


def fit_alone(path: Path) -> None:
    """What the process says that ``show_memory`` starts; memory is that of the fit, not of the test rows."""
    model, source = fit(path)
    peak = getrusage(RUSAGE_SELF).ru_maxrss
    print(peak, model.cells_, source.bytes_read, error(model))


def show_errors(folder: Path) -> None:
    """A few columns of all groups, and all columns of some groups, for equal bytes."""
    print("| columns | groups | rows of each | bought | few columns of all | all columns of a few |")
    print("| --- | --- | --- | --- | --- | --- |")
    for columns, groups, n, budget in ((40, 100, 50, 4), (40, 100, 1_000, 4), (40, 400, 50, 4)):
        few, whole = [], []
        for seed in range(SEEDS):
            path = folder / "errors.parquet"
            write(path, n, seed=seed, groups=groups, columns=columns)
            few.append(error(fit(path, budget, features="linear")[0], columns=columns))
            some = ParquetSource(path).sample(groups * budget // columns, random_state=seed)
            model = BudgetRidge(None, features="linear").fit(some, target="y")
            whole.append(error(model, columns=columns))
        print(f"| {columns} | {groups} | {n} | {budget} | {_mean(few)} | {_mean(whole)} |", flush=True)


def show_spread(folder: Path) -> None:
    """Held-out errors over files of the same world: how they really vary, and what is stated by row and by group."""
    print("| columns | groups | rows of each | really | stated by row | stated by group |")
    print("| --- | --- | --- | --- | --- | --- |")
    for columns, groups, n, budget in ((30, 60, 200, 4), (30, 60, 1_000, 4)):
        means, by_row, by_group = [], [], []
        for seed in range(4 * SEEDS):
            write(path := folder / "spread.parquet", n, seed=seed, groups=groups, columns=columns)
            model = BudgetRidge(budget, design="uniform", learner="pairwise", random_state=seed)
            cells = model.fit(ParquetSource(path), target="y").learner_.bought.in_order()
            judged = cross_validate(splits(cells, 0.0), [full_covariance("ridge")])
            means.append(judged.losses[0].mean())
            by_row.append(standard_error(judged.losses[0]))
            by_group.append(standard_error(judged.losses[0], judged.blocks))
        stated = " | ".join(f"{np.mean(errors):.4f}" for errors in (by_row, by_group))
        print(f"| {columns} | {groups} | {n} | {np.std(means, ddof=1):.4f} | {stated} |", flush=True)


def _mean(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*", default=["bytes", "memory", "errors", "spread"])
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--folder")
    parser.add_argument("--fit", type=Path)
    given = parser.parse_args()
    if given.fit:
        return fit_alone(given.fit)
    for table in given.tables:
        with TemporaryDirectory(dir=given.folder) as folder:
            if table == "memory":
                show_memory(Path(folder), given.gigabytes)
            else:
                {"bytes": show_bytes, "errors": show_errors, "spread": show_spread}[table](Path(folder))
        print(flush=True)


if __name__ == "__main__":
    main()
