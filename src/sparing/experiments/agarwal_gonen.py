"""Experiments for Agarwal & Gonen: rows, work and steps against effective dimension, ridge and conditioning.

The paper has no experiments; these three figures test its theorems on data whose spectrum is known.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf

import numpy as np

from sparing import theory
from sparing.experiments.claims import Claim
from sparing.experiments.comparisons import Alike, Falls, Lower, Slope
from sparing.experiments.figures import Axes, Figure, Scale, Task, Tuning, series_style
from sparing.plotting import BLUE, GREEN, GREY, ORANGE, RED
from sparing.solvers import proximal_point, solve_ridge

PAPER = "effective-dimension"
REPETITIONS = {"quick": 5, "full": 50}
Measurement = Callable[[str, float, np.random.Generator], tuple[float, float]]


@dataclass(frozen=True)
class Measured:
    """A panel of several series at several points, with new data in every repetition."""

    series: Mapping[str, tuple[float, ...]]
    measurement: Measurement
    seed: int

    def tasks(self, scale: Scale) -> list[Task]:
        repetitions = range(REPETITIONS[scale.name])
        return [Task(name, place, r) for name, places in self.series.items() for place in places for r in repetitions]

    def choose(self, algorithm: str, spend: float) -> Tuning | None:
        return None

    def measure(self, task: Task, setting: Tuning | None) -> tuple[float, float]:
        rng = np.random.default_rng((self.seed, task.repetition))  # all series and points share their data
        return self.measurement(task.algorithm, task.spend, rng)


def _panel(series: Mapping[str, tuple[float, ...]], measurement: Measurement) -> Callable[[Scale, int], Measured]:
    return lambda scale, seed: Measured(series, measurement, seed)


# Rows against effective dimension -----------------------------------------------------------------------------------

ATTRIBUTES = {"100 attributes": 100, "400 attributes": 400}
FEW, MANY = ATTRIBUTES
BOUND = "Corollary 1, 400 attributes"
EXCESSES = (0.02, 0.01, 0.005, 0.002)
GROWTH = 2**0.125  # ratio of successive numbers of rows
DATA_SETS = 5  # whose mean excess risk must be small enough; a single one may succeed by chance
DIMENSION_AXES = Axes("effective dimension / excess risk (log scale)", "rows needed (log scale)", log=True)


def rows_reached(spectrum: np.ndarray, excess: float, rng: np.random.Generator) -> int:
    r"""The first number of rows at which ridge regression with :math:`\lambda = \epsilon/B^2` has excess risk epsilon.

    As Example 1 of the paper asks, predictions and targets lie within [-1, 1]: entries of x are
    :math:`\pm\sqrt{\lambda_i}`, the spectrum sums to 1, the best weights have norm B = 1 and y is -1 or +1.
    """
    d = len(spectrum)
    best = np.sqrt(spectrum / spectrum.sum()) * rng.choice([-1.0, 1.0], d)
    gram, right = np.zeros((DATA_SETS, d, d)), np.zeros((DATA_SETS, d))
    n, goal = 0, 20.0
    while True:
        X = rng.choice([-1.0, 1.0], (DATA_SETS, int(goal) - n, d)) * np.sqrt(spectrum)
        y = np.where(rng.random(X.shape[:2]) < (1 + X @ best) / 2, 1.0, -1.0)
        gram, right = gram + X.transpose(0, 2, 1) @ X, right + np.einsum("snd,sn->sd", X, y)
        n, goal = n + X.shape[1], goal * GROWTH
        found = np.linalg.solve(gram + excess * n * np.eye(d), right[..., None])[..., 0]
        if np.mean(0.5 * (found - best) ** 2 @ spectrum) <= excess:
            return n


def _rows(power: float, series: str, excess: float, rng: np.random.Generator) -> tuple[float, float]:
    spectrum = np.arange(1.0, ATTRIBUTES.get(series, ATTRIBUTES[MANY]) + 1) ** -power
    spectrum /= spectrum.sum()
    seen = float(np.sum(spectrum / (spectrum + excess))) / excess
    if series == BOUND:
        return seen, theory.rows_needed(spectrum, excess=excess, radius=1.0)
    return seen, rows_reached(spectrum, excess, rng)


# Work against the larger ridge --------------------------------------------------------------------------------------

PROXIMAL, CONJUGATE = "proximal point", "conjugate gradients, same sketch"
RATIOS = tuple(2.0**j for j in range(7))
SLOW_DECAY, FAST_DECAY = "eigenvalues i^−1.2", "eigenvalues i^−3"


def problem(spectrum: np.ndarray, rng: np.random.Generator, *, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian rows with about these eigenvalues of X^T X, and targets of them with noise."""
    X = rng.standard_normal((rows, len(spectrum))) * np.sqrt(spectrum / rows)
    return X, X @ rng.standard_normal(len(spectrum)) + rng.standard_normal(rows) / np.sqrt(rows)


def _work(power: float, solver: str, ratio: float, rng: np.random.Generator) -> tuple[float, float]:
    """Multiplications for the factor of the sketch and all steps, relative to products with X and its transpose."""
    X, y = problem(np.arange(1.0, 801.0) ** -power, rng, rows=4_000)
    ridge, seed = 1e-3, int(rng.integers(2**31))
    if solver == PROXIMAL:
        found = proximal_point(X, y, ridge, larger=ratio * ridge, tol=1e-6, random_state=seed)
    else:
        found = solve_ridge(X, y, ridge, method="sketch", sketch_ridge=ratio * ridge, tol=1e-6, random_state=seed)
    one_pass, sketch = 2 * X.size, found.sketch_size * X.shape[1]
    return ratio, (found.iterations * (one_pass + 2 * sketch) + found.sketch_size * sketch) / one_pass


# Steps against the condition number ---------------------------------------------------------------------------------

PLAIN, SKETCHED = "plain conjugate gradients", "conjugate gradients after a sketch"
CONDITIONS = tuple(10.0**j for j in (2, 3, 4, 5, 6, 8, 10))
PLAIN_CONDITIONS = CONDITIONS[:5]  # at 1e8 it takes 4,000 steps, at 1e10 14,000


def _steps(solver: str, condition: float, rng: np.random.Generator) -> tuple[float, float]:
    """Conjugate gradient steps until the objective is within 1e-8 of its minimum."""
    X, y = problem(condition ** -np.linspace(0, 1, 150), rng, rows=1_500)
    method, seed = "cg" if solver == PLAIN else "sketch", int(rng.integers(2**31))
    found = solve_ridge(X, y, 1 / condition, method=method, tol=1e-8, max_iter=5_000, random_state=seed)
    return condition, float(found.iterations)


STYLES = {
    FEW: series_style(FEW, BLUE, "o"),
    MANY: series_style(MANY, RED, "s"),
    BOUND: series_style(BOUND, GREY, "P"),
    PROXIMAL: series_style(PROXIMAL, RED, "s"),
    CONJUGATE: series_style(CONJUGATE, GREEN, "D"),
    PLAIN: series_style(PLAIN, ORANGE, "^"),
    SKETCHED: series_style(SKETCHED, GREEN, "D"),
}

# Figures ------------------------------------------------------------------------------------------------------------

FIGURES = (
    Figure(
        PAPER,
        1,
        "rows that ridge regression needs for an excess risk ε, against d_ε / ε",
        {
            f"eigenvalues i^−{power:g}": _panel(dict.fromkeys((FEW, MANY, BOUND), EXCESSES), partial(_rows, power))
            for power in (2.0, 3.0)
        },
        (
            Claim(
                "The rows needed grow in proportion to d_ε / ε: the power lies between 0.8 and 1.25.",
                (Slope(FEW, 0.8, 1.25), Slope(MANY, 0.8, 1.25)),
                "All powers are estimated inside; that of the more attributes varies so from draw to draw that the "
                "interval of a few repetitions may reach out.",
            ),
            Claim("They never pass the bound of Corollary 1.", Lower(MANY, BOUND)),
            Claim(
                "Attributes that do not add to d_ε cost nothing: four times as many take at most a quarter more rows.",
                Alike(MANY, FEW, within=0.25, or_better=True),
                "The rows needed vary by 10 to 40 % from one draw of the data to the next, which a few repetitions do "
                "not average out.",
            ),
        ),
        minutes={"quick": 0.1, "full": 3},
        axes=DIMENSION_AXES,
        styles=STYLES,
    ),
    Figure(
        PAPER,
        2,
        "work against λ′/λ, where a sketch made for the ridge λ′ serves the ridge λ",
        {
            SLOW_DECAY: _panel({PROXIMAL: RATIOS, CONJUGATE: RATIOS}, partial(_work, 1.2)),
            FAST_DECAY: _panel({PROXIMAL: RATIOS, CONJUGATE: RATIOS}, partial(_work, 3.0)),
        },
        (
            Claim(
                "Where d_λ falls faster than the root of λ, a larger ridge saves work at first.",
                Falls(PROXIMAL, part="small", panels=(SLOW_DECAY,)),
            ),
            Claim(
                "Where it falls more slowly, a larger ridge only costs: the work rises with λ′/λ.",
                Slope(PROXIMAL, 0.0, inf, panels=(FAST_DECAY,)),
            ),
            Claim(
                "Ours: conjugate gradients make more of the same sketch than the paper's proximal steps.",
                Lower(CONJUGATE, PROXIMAL),
            ),
        ),
        minutes={"quick": 0.7, "full": 9},
        axes=Axes("λ′ / λ (log scale)", "work, in passes over the data (log scale)", log=True),
        styles=STYLES,
    ),
    Figure(
        PAPER,
        3,
        "steps against the condition number κ, with a sketch and, up to κ = 10⁶, without: beyond, they are thousands",
        {"150 eigenvalues from 1 to 1/κ, ridge 1/κ": _panel({PLAIN: PLAIN_CONDITIONS, SKETCHED: CONDITIONS}, _steps)},
        (
            Claim(
                "After a sketch the steps do not depend on the condition number: its power is below 0.02.",
                Slope(SKETCHED, -0.02, 0.02),
            ),
            Claim("Without one they grow with it: by a power of 0.1 or more.", Slope(PLAIN, 0.1, 0.6)),
        ),
        minutes={"quick": 0.1, "full": 1},
        axes=Axes("condition number κ (log scale)", "conjugate gradient steps (log scale)", log=True),
        styles=STYLES,
    ),
)
