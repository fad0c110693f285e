"""Time of the sketched solvers relative to every scikit-learn solver of the same problem, in one run.

    python benchmarks/sketched_speed.py ridge       # dense 20,000 x 4,096, eigenvalues 1/i^2, ridge 1e-5 n; 2 GB
    python benchmarks/sketched_speed.py kernel      # RBF on 15,000 rows of Covertype; 6 GB, needs SPARING_DATA
    python benchmarks/sketched_speed.py logistic    # RCV1; needs SPARING_DATA

All solvers are fitted alternately, round by round. The median time of each counts, relative to that of the fastest
scikit-learn solver whose objective is at most 1e-6 above the best one found. Prints Markdown.
"""

import argparse
from time import perf_counter
from warnings import catch_warnings, simplefilter

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import rbf_kernel

from sparing import SketchedKernelRidge, SketchedLogistic, SketchedRidge
from sparing.datasets import load_covertype, load_rcv1

EQUAL = 1e-6  # a solver counts if its objective is within this of the best


def seconds(action) -> tuple[float, object]:
    start = perf_counter()
    result = action()
    return perf_counter() - start, result


def interleaved(actions: dict, rounds: int) -> tuple[dict, dict]:
    """Median times and last results; whatever slows the machine down slows all of them."""
    times, results = {name: [] for name in actions}, {}
    for _ in range(rounds):
        for name, action in actions.items():
            took, results[name] = seconds(action)
            times[name].append(took)
    return {name: float(np.median(took)) for name, took in times.items()}, results


def compare(title, actions, objective, rounds) -> None:
    """One row a solver: its time over that of the fastest scikit-learn solver that is as good, and its objective."""
    times, models = interleaved(actions, rounds)
    values = {name: objective(model) for name, model in models.items()}
    best = min(values.values())
    peers = {n: times[n] for n in times if not n.startswith("Sketched") and values[n] <= best * (1 + EQUAL)}
    fastest = min(peers, key=peers.get)
    for name, model in models.items():
        note = f"{getattr(model, 'sketch_size_', '')} | {np.max(getattr(model, 'n_iter_', 0) or 0)}"
        excess = f"{values[name] / best - 1:.1e}"
        print(f"| {title} | {name} | {times[name] / times[fastest]:.2f} | {excess} | {note} |", flush=True)


def ridge_objective(X, y, alpha):
    return lambda model: np.sum((y - model.predict(X)) ** 2) + alpha * np.sum(model.coef_**2)


def ridge_peers(X, y, alpha, solvers):
    """Ridge by each solver, at tolerances at which it may be as good."""
    peers = {f"Ridge {name}": Ridge(alpha, solver=name, tol=tol) for name, tol in solvers}
    peers["SketchedRidge"] = SketchedRidge(alpha, random_state=0)
    return {name: lambda model=model: model.fit(X, y) for name, model in peers.items()}


def ridge(rounds) -> None:
    n, d = 20_000, 4_096
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    X = (rng.standard_normal((n, d)) / np.arange(1, d + 1)) @ basis
    y = X @ basis.T @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n)
    solvers = [("cholesky", 1e-4), ("sparse_cg", 1e-6), ("lsqr", 1e-6)]
    compare("20,000 x 4,096", ridge_peers(X, y, 1e-5 * n, solvers), ridge_objective(X, y, 1e-5 * n), rounds)


def kernel(rounds) -> None:
    """In all, apart from the kernel matrix, and how far predictions are apart."""
    n, gamma, alpha = 15_000, 0.02, 1.0
    made = load_covertype()
    rng = np.random.default_rng(0)
    chosen = rng.permutation(len(made.target))[: n + 2_000]
    X = made.data[chosen].astype(np.float64)
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-12)
    y, X, test = made.target[chosen][:n].astype(np.float64), X[:n], X[n:]
    K = rbf_kernel(X, gamma=gamma)
    options = {"kernel": "rbf", "gamma": gamma}
    theirs, ours = KernelRidge(alpha=alpha, **options), SketchedKernelRidge(alpha, random_state=0, **options)
    given = {"kernel": "precomputed"}
    stored = KernelRidge(alpha=alpha, **given), SketchedKernelRidge(alpha, random_state=0, **given)
    actions = {
        "KernelRidge": lambda: theirs.fit(X, y).predict(test),
        "SketchedKernelRidge": lambda: ours.fit(X, y).predict(test),
        "KernelRidge, K given": lambda: stored[0].fit(K, y),
        "SketchedKernelRidge, K given": lambda: stored[1].fit(K, y),
    }
    times, results = interleaved(actions, rounds)
    predictions, model = results["SketchedKernelRidge"], ours
    apart = times["KernelRidge, K given"] / times["SketchedKernelRidge, K given"]
    print(f"| in all | {times['KernelRidge'] / times['SketchedKernelRidge']:.1f} |")
    print(f"| apart from the kernel matrix | {apart:.1f} |")
    print(f"| largest difference of predictions | {np.abs(predictions - results['KernelRidge']).max():.1e} |")
    print(f"| effective dimension, landmarks | {model.effective_dimension_:.0f}, {model.sketch_size_} |")
    print(f"| steps | {model.n_iter_} |")


def logistic(rounds) -> None:
    made = load_rcv1()
    X, y = made.data.astype(np.float64), made.target
    for C in (1.0, 100.0):
        peers = {
            f"LogisticRegression {name}": LogisticRegression(C=C, solver=name, tol=tol, max_iter=1000)
            for name, tol in (("lbfgs", 1e-6), ("newton-cg", 1e-6), ("liblinear", 1e-3))
        }
        peers["SketchedLogistic"] = SketchedLogistic(1 / C, random_state=0)

        def objective(model, C=C):
            return C * np.logaddexp(0, -y * model.decision_function(X)).sum() + 0.5 * np.sum(model.coef_**2)

        actions = {name: lambda model=model: model.fit(X, y) for name, model in peers.items()}
        compare(f"RCV1, C = {C:g}", actions, objective, rounds)


def main() -> None:
    tasks = {"ridge": ridge, "kernel": kernel, "logistic": logistic}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=tasks)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.task == "kernel":
        print("| | KernelRidge / SketchedKernelRidge |\n| --- | --- |")
    else:
        print("| problem | solver | time / fastest equal peer | objective above the best | rows | steps |")
        print("| --- | --- | --- | --- | --- | --- |")
    with catch_warnings():
        simplefilter("ignore")
        tasks[options.task](options.rounds)


if __name__ == "__main__":
    main()
