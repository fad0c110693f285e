"""From a pilot: what error to expect for which spend, and whether whole rows of fewer examples would be better.

The pilot's cells give a model of attributes and target; from that model data is made, bought and learnt from as it
would be in earnest, at every spend, by both ways. The pilot's examples are drawn anew each time (the bootstrap), so the
spread of the results includes how little a short pilot knows, but not what its model cannot say.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigvalsh
from sklearn.linear_model import RidgeCV

from sparing import checks
from sparing.buying.shop import Shop
from sparing.cells import Cells
from sparing.files import InputError
from sparing.learners import PairwiseMoments
from sparing.models.covariance import covariance_iterates
from sparing.models.em import StandardizedCells, nth_iterate
from sparing.models.factor import factor_iterates
from sparing.models.factor_gradients import implied_covariance
from sparing.models.gaussian import Gaussian
from sparing.models.summary import summarize
from sparing.tables import as_panels, read_prices, read_table
from sparing.tables.npz import array_names
from sparing.theory import rows_needed
from sparing.types import money_units

LEAST_PILOT = 30  # examples
LARGEST = 4e7  # simulated values at once
WIDEST = 3000  # attributes
WIDEST_FULL = 100  # attributes, up to which the pilot's model is any covariance, else one of a few factors
ITERATIONS, RANK = 40, 10


class Prospect(NamedTuple):
    """Expected test error over that of the mean predictor, at one spend: few values of many examples, or whole rows."""

    spend: float
    few_examples: int
    few: float
    few_deviation: float
    whole_examples: int
    whole: float  # NaN where the spend buys fewer than two whole rows
    whole_deviation: float


def plan(
    cells: Cells,
    *,
    budget: float,
    costs=None,
    groups=None,
    spends=None,
    repetitions: int = 8,
    random_state: int = 0,
    progress: Callable[[float], None] | None = None,
) -> list[Prospect]:
    """What error to expect for which spend.

    Parameters
    ----------
    cells : Cells
        The pilot: some values of some examples, from any design.
    budget : float
        The spend on one example: attributes, or money with ``costs``.
    costs, groups : price and panel of each attribute, optional
    spends : list of float, optional
        Total spends to evaluate; by default those of 100 to 10,000 examples (or what fits in memory).
    repetitions : int
        Bootstrap draws of the pilot.
    progress : callable, optional
        Called with the fraction of all work that was just done.

    Examples
    --------
    >>> from sparing.datasets import make_power_law
    >>> from sparing.learners import PairwiseMoments
    >>> X, y = make_power_law(400, 10, -1.0, random_state=0, return_X_y=True)
    >>> pilot = PairwiseMoments(10, budget=4, design="uniform").run(X, y).bought
    >>> dear, cheap = plan(pilot, budget=4, spends=[8000, 800], repetitions=3)[::-1]
    >>> bool(dear.few < cheap.few)
    True
    """
    if cells.n_outputs != 1 or cells.n_examples < LEAST_PILOT or cells.n_attributes > WIDEST:
        raise ValueError(
            f"a plan needs a pilot of {LEAST_PILOT} examples or more with one target and at most {WIDEST:,} "
            f"attributes; got {cells.n_examples} examples, {cells.n_outputs} targets, {cells.n_attributes} attributes."
        )
    shop = Shop(cells.n_attributes, budget, costs=costs, groups=groups)
    spends = sorted(_spends(shop) if spends is None else [checks.positive("spends", spend) for spend in spends])
    generator = np.random.default_rng(checks.seed(random_state))
    few, whole = np.full((2, len(spends), checks.whole("repetitions", repetitions, at_least=2)), np.nan)
    for repetition in range(repetitions):
        world = _world(cells.take(generator.integers(0, cells.n_examples, cells.n_examples)))
        for at, spend in enumerate(spends):
            few[at, repetition], whole[at, repetition] = _both(world, shop, budget, spend, generator)
            if progress is not None:
                progress(1.0 / (len(spends) * repetitions))
    return [
        Prospect(spend, _few_rows(shop, spend), float(f.mean()), float(f.std(ddof=1)),
                 _whole_rows(shop, spend), float(w.mean()), float(w.std(ddof=1)))
        for spend, f, w in zip(spends, few, whole, strict=True)
    ]  # fmt: skip


def _spends(shop: Shop) -> list[float]:
    rows = min(10_000, LARGEST / shop.n_attributes)
    return [float(f"{shop.amount(shop.budget) * n:.3g}") for n in np.geomspace(min(100, rows / 2), rows, 5)]


def _few_rows(shop: Shop, spend: float) -> int:
    return int(money_units(spend, shop.decimals)) // shop.budget


def _whole_rows(shop: Shop, spend: float) -> int:
    return int(money_units(spend, shop.decimals) // shop.prices.sum())


def _world(cells: Cells) -> Gaussian:
    """The pilot's model of attributes and target, centred: any covariance for up to 100 attributes, else few factors.

    It is hardly shrunk toward the identity: that would look like noise that no spend could remove.
    """
    data = StandardizedCells(cells, summarize(cells))
    spreads = np.concatenate([data.spreads, data.target_spreads])
    if cells.n_attributes <= WIDEST_FULL:
        covariance = nth_iterate(covariance_iterates(data, np.eye(spreads.size), prior=1.0), ITERATIONS)
        return Gaussian.of_covariance(np.zeros(spreads.size), covariance * np.outer(spreads, spreads))
    factors = nth_iterate(factor_iterates(cells, data, RANK), ITERATIONS // 2)
    loadings = factors.loadings * spreads[:, None]
    return Gaussian.of_factors(np.zeros(spreads.size), loadings, factors.noise * spreads**2)


def relative_error(world: Gaussian, weights: np.ndarray) -> float:
    """The exact squared error of weights on centred data of this model, relative to the target's variance."""
    with_target = np.append(-weights, 1.0)[:, None]
    return float(np.sum(with_target * world.times(with_target)) / world.variances[-1])


def _both(world: Gaussian, shop: Shop, budget, spend: float, generator) -> tuple[float, float]:
    """The error of a few values of many examples, and that of whole rows for the same money."""
    rows, whole_rows = _few_rows(shop, spend), _whole_rows(shop, spend)
    if rows < 2 or rows * shop.n_attributes > 10 * LARGEST:
        raise ValueError(f"a spend of {spend:g} is {rows:,} examples: too few, or too many, to simulate.")
    drawn = world.simulate(rows, generator)
    learner = PairwiseMoments(
        shop.n_attributes,
        budget=budget,
        costs=shop.costs,
        groups=shop.items.tolist(),
        n_examples=rows,
        random_state=int(generator.integers(2**31)),
    )
    few = relative_error(world, learner.run(drawn[:, :-1], drawn[:, -1]).coef)
    if whole_rows < 2:
        return few, np.nan
    drawn = world.simulate(whole_rows, generator)
    X, y = drawn[:, :-1], drawn[:, -1]
    ridge = RidgeCV(alphas=float(np.mean(X**2)) * X.shape[1] * np.logspace(-5, 2, 15)).fit(X, y)
    return few, relative_error(world, ridge.coef_)


def advice(prospects: list[Prospect]) -> str:
    """The plan in one sentence."""
    compared = [p for p in prospects if np.isfinite(p.whole)]
    if not compared:
        return "No spend here buys two whole rows: a few values of many examples are the only way."
    margins = [(p, p.whole - p.few, np.hypot(p.few_deviation, p.whole_deviation)) for p in compared]
    better = [p.spend for p, gain, error in margins if gain > error]
    worse = [p.spend for p, gain, error in margins if -gain > error]
    if better and not worse:
        return f"A few values of many examples are the better buy from a spend of {min(better):,.6g} on."
    if worse and not better:
        return "Whole rows of fewer examples are the better buy, where they are available."
    if better and worse:
        few, whole = (", ".join(f"{spend:,.6g}" for spend in spends) for spends in (better, worse))
        return f"A few values of many examples are the better buy at {few}; whole rows of fewer examples at {whole}."
    return "The pilot does not decide which way is better: the expected errors differ by less than their spread."


def bought_pilot(path, target, budget, costs, n_rows: int, random_state: int, **reading) -> tuple[Cells, Any]:
    """A pilot and its price list: cells that were saved, or ``n_rows`` of a data file with uniformly drawn looks."""
    path = Path(path)
    if path.suffix.lower() == ".npz" and array_names(path) >= {"probabilities", "starts"}:
        if costs is not None:
            raise InputError("saved cells have no names to find prices by", "leave out {costs}", {"costs": None})
        return Cells.load(path), None
    table = read_table(path, target, **reading, as_is=True)
    prices = None if costs is None else read_prices(costs, table.names)
    table, prices = as_panels(table, prices)
    learner = PairwiseMoments(
        len(table.names),
        budget=budget,
        costs=None if prices is None else prices.costs,
        groups=None if prices is None else prices.groups,
        design="uniform",
        random_state=random_state,
    )
    return learner.run(table.X[:n_rows], table.y[:n_rows]).bought, prices


def whole_rows_needed(cells: Cells, excess: float) -> int:
    """Whole rows that ridge regression needs for this excess risk over the target's variance, by the theorem.

    From the spectrum that the pilot's model has, for standard attributes (Agarwal & Gonen, Corollary 1).
    """
    data = StandardizedCells(cells, summarize(cells))
    joint = implied_covariance(nth_iterate(factor_iterates(cells, data, RANK), ITERATIONS // 2))
    covariance, weights = joint[:-1, :-1], np.linalg.solve(joint[:-1, :-1], joint[:-1, -1])
    return rows_needed(eigvalsh(covariance).clip(0.0), excess=excess, radius=max(float(np.linalg.norm(weights)), 1e-6))
