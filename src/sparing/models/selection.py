"""Which model to take: the affordable families, one rule, and every threshold with the measurement that set it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparing.cells import Cells
from sparing.models import families
from sparing.models.families import Family, Size
from sparing.models.gaussian import Candidate, FittedModel, Gaussian, fitted_model
from sparing.models.risk import completed_losses, unbiased_losses
from sparing.models.summary import summarize

# Thresholds ----------------------------------------------------------------------------------------------------------

FOLDS = 4  # of cross-validation
FEWEST = 10  # examples that can be judged
STANDARD_ERRORS = 1.0  # candidates within so many, by paired differences, of the best are averaged with it
AFFORDABLE = 10.0  # estimated seconds of one fit, up to which a family competes
LONG = 2.0  # estimated seconds of one fit of all families, from which one split replaces all folds
JUDGED = 1e9  # cubes of cells per example; held-out examples beyond as many are left out


def affordable_families(cells: Cells, penalty: str = "ridge") -> list[Family]:
    """The families that compete for these cells: all whose cost is affordable, and the mean target."""
    competing = [families.factor(penalty), families.pairwise_moments(penalty), families.full_covariance(penalty),
                 families.near_factors(penalty)]  # fmt: skip
    if penalty == "ridge":
        competing.append(families.mean_imputed())
    size = Size.of(cells)
    found = [family for family in competing if family.seconds(size) <= AFFORDABLE]
    return [*(found or [min(competing, key=lambda family: family.seconds(size))]), families.mean_target()]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Losses of every candidate on held-out examples, relative to the targets' variance.

    ``completed`` are those on completed rows, by which candidates are chosen, ``unbiased`` those by which the chosen
    model's risk is reported: both (n_candidates, n_examples).
    """

    names: list[tuple[str, str]]  # family and setting of each candidate
    completed: np.ndarray
    unbiased: np.ndarray

    @property
    def best(self) -> int:
        """The candidate of least error."""
        return int(np.argmin(self.completed.mean(axis=1)))

    def chosen(self) -> list[int]:
        """The best candidate and those within some standard errors of it, by paired differences."""
        difference = self.completed - self.completed[self.best]
        error = difference.std(axis=1) / np.sqrt(difference.shape[1])
        return np.flatnonzero(difference.mean(axis=1) <= STANDARD_ERRORS * error).tolist()

    def risk(self, candidate: int) -> tuple[float, float]:
        """The unbiased estimate of a candidate's risk on whole rows, and its standard error."""
        losses = self.unbiased[candidate]
        return float(losses.mean()), float(losses.std() / np.sqrt(losses.size))


def compare(cells: Cells, competing: Sequence[Family]) -> Comparison:
    """Cross-validate all candidates of all families on cells in :meth:`~sparing.cells.Cells.in_order`."""
    once = sum(family.seconds(Size.of(cells)) for family in competing) > LONG
    fold = np.arange(cells.n_examples) % (3 if once else FOLDS)
    completed, unbiased, names = [], [], []
    for held_out in range(1 if once else FOLDS):
        learnt, judged = cells.take(fold != held_out), _judgeable(cells.take(fold == held_out))
        summary = summarize(learnt)
        pairs = [(family.name, c) for family in competing for c in family.candidates(learnt, summary)]
        names = [(family, c.setting) for family, c in pairs]
        weights = np.concatenate([c.weights for _, c in pairs], axis=1)
        losses = completed_losses(judged, summary, _reference(pairs), weights) / np.tile(
            summary.target_spreads**2, len(pairs)
        )
        completed.append(losses.reshape(judged.n_examples, len(pairs), -1).mean(axis=2).T)
        whole = [unbiased_losses(judged, summary, c.weights) / summary.target_spreads**2 for _, c in pairs]
        unbiased.append(np.mean(whole, axis=2))
    return Comparison(names, np.concatenate(completed, axis=1), np.concatenate(unbiased, axis=1))


def _judgeable(cells: Cells) -> Cells:
    """As many of the examples as can be completed in reasonable time."""
    cubes = np.cumsum(np.diff(cells.starts).astype(float) ** 3)
    return cells if cubes.size == 0 or cubes[-1] <= JUDGED else cells.take(cubes <= max(JUDGED, cubes[0]))


def _reference(pairs: Sequence[tuple[str, Candidate]]) -> Gaussian:
    """The model that completes rows: the factor model of highest rank where there is one, else the first candidate."""
    factors = [c for family, c in pairs if family == "factor"]
    return (factors[-2 if len(factors) > 1 else 0] if factors else pairs[0][1]).attributes()


def select(cells: Cells, competing: Sequence[Family]) -> FittedModel:
    """The average, family by family, of the candidates that cannot be distinguished from the best, fitted to all."""
    summary = summarize(cells)
    if cells.n_examples < FEWEST:
        family = competing[0]
        candidate = family.candidates(cells, summary)[family.usual]
        facts = _facts(f"{family.name}: {candidate.setting}", [family.name], "there are too few examples to choose by")
        return fitted_model(summary, candidate.weights, candidate, facts)
    comparison = compare(cells, competing)
    chosen, best = comparison.chosen(), comparison.best
    wanted = {comparison.names[c][0] for c in chosen}
    found = {family.name: family.candidates(cells, summary) for family in competing if family.name in wanted}
    candidates = {(name, c.setting): c for name, group in found.items() for c in group}
    by_family: dict[str, list[np.ndarray]] = {}
    for c in chosen:
        by_family.setdefault(comparison.names[c][0], []).append(candidates[comparison.names[c]].weights)
    weights = np.mean([np.mean(group, axis=0) for group in by_family.values()], axis=0)
    return fitted_model(summary, weights, candidates[comparison.names[best]], _explained(comparison, chosen))


def _explained(comparison: Comparison, chosen: list[int]) -> dict[str, Any]:
    """What was chosen, out of what, and why."""
    best, names = comparison.best, comparison.names
    (family, setting), (risk, error) = names[best], comparison.risk(best)
    used = sorted({names[c][0] for c in chosen})
    why = (
        f"of {len(names)} candidates {family} ({setting}) had the least error on held-out rows completed by a factor "
        f"model, {comparison.completed[best].mean():.3g} of the targets' variance; the average of the {len(chosen)} "
        f"within {STANDARD_ERRORS:g} standard error of it is taken ({', '.join(used)})"
    )
    facts = _facts(f"{family}: {setting}", used, why) | {"risk": risk, "risk_error": error}
    facts["candidates"] = [
        {
            "family": name,
            "setting": setting,
            "error": float(comparison.completed[c].mean()),
            "risk": comparison.risk(c)[0],
            "risk_error": comparison.risk(c)[1],
            "used": c in chosen,
        }
        for c, (name, setting) in enumerate(names)
    ]
    return facts


def _facts(setting: str, used: list[str], why: str) -> dict[str, Any]:
    return {"setting": setting, "families": used, "why": why}
