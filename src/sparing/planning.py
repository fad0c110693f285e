"""Forecasts from a pilot: the expected error at each spend, and whether whole rows of fewer examples would be better.

A model is fitted to the pilot, with an estimate and an interval of its error on whole rows.
``sparing.models.forecast`` extrapolates them to other spends.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from warnings import warn

import numpy as np
from scipy.linalg import eigvalsh

from sparing import checks
from sparing.buying.buyer import Buyer
from sparing.buying.shop import Shop
from sparing.cells import Cells
from sparing.estimators import load_model
from sparing.estimators.columns import is_frame, learn_columns
from sparing.files import InputError
from sparing.learners import AutoLearner, PairwiseMoments
from sparing.learners.keeping import KeepingLearner
from sparing.models.em import StandardizedCells, nth_iterate
from sparing.models.factor import factor_iterates
from sparing.models.factor_gradients import implied_covariance
from sparing.models.forecast import World as World
from sparing.models.forecast import few_errors, is_informative, whole_errors
from sparing.models.forecast import relative_error as relative_error
from sparing.models.gaussian import FittedModel
from sparing.models.honest_risk import LEVEL
from sparing.models.selection import affordable_families, usual_model
from sparing.models.summary import summarize
from sparing.tables import PriceList, read_prices, read_table
from sparing.tables.npz import array_names
from sparing.theory import rows_needed
from sparing.units_of_money import money_units

LEAST_PILOT = 30  # examples
LARGEST = 4e7  # number of values that the largest spend buys by default
WIDEST = 3000  # attributes
ITERATIONS, RANK = 20, 10  # of the factor model to whose spectrum a theorem is applied


class Prospect(NamedTuple):
    """Expected test error over that of the mean predictor, at one spend: few values of many examples, or whole rows."""

    spend: float
    few_examples: int
    few: float
    few_deviation: float
    whole_examples: int
    whole: float  # NaN where the spend buys fewer than two whole rows
    whole_deviation: float
    few_interval: tuple[float, float] = (np.nan, np.nan)  # 90 %
    whole_interval: tuple[float, float] = (np.nan, np.nan)
    informative: bool = True  # whether the pilot's model predicts better than the mean target


def plan(
    cells: Cells,
    *,
    budget: float,
    costs=None,
    groups=None,
    levels=None,
    spends=None,
    repetitions: int = 100,
    random_state: int = 0,
    progress: Callable[[float], None] | None = None,
) -> list[Prospect]:
    """The error to expect at each spend, with intervals of 90 %.

    :class:`~sparing.BudgetRidge` learns from a few values of each example, and ridge regression from whole rows. How
    often the intervals hold is measured in ``docs/forecasts.md``.

    Parameters
    ----------
    cells : Cells
        The pilot: some values of some examples, from any design.
    budget : float
        The spend on one example: attributes, or money with ``costs``.
    costs, groups : price and panel of each attribute, optional
    levels : number of categories of each attribute, 0 for a numeric one, optional
    spends : list of float, optional
        Total spends to evaluate; by default those of 100 to 10,000 examples (or what fits in memory).
    repetitions : int
        Simulations of whole rows.
    progress : callable, optional
        Called with the fraction of all work that was just done.

    Examples
    --------
    >>> from sparing.datasets import make_power_law
    >>> from sparing.learners import PairwiseMoments
    >>> X, y = make_power_law(400, 10, -1.0, random_state=0, return_X_y=True)
    >>> pilot = PairwiseMoments(10, budget=4, design="uniform").run(X, y).bought
    >>> cheap, dear = plan(pilot, budget=4, spends=[800, 8000], repetitions=5)
    >>> bool(dear.few_interval[0] < dear.few < cheap.few)
    True
    """
    if cells.n_outputs != 1 or cells.n_examples < LEAST_PILOT or cells.n_attributes > WIDEST:
        raise ValueError(
            f"a plan needs a pilot of {LEAST_PILOT} examples or more with one target and at most {WIDEST:,} "
            f"attributes; got {cells.n_examples} examples of {cells.n_attributes} attributes, n_outputs = "
            f"{cells.n_outputs}."
        )
    levels = None if levels is None else checks.levels(levels, cells.n_attributes)
    constant = None if levels is None else levels == 1
    shop = Shop(cells.n_attributes, budget, costs=costs, groups=groups, constant=constant)
    spends = sorted(_spends(shop) if spends is None else [checks.positive("spends", spend) for spend in spends])
    for spend in spends:
        if _few_rows(shop, spend) < 2 or spend > 10 * LARGEST:
            raise ValueError(f"a spend of {spend:g} is {_few_rows(shop, spend):,} examples: too few, or too many.")
    repetitions = checks.whole("repetitions", repetitions, at_least=2)
    generator = np.random.default_rng(checks.seed(random_state))
    done = progress or (lambda part: None)
    model = _learnt(cells, "auto", levels)
    done(0.3)
    lines = _with_weights(model if model.is_linear else _learnt(cells, "linear", levels), cells, levels)
    done(0.2)
    examples, rows = ([count(shop, spend) for spend in spends] for count in (_few_rows, _whole_rows))
    looks = Buyer(shop, 0).plan.inclusion.sum()  # per example
    few = [few_errors(model, cells, looks * n, generator) for n in examples]
    whole = []
    for _ in range(repetitions):
        whole.append(whole_errors(lines, cells, rows, generator))
        done(0.5 / repetitions)
    return [
        Prospect(spend, n, *_middle(f), m, *_middle(w), _interval(f), _interval(w), is_informative(model))
        for spend, n, f, m, w in zip(spends, examples, few, rows, np.transpose(whole), strict=True)
    ]


def _middle(errors: np.ndarray) -> tuple[float, float]:
    return float(np.median(errors)), float(errors.std(ddof=1))


def _interval(errors: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(errors, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    return float(low), float(high)


def _spends(shop: Shop) -> list[float]:
    rows = min(10_000, LARGEST / shop.n_attributes)
    return [float(f"{shop.amount(shop.budget) * n:.3g}") for n in np.geomspace(min(100, rows / 2), rows, 5)]


def _few_rows(shop: Shop, spend: float) -> int:
    return int(money_units(spend, shop.decimals)) // shop.budget


def _whole_rows(shop: Shop, spend: float) -> int:
    return int(money_units(spend, shop.decimals) // shop.prices.sum())


def _learnt(cells: Cells, features: str, levels: np.ndarray | None) -> FittedModel:
    learner = AutoLearner(cells.n_attributes, budget=cells.n_attributes, features=features, levels=levels)
    return learner.fit_cells(cells).fitted


def _with_weights(model: FittedModel, cells: Cells, levels: np.ndarray | None) -> FittedModel:
    """The model; if it is the mean target, with weights that the pilot is too small to distinguish from zero."""
    if model.weights.any():
        return model
    usual = usual_model(cells.in_order(), affordable_families(cells)[0], levels=levels)
    return replace(model, weights=usual.weights, attributes=usual.attributes, basis=usual.basis)


def advice(prospects: list[Prospect]) -> str:
    """The plan in a sentence or two."""
    if not all(prospect.informative for prospect in prospects):
        return (
            "The pilot found nothing that predicts the target better than its mean: these forecasts are those of other "
            "tables after pilots of this size. A larger pilot would show more."
        )
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


class Pilot(NamedTuple):
    """The cells of a pilot, and the prices and categories of its attributes."""

    cells: Cells
    prices: PriceList | None
    levels: np.ndarray | None  # the number of categories of each attribute, 0 for a numeric one


def bought_pilot(
    path, target, budget, costs, n_rows: int, random_state: int, said: Callable | None = None, **reading
) -> Pilot:
    """A pilot from a saved model or saved cells, or from ``n_rows`` rows of a data file with uniform looks.

    ``said`` is called with the table, if one is read.
    """
    path = Path(path)
    saved = path.suffix.lower() == ".npz" and array_names(path) >= {"probabilities", "starts"}
    if costs is not None and saved:
        raise InputError("saved cells have no names to find prices by", "leave out {costs}", {"costs": None})
    if saved:
        return Pilot(Cells.load(path), None, None)
    if path.suffix.lower() == ".sparing":
        return _pilot_of(load_model(path), costs)
    table = read_table(path, target, **reading, as_is=True)
    if said is not None:
        said(table)
    prices = None if costs is None else read_prices(costs, table.names)
    X, levels = table.X[:n_rows], None
    if is_frame(X):
        columns, notes = learn_columns(table.X)
        for note in notes:
            warn(note, UserWarning, stacklevel=3)
        X, levels = columns.encode(X), columns.levels
    learner = PairwiseMoments(
        len(table.names),
        budget=budget,
        costs=None if prices is None else prices.costs,
        groups=None if prices is None else prices.groups,
        levels=levels,
        design="uniform",
        random_state=random_state,
    )
    return Pilot(learner.run(X, table.y[:n_rows]).bought, prices, levels)


def _pilot_of(model, costs) -> Pilot:
    """The purchases of a model, at the prices of a list or, by default, at those that were paid."""
    learner = model.learner_
    if not isinstance(learner, KeepingLearner) or learner.n_outputs != 1:
        raise InputError("this model kept nothing that one target could be planned by", "pass the data file")
    if costs is not None:
        return Pilot(learner.bought, read_prices(costs, model._names()), learner.levels)
    shop = learner.buyer.shop
    prices = None if shop.costs is None else PriceList(shop.costs, [str(item) for item in shop.items])
    return Pilot(learner.bought, prices, learner.levels)


def whole_rows_needed(cells: Cells, excess: float) -> int:
    """Whole rows that ridge regression needs for this excess risk over the target's variance, by the theorem.

    From the spectrum that the pilot's model has, for standard attributes (Agarwal & Gonen, Corollary 1).
    """
    data = StandardizedCells(cells, summarize(cells))
    joint = implied_covariance(nth_iterate(factor_iterates(cells, data, RANK), ITERATIONS))
    covariance, weights = joint[:-1, :-1], np.linalg.solve(joint[:-1, :-1], joint[:-1, -1])
    return rows_needed(eigvalsh(covariance).clip(0.0), excess=excess, radius=max(float(np.linalg.norm(weights)), 1e-6))
