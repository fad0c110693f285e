"""Which model to take: the affordable families, one rule, and every threshold with the measurement that set it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparing.cells import Cells
from sparing.models import families
from sparing.models.families import Family, Size
from sparing.models.gaussian import Candidate, FittedModel, fitted_model
from sparing.models.pairwise import USUAL_RIDGE, RepairedCovariance
from sparing.models.risk import Completion, complete, completed_losses, unbiased_losses
from sparing.models.summary import Summary, pair_moments, summarize

# Thresholds ----------------------------------------------------------------------------------------------------------

FOLDS = 4  # of cross-validation
FEWEST = 10  # examples that can be judged
STANDARD_ERRORS = 1.5  # candidates within so many, by paired differences, of the best are averaged with it
AFFORDABLE = 10.0  # estimated seconds of one fit, up to which a family competes
LONG = 2.0  # estimated seconds of one fit of all families, from which one split replaces all folds
JUDGED = 1e9  # cubed cells per example, summed over held-out examples; further examples are left out
QUICK = 1.0  # estimated seconds of a pairwise solve, up to which the next looks follow it, else a small factor model


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

    ``expected`` are those by which candidates are chosen, ``unbiased`` those by which the chosen model's risk is
    reported: both of shape (n_candidates, n_examples).
    """

    names: list[tuple[str, str]]  # family and setting of each candidate
    expected: np.ndarray
    unbiased: np.ndarray

    @property
    def best(self) -> int:
        """The candidate of least error."""
        return int(np.argmin(self.expected.mean(axis=1)))

    def chosen(self) -> list[int]:
        """The best candidate and those within some standard errors of it, by paired differences."""
        difference = self.expected - self.expected[self.best]
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
    expected, unbiased, names = [], [], []
    for held_out in range(1 if once else FOLDS):
        learnt, judged = cells.take(fold != held_out), _judgeable(cells.take(fold == held_out))
        summary = summarize(learnt)
        found = [(family, family.candidates(learnt, summary)) for family in competing]
        names = [(family.name, c.setting) for family, group in found for c in group]
        weights = [c.weights for _, group in found for c in group]
        generative = [group[family.usual] for family, group in found if family.generative]
        if not generative:
            usual = families.factor("ridge", families.RANKS[-1:], (families.USUAL_STOP,))
            generative = usual.candidates(learnt, summary)
        reference, completion = _reference(judged, summary, generative)
        expected.append(completed_losses(completion, summary, reference, weights))
        whole = [unbiased_losses(judged, summary, w) / summary.target_spreads**2 for w in weights]
        unbiased.append(np.mean(whole, axis=2))
    return Comparison(names, np.concatenate(expected, axis=1), np.concatenate(unbiased, axis=1))


def _reference(judged: Cells, summary: Summary, generative: Sequence[Candidate]) -> tuple[Candidate, Completion]:
    """The model that completes rows: that under which the held-out cells have the largest likelihood."""
    completions = [complete(judged, summary, candidate.attributes()) for candidate in generative]
    best = int(np.argmax([completion.log_likelihood for completion in completions]))
    return generative[best], completions[best]


def _judgeable(cells: Cells) -> Cells:
    """As many of the examples as can be completed in reasonable time."""
    cubes = np.cumsum(np.diff(cells.starts).astype(float) ** 3)
    return cells if cubes.size == 0 or cubes[-1] <= JUDGED else cells.take(cubes <= max(JUDGED, cubes[0]))


def usual_model(cells: Cells, family: Family, why: str = "it was asked for") -> FittedModel:
    """The usual candidate of a family."""
    summary = summarize(cells)
    candidate = family.candidates(cells, summary)[family.usual]
    setting = f"{family.name}: {candidate.setting}"
    facts = {"setting": setting, "families": [family.name], "why": why}
    return fitted_model(summary, candidate.weights, candidate, facts)


def planning_weights(cells: Cells, summary: Summary) -> np.ndarray:
    """Weights by which the next looks go: a quick solve, as choosing a ridge would take several."""
    if families.pairwise_moments("ridge").seconds(Size.of(cells)) <= QUICK:
        repaired = RepairedCovariance(pair_moments(cells, summary), summary, "looks")
        return repaired.ridge(USUAL_RIDGE * max(-repaired.values[0], 0.01 * repaired.noise))  # bold: only looks follow
    return families.factor("ridge", families.RANKS[:1], families.STOPS[:1]).candidates(cells, summary)[0].weights


def select(cells: Cells, competing: Sequence[Family]) -> FittedModel:
    """The average, family by family, of the candidates that cannot be distinguished from the best, fitted to all."""
    summary = summarize(cells)
    if cells.n_examples < FEWEST:
        return usual_model(cells, competing[0], "there are too few examples to choose by")
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
        f"of {len(names)} candidates {family} ({setting}) had the least expected error on held-out examples, "
        f"{comparison.expected[best].mean():.3g} of the targets' variance; the average of the {len(chosen)} "
        f"within {STANDARD_ERRORS:g} standard errors of it is taken ({', '.join(used)})"
    )
    facts = {"setting": f"{family}: {setting}", "families": used, "why": why, "risk": risk, "risk_error": error}
    facts["candidates"] = [
        {
            "family": name,
            "setting": setting,
            "error": float(comparison.expected[c].mean()),
            "risk": comparison.risk(c)[0],
            "risk_error": comparison.risk(c)[1],
            "used": c in chosen,
        }
        for c, (name, setting) in enumerate(names)
    ]
    return facts
