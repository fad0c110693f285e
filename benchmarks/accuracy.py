"""Test loss of every learner relative to that of the zero predictor: the papers' experiments, tuned on held-out rows.

    SPARING_DATA=folder python benchmarks/accuracy.py                 # everything, an hour or so
    SPARING_DATA=folder python benchmarks/accuracy.py mnist-ridge     # one table
    python benchmarks/accuracy.py --quick simulated                   # no data files needed

Radius and step size are chosen on a fifth of the training data that the learner does not see, by the mean over five
shuffles. Then the learner runs once over all training rows per repetition, in a new order and with new draws, and is
tested only then. "As many attributes" limits a learner of whole rows to as many rows as hold the same number of values.
Prints Markdown tables: mean ± standard deviation over the repetitions.
"""

import argparse
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split

from sparing import learners
from sparing.datasets import load_covertype, load_mnist_pair, make_power_law, scale_max_abs
from sparing.geometry import improvement_ratio, second_moments

TUNING_RUNS, HELD_OUT = 5, 0.2
NARROW, WIDE = (0.5, 1.0, 2.0), (1.0, 3.0, 10.0, 22.0)  # the true weights of the simulated data are 22 long
SCALES = 4.0 ** np.arange(-1, 7)
FEW_ROWS = 1_076  # 61,000 attributes at 57 an example
KNOWN = (learners.DDAERR, learners.DDAELR)
FULL = (learners.OnlineRidge, learners.OnlineLasso)


@dataclass(frozen=True, eq=False)
class Data:
    """Training and test examples."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @cached_property
    def moments(self) -> dict[bool, np.ndarray]:
        """Second moments of the training examples as they are (False) and about their means (True)."""
        return {center: second_moments(self.X, center=center) for center in (False, True)}


class Method(NamedTuple):
    """A learner with its options. One that reads whole rows gets no more attributes in all, unless ``all_rows``."""

    learner: type
    options: dict[str, Any]
    tuned: bool = True
    all_rows: bool = False


class Task(NamedTuple):
    """One table."""

    title: str
    data: Data
    budget: int
    radii: tuple[float, ...]
    methods: dict[str, Method]


# The data ---------------------------------------------------------------------------------------------------------


@cache
def mnist(center=True, rows=None) -> Data:
    """3 against 5, scaled by the training set; ``rows`` of it, drawn at random, if given."""
    train, test = (load_mnist_pair(3, 5, subset=part, dtype=np.float32) for part in ("train", "test"))
    X, scaler = scale_max_abs(train.data, center=center)
    data = Data(X, train.target, scaler.transform(test.data), test.target)
    if rows is None:
        return data
    kept = np.random.default_rng(0).permutation(len(X))[:rows]
    return replace(data, X=X[kept], y=data.y[kept])


@cache
def mnist_pooled() -> Data:
    """3 against 5, training and test part together, scaled as a whole, a fifth of it for the test.

    So MNIST's figures in the papers seem to have come about: only so are the improvement ratios theirs.
    """
    X, y = load_mnist_pair(3, 5, subset="all", dtype=np.float32, return_X_y=True)
    X, X_test, y, y_test = train_test_split(scale_max_abs(X)[0], y, test_size=0.2, random_state=0)
    return Data(X, y, X_test, y_test)


@cache
def covertype(rows=None) -> Data:
    """Class 2 against the rest, a quarter for the test; ``rows`` of the training part, if given."""
    X, y = load_covertype(2, dtype=np.float32, return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    X, scaler = scale_max_abs(X)
    return Data(X[:rows], y[:rows], scaler.transform(X_test), y_test)


def simulated(exponent, rows=20_000) -> Data:
    """The papers' 500 independent 0/1 attributes."""
    X, y = make_power_law(rows + 10_000, exponent=exponent, random_state=0, return_X_y=True)
    return Data(X[:rows], y[:rows], X[rows:], y[rows:])


# Running and choosing ---------------------------------------------------------------------------------------------


def build(task: Task, method: Method, data: Data, radius, scale, seed):
    """The learner: theory's step (or the adaptive one) times ``scale``, for examples of the data's usual norm."""
    moments = data.moments[method.options.get("center", False)]
    ridge = method.learner.penalty == "ridge"
    norm = float(np.sqrt(moments.sum() if ridge else moments.max()))
    options = {"radius": radius, "step_scale": scale, "norm_bound": norm, "random_state": seed} | method.options
    if method.learner not in FULL:
        options |= {"budget": task.budget}
    if method.learner in KNOWN:
        options |= {"second_moments": moments}
    return method.learner(data.X.shape[1], **options)


@lru_cache(maxsize=TUNING_RUNS)
def shuffled(data: Data, seed) -> tuple[np.ndarray, np.ndarray]:
    """The training examples in a new order."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    return data.X[order], data.y[order]


def run(task: Task, method: Method, data: Data, radius, scale, seed):
    """Train on the data in a new order; return the relative loss on the test part and cells bought an example."""
    X, y = shuffled(data, seed)
    if method.learner in FULL and not method.all_rows:
        bought = len(y) * task.budget // X.shape[1]
        X, y = X[:bought], y[:bought]
    learner = build(task, method, data, radius, scale, seed).run(X, y)
    errors = data.X_test @ learner.coef + learner.intercept - data.y_test
    return np.mean(errors**2) / np.mean(data.y_test**2), learner.cells / len(y)


def choose(task: Task, method: Method) -> tuple[float, float]:
    """The radius and multiple of the step with the least loss on held-out training data."""
    X, X_held, y, y_held = train_test_split(task.data.X, task.data.y, test_size=HELD_OUT, random_state=0)
    inside = Data(X, y, X_held, y_held)

    @cache
    def score(radius, scale):
        return np.mean([run(task, method, inside, radius, scale, 100 + seed)[0] for seed in range(TUNING_RUNS)])

    best = [(radius, search(lambda scale, r=radius: score(r, scale)) if method.tuned else 1.0) for radius in task.radii]
    return min(best, key=lambda setting: score(*setting))


def search(score) -> float:
    """The best of all powers of 4 in reach, then half and twice of it: large steps may have a valley of their own."""
    best = min(SCALES, key=score)
    return min((best / 2, best, best * 2), key=score)


def offline_ridge(data: Data) -> float:
    """What ridge regression reaches that reads everything."""
    keep = slice(None, 50_000)
    model = RidgeCV(alphas=np.logspace(-2, 5, 15), fit_intercept=False).fit(data.X[keep], data.y[keep])
    return float(np.mean((data.X_test @ model.coef_ - data.y_test) ** 2) / np.mean(data.y_test**2))


# The tables -------------------------------------------------------------------------------------------------------

EVEN = {"split": "even"}
INFORMED = EVEN | {"inner": "improved"}
RIDGE = {
    "DDAERR": Method(learners.DDAERR, INFORMED),
    "two-phased": Method(learners.TwoPhasedDDAERR, INFORMED),
    "AERR": Method(learners.AERR, EVEN),
    "online ridge, as many attributes": Method(learners.OnlineRidge, {}),
    "online ridge, all rows": Method(learners.OnlineRidge, {}, all_rows=True),
}
LASSO = {
    "DDAELR": Method(learners.DDAELR, INFORMED),
    "two-phased": Method(learners.TwoPhasedDDAELR, INFORMED),
    "AELR": Method(learners.AELR, EVEN),
    "online lasso, as many attributes": Method(learners.OnlineLasso, {}),
    "online lasso, all rows": Method(learners.OnlineLasso, {}, all_rows=True),
}
CENTRING = {
    "DDAERR": Method(learners.DDAERR, INFORMED),
    "DDAERR, running means": Method(learners.DDAERR, INFORMED | {"center": True}),
    "two-phased": Method(learners.TwoPhasedDDAERR, INFORMED),
    "two-phased, running means": Method(learners.TwoPhasedDDAERR, INFORMED | {"center": True}),
    "AERR": Method(learners.AERR, EVEN),
    "AERR, running means": Method(learners.AERR, EVEN | {"center": True}),
}


def step_methods() -> dict[str, Method]:
    """Three learners with every kind of step: the constant tuned, the others tuned and as they come."""
    found = {}
    for (name, method), step in product(list(RIDGE.items())[:4], ("theory", "adaptive", "adagrad")):
        options = method.options | {"step_size": step}
        found[f"{name}, {'constant' if step == 'theory' else step}, tuned"] = method._replace(options=options)
        if step != "theory":
            found[f"{name}, {step}, untuned"] = method._replace(options=options, tuned=False)
        if step == "adagrad":
            found[f"{name}, adagrad, own norm, tuned"] = method._replace(options=options | {"projection": "own"})
    return found


def lay_out(title, data, budget, radii, methods):
    """A task whose data are loaded when it is its turn."""
    return lambda: Task(title, data(), budget, radii, methods)


def shown(rows) -> str:
    return f"{rows:,} rows" if rows else "all rows"


def real_tasks():
    yield "mnist-ridge", lay_out("MNIST 3 against 5, ridge, 57 looks", mnist, 57, NARROW, RIDGE)
    pooled = "MNIST 3 against 5, both parts together, ridge, 57 looks"
    yield "mnist-pooled", lay_out(pooled, mnist_pooled, 57, NARROW, RIDGE)
    yield "mnist-lasso", lay_out("MNIST 3 against 5, lasso, 5 looks", mnist, 5, (3.0, 6.0, 12.0, 24.0), LASSO)
    for rows in (20_000, 96_000, None):
        title, data = f"Covertype 2 against the rest, {{}}, 5 looks, {shown(rows)}", partial(covertype, rows)
        yield "covertype-ridge", lay_out(title.format("ridge"), data, 5, (1.0, 2.0, 4.0, 8.0), RIDGE)
        yield "covertype-lasso", lay_out(title.format("lasso"), data, 5, (4.0, 8.0, 16.0, 32.0), LASSO)


def centring_tasks():
    for rows, (kind, center) in product((FEW_ROWS, None), (("raw", False), ("centred beforehand", True))):
        title = f"MNIST, {kind}, max-abs scaled, ridge, 57 looks, {shown(rows)}"
        chosen = {name: method for name, method in CENTRING.items() if not (center and "center" in method.options)}
        yield "centring", lay_out(title, partial(mnist, center, rows), 57, (*NARROW, 4.0), chosen)


def tasks(quick: bool):
    """Names of tables, each with a function that lays it out."""
    rows = 5_000 if quick else 20_000
    yield from real_tasks()
    for e in (0.0, -2.0) if quick else (0.0, -0.5, -1.0, -2.0):
        title = f"Simulated, exponent {e:g}, ridge, 5 looks, {shown(rows)}"
        yield "simulated", lay_out(title, partial(simulated, e, rows), 5, WIDE, RIDGE)
    yield from centring_tasks()
    title = f"Kinds of steps: simulated, exponent -2, ridge, 5 looks, {shown(rows)}"
    yield "steps", lay_out(title, partial(simulated, -2.0, rows), 5, (3.0, 10.0), step_methods())
    yield (
        "steps-mnist",
        lay_out("Kinds of steps: MNIST, ridge, 57 looks", mnist, 57, (0.5, 1.0, 2.0, 4.0), step_methods()),
    )


def table(task: Task, repetitions: int) -> None:
    """Choose, repeat, print."""
    penalty = next(iter(task.methods.values())).learner.penalty
    ratio = improvement_ratio(task.data.moments[False], penalty)
    print(f"\n### {task.title}\n\nImprovement ratio {ratio:.3g}, {len(task.data.y):,} training rows.", end=" ")
    if penalty == "ridge":
        print(f"Offline ridge, which reads everything: {offline_ridge(task.data):.3f}.", end="")
    print("\n\n| learner | test loss / zero predictor's | distinct looks per example | radius | step × |")
    print("| --- | --- | --- | --- | --- |")
    for name, method in track(task.methods.items(), task.title, console=Console(stderr=True), transient=True):
        radius, scale = choose(task, method)
        losses, cells = np.transpose([run(task, method, task.data, radius, scale, s) for s in range(repetitions)])
        spread = f"{losses.mean():.3f} ± {losses.std(ddof=1):.3f}"
        print(f"| {name} | {spread} | {cells.mean():.1f} | {radius:g} | {scale:g} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", help="which tables, by name; all of them if none is named")
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="less simulated data")
    chosen = parser.parse_args()
    for name, make in tasks(chosen.quick):
        if not chosen.tables or name in chosen.tables:
            table(make(), chosen.repetitions)


if __name__ == "__main__":
    main()
