"""Does switching from scikit-learn's estimators cost time? Small and well-conditioned problems.

    python benchmarks/sketched_easy.py [--rounds 9] [--only ridge]    # about two minutes

All estimators are fitted alternately, round by round: ours with default options, scikit-learn's with default options
and at smaller tolerances. The first ratio compares our time with that of the fastest of theirs whose objective is
within 1e-6 of the best one found (median over rounds). The second compares it with their default options; the last
column says how far above the best objective those stop. Prints Markdown.
"""

import argparse
from warnings import simplefilter

import numpy as np
from scipy import sparse
from sketched_speed import EQUAL, seconds
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge

from sparing import SketchedKernelRidge, SketchedLogistic, SketchedRidge
from sparing.solvers.smooth_losses import LogisticLoss, MultinomialLoss

DENSE = (100, 5), (1_000, 10), (1_000, 50), (10_000, 100), (500, 500), (2_000, 1_000), (1_000, 2_000), (20_000, 1_000)
SPARSE = (1_000, 100, 0.1), (5_000, 2_000, 0.02), (2_000, 10_000, 0.01), (20_000, 5_000, 0.01)
LOGISTIC = (100, 5), (1_000, 50), (10_000, 100), (2_000, 1_000)
KERNEL = (50, 200, 500, 1_000, 2_000)


def ridge(X, y):
    """Estimators, ours first, then scikit-learn's with default options; and what they minimise."""
    models = [SketchedRidge(random_state=0), Ridge()]
    return models, lambda model: np.sum((y - model.predict(X)) ** 2) + np.sum(model.coef_**2)


def logistic(X, y):
    models = [SketchedLogistic(random_state=0)]
    models += [LogisticRegression(tol=tol, max_iter=1000) for tol in (1e-4, 1e-5, 1e-6, 1e-7)]
    weights, classes = np.ones(len(y)), np.unique(y)
    loss = LogisticLoss(2.0 * y - 1.0, weights) if len(classes) == 2 else MultinomialLoss(y, len(classes), weights)
    scores = lambda model: (X @ model.coef_.T) + model.intercept_  # noqa: E731
    return models, lambda model: loss.value(scores(model)) + 0.5 * np.sum(model.coef_**2)


def kernel(X, y):
    options = {"kernel": "rbf", "gamma": 0.1}
    models = [SketchedKernelRidge(random_state=0, **options), KernelRidge(**options)]
    K = np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2))
    return models, lambda model: y @ y + model.dual_coef_ @ (K @ model.dual_coef_ + model.dual_coef_ - 2 * y)


def problems(rng):
    """Name, estimators and objective, data."""
    for n, d in DENSE:
        X = rng.standard_normal((n, d))
        for n_targets in (1, 10):
            y = (X @ rng.standard_normal((d, n_targets)) + rng.standard_normal((n, n_targets))).squeeze()
            yield f"ridge, {n:,} × {d:,}, targets: {n_targets}", ridge(X, y), X, y
    for n, d, density in SPARSE:
        X = sparse.random_array((n, d), density=density, rng=rng, format="csr")
        y = X @ rng.standard_normal(d) + rng.standard_normal(n)
        yield f"ridge, sparse {n:,} × {d:,}", ridge(X, y), X, y
        yield f"logistic, sparse {n:,} × {d:,}", logistic(X, (y > 0) * 1), X, (y > 0) * 1
    for n, d in LOGISTIC:
        X = rng.standard_normal((n, d))
        scores = X @ rng.standard_normal((d, 3)) / np.sqrt(d) + rng.gumbel(size=(n, 3))
        for n_classes in (2, 3):
            y = scores[:, :n_classes].argmax(axis=1)
            yield f"logistic, {n:,} × {d:,}, classes: {n_classes}", logistic(X, y), X, y
    for n in KERNEL:
        X = rng.standard_normal((n, 10))
        y = np.sin(X).sum(axis=1) + 0.1 * rng.standard_normal(n)
        yield f"kernel, {n:,}", kernel(X, y), X, y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="run the problems whose names begin so")
    options = parser.parse_args()
    simplefilter("ignore")
    largest = 0.0
    print("| problem | time / fastest equal peer | time / peer with default options | its objective above the best |")
    print("| --- | --- | --- | --- |")
    for name, (models, objective), X, y in problems(np.random.default_rng(0)):
        if not name.startswith(options.only):
            continue
        rounds = range(options.rounds)
        times = np.array([[seconds(lambda m=m, X=X, y=y: m.fit(X, y))[0] for m in models] for _ in rounds])
        values = np.array([objective(model) for model in models])
        excess = values / values.min() - 1
        ratios = np.median(times[:, :1] / times[:, 1:], axis=0)
        ratio = ratios[excess[1:] <= EQUAL].max()
        print(f"| {name} | {ratio:.2f} | {ratios[0]:.2f} | {excess[1]:.0e} |", flush=True)
        largest = max(largest, ratio)
    print(f"| the largest | {largest:.2f} | | |")


if __name__ == "__main__":
    main()
