"""Fits on Dask: overhead against one process, memory of a worker, growth with the number of cells.

    python benchmarks/many_machines.py overhead          # 10 million cells, in turns with one process
    python benchmarks/many_machines.py overhead --chunk 50000    # the same with chunks of 20 MB, not 100
    python benchmarks/many_machines.py memory            # peak of a worker, beyond what it has when idle
    python benchmarks/many_machines.py growth            # writes docs/runs/big-data-growth.csv; 20 GB, some on disk
    python benchmarks/many_machines.py picture           # draws docs/pictures/big-data-growth.png from it

Times are processor time, of all processes of a cluster together (client, scheduler, workers), so that waiting for a
busy machine does not count; all BLAS libraries have one thread. Rows are made on the workers, chunk by chunk, from the
number of the chunk. Prints Markdown.
"""

import argparse
import csv
import os
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # before workers start

from dask import array, delayed
from distributed import Client, LocalCluster

from sparing import BudgetRidge, distributed
from sparing.learners import FactorModel

D, BUDGET, CHUNK = 50, 10, 250_000  # 100 MB a chunk
CHUNKS = 6  # whose memory is measured
DOCS = Path(__file__).resolve().parents[1] / "docs"
RUNS, PICTURE = DOCS / "runs" / "big-data-growth.csv", DOCS / "pictures" / "big-data-growth.png"
GROWTH = tuple(10**power for power in range(5, 10))  # cells of the last take 17.6 GB
LIMIT = "10GB"  # of a worker: beyond 6 GB it writes cells to disk


def chunk(number: int, rows: int, d: int) -> np.ndarray:
    """Rows with three common factors, and the target last; made in place, without more memory."""
    rng, shared = np.random.default_rng(number), np.random.default_rng(0)
    loadings, weights = shared.standard_normal((3, d)), shared.standard_normal(d)
    both = rng.standard_normal((rows, d + 1))
    for part in np.array_split(both, max(1, both.size // 100_000)):  # which are views
        part[:, :-1] += rng.standard_normal((len(part), 3)) @ loadings
        part[:, -1] += part[:, :-1] @ weights
    return both


def rows_and_targets(n_rows: int, d: int = D, size: int = CHUNK):
    """A Dask array of such chunks."""
    size = min(size, n_rows)
    blocks = [array.from_delayed(delayed(chunk)(k, size, d), (size, d + 1), np.float64) for k in range(n_rows // size)]
    both = array.concatenate(blocks)
    return both[:, :-1], both[:, -1]


def pairwise():
    return BudgetRidge(BUDGET, learner="pairwise", random_state=0)


def covariance():
    """Ten iterations of EM for a whole covariance."""
    estimator = BudgetRidge(BUDGET, learner="factor", random_state=0)
    estimator._keeping = lambda options: FactorModel(D, rank="full", rounds=10, **options)
    return estimator


MODELS = {"pairwise": pairwise, "covariance": covariance}


@contextmanager
def cluster(workers: int, **options):
    options |= {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with (
        LocalCluster(**options) as local,
        Client(local) as client,
    ):
        yield client


def processor_time(client: Client | None) -> float:
    """Of this process, with the scheduler in it, and of the workers."""
    return process_time() + (sum(client.run(process_time).values()) if client else 0.0)


def measured(action, client: Client | None = None) -> tuple[float, float]:
    """Processor time and elapsed time."""
    before, start = processor_time(client), perf_counter()
    action()
    return processor_time(client) - before, perf_counter() - start


def overhead(rounds: int, models: list[str], size: int) -> None:
    """In turns, on one core each: one process, and a cluster of one worker."""
    n = 10_000_000 // BUDGET
    print("| model | one process (s) | one worker (s) | ratios |\n|---|---|---|---|")
    with cluster(1) as client:
        X, y = client.persist(rows_and_targets(n, size=size))
        here = X.compute(), y.compute()
        for make in map(MODELS.get, models):
            make().fit(here[0][:1000], here[1][:1000])  # compiles
            distributed.fit(make(), X[:size], y[:size], client=client)
            pairs = []
            for _ in range(rounds):
                alone, _ = measured(lambda make=make: make().fit(*here))
                there, _ = measured(lambda make=make: distributed.fit(make(), X, y, client=client), client)
                pairs.append((alone, there))
                ratios = ", ".join(f"{theirs / ours:.2f}" for ours, theirs in pairs)
                alone, there = np.median(pairs, axis=0)
                print(f"| {make.__name__} | {alone:.1f} | {there:.1f} | {ratios} |", flush=True)


def forget_peak() -> int:
    """Begin to measure the peak of this process's memory anew; what it has now."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    """The peak of this process's memory, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def memory() -> None:
    """Beyond what an idle worker has, in sizes of what the mark allows: its chunk and two covariance matrices."""
    print("| d | chunk (MB) | 2 d² (MB) | cells (MB) | peak (MB) | over chunk + 2 d² | over chunk + 2 d² + cells |")
    print("|---|---|---|---|---|---|---|")
    for d, size in ((50, 100_000), (1000, 5_000), (3000, 2_000)):
        with cluster(1) as client:
            distributed.fit(pairwise(), *rows_and_targets(2_000, d, 1_000), client=client)
            before = sum(client.run(forget_peak).values())
            distributed.fit(pairwise(), *rows_and_targets(CHUNKS * size, d, size), client=client)
            used = (sum(client.run(peak).values()) - before) / 1e6
        rows, squares, cells = 8e-6 * size * (d + 1), 16e-6 * d**2, 16e-6 * (BUDGET + 1) * CHUNKS * size
        ratios = (used / mark for mark in (rows + squares, rows + squares + cells))
        sizes = (rows, squares, cells, used)
        print("|", d, *(f"| {of:.0f}" for of in sizes), *(f"| {of:.2f}" for of in ratios), "|", flush=True)


def on_disk(dask_worker) -> int:
    """Bytes that a worker has written to disk, because its memory was full."""
    return dask_worker.data.spilled_total.disk


def growth(largest: int) -> None:
    """Rows are made, bought of and forgotten chunk by chunk; cells stay, in memory or on disk."""
    with (
        TemporaryDirectory() as folder,
        cluster(2, memory_limit=LIMIT, local_directory=folder) as client,
        RUNS.open("w", newline="") as file,
    ):
        table = csv.writer(file)
        table.writerow(["cells", "seconds", "elapsed", "peak_of_workers", "on_disk", "peak_of_client"])
        distributed.fit(pairwise(), *rows_and_targets(10_000, size=1_000), client=client)
        for cells in GROWTH:
            if cells <= largest:
                before = sum(client.run(forget_peak).values()), forget_peak()
                rows = rows_and_targets(cells // BUDGET, size=min(CHUNK, cells // BUDGET // 10))
                model = pairwise()
                spent = measured(lambda model=model, rows=rows: distributed.fit(model, *rows, client=client), client)
                spilled = sum(client.run(on_disk).values())
                peaks = sum(client.run(peak).values()) - before[0], spilled, peak() - before[1]
                table.writerow([cells, *(f"{seconds:.2f}" for seconds in spent), *peaks])
                file.flush()
                sizes = ", ".join(f"{size / 1e6:.0f}" for size in peaks)
                print(f"{cells:,} cells: {spent[0]:.1f} s; MB of workers, on disk, of client: {sizes}", flush=True)


def picture() -> None:
    """Time and memory against cells, with slopes on logarithmic scales."""
    import matplotlib.pyplot as plt

    runs = np.genfromtxt(RUNS, delimiter=",", names=True)
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.5))
    sizes = (runs["peak_of_workers"] + runs["on_disk"]) / 1e6
    words = ("processor time (s)", "memory of the workers,\nwith what they wrote to disk (MB)")
    for panel, values, label in zip(panels, (runs["seconds"], sizes), words, strict=True):
        slope = np.log(values[-1] / values[-2]) / np.log(runs["cells"][-1] / runs["cells"][-2])
        panel.loglog(runs["cells"], values, "o-", label=f"last slope {slope:.2f}")
        panel.set(xlabel="cells bought", ylabel=label)
        panel.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("overhead", "memory", "growth", "picture"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--chunk", type=int, default=CHUNK, help="rows of a chunk of overhead")
    parser.add_argument("--largest", type=int, default=GROWTH[-1], help="cells of the largest fit of growth")
    given = parser.parse_args()
    actions = {
        "overhead": lambda: overhead(given.rounds, given.models, given.chunk),
        "growth": lambda: growth(given.largest),
    }
    (actions | {"memory": memory, "picture": picture})[given.what]()


if __name__ == "__main__":
    main()
