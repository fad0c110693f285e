"""Which model to take: the affordable families, one rule, and every threshold with the measurement that set it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
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
UNCERTAIN = 0.3  # part of the unseen loss, which rests on the reference model alone, that counts as its standard error
STANDARD_ERRORS = 2.0  # candidates within so many of the best, by paired differences, are averaged with it
FAR = 3.0  # log-likelihood ratios of an example are clipped there, when the model that completes rows is chosen
AFFORDABLE = 10.0  # estimated seconds of one fit, up to which a family competes
LONG = 2.0  # estimated seconds of one fit of all families, from which one split replaces all folds
JUDGED = 1e9  # cubed cells per example, summed over held-out examples; further examples are left out
TINY = 1e-18  # a variance of differences between candidates that are the same
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
class CrossValidation:
    """Losses of every candidate on held-out examples, relative to the targets' variance, by two estimates.

    The expected loss, in its ``seen`` and ``unseen`` part, varies little but rests on a reference model; the
    ``unbiased`` one rests on nothing and varies a lot. Differences of candidates are estimated by both, weighted by
    their precision, where a part of the unseen is taken for uncertain.
    """

    names: list[tuple[str, str]]  # family and setting of each candidate
    seen: np.ndarray  # (n_candidates, n_examples)
    unseen: np.ndarray  # (n_candidates,)
    unbiased: np.ndarray  # (n_candidates, n_examples)

    @property
    def expected(self) -> np.ndarray:
        """Expected losses, (n_candidates, n_examples)."""
        return self.seen + self.unseen[:, None]

    def differences(self, base: int) -> tuple[np.ndarray, np.ndarray]:
        """How much more risk each candidate has than the candidate ``base``, and the standard error of that."""
        n = self.seen.shape[1]
        seen, unbiased = self.seen - self.seen[base], self.unbiased - self.unbiased[base]
        unseen = self.unseen - self.unseen[base]
        expected_variance = np.maximum(seen.var(axis=1) / n + (UNCERTAIN * unseen) ** 2, TINY)
        unbiased_variance = np.maximum(unbiased.var(axis=1) / n, TINY)
        trust = unbiased_variance / (expected_variance + unbiased_variance)
        means = trust * (seen.mean(axis=1) + unseen) + (1.0 - trust) * unbiased.mean(axis=1)
        return means, np.sqrt(trust * expected_variance)

    @cached_property
    def best(self) -> int:
        """The candidate of least risk: none is better than it by paired differences, or nearly so."""
        best = int(np.argmin(self.expected.mean(axis=1)))
        for _ in range(len(self.names)):
            better = int(np.argmin(self.differences(best)[0]))
            if better == best:
                break
            best = better
        return best

    def chosen(self) -> list[int]:
        """The best candidate and those within some standard errors of it."""
        means, errors = self.differences(self.best)
        within = means <= STANDARD_ERRORS * errors
        within[self.best] = True
        return np.flatnonzero(within).tolist()

    def risk(self, candidate: int) -> tuple[float, float]:
        """The unbiased estimate of a candidate's risk on whole rows, and its standard error."""
        losses = self.unbiased[candidate]
        return float(losses.mean()), float(losses.std() / np.sqrt(losses.size))


def cross_validate(cells: Cells, competing: Sequence[Family]) -> CrossValidation:
    """Cross-validate all candidates of all families on cells in :meth:`~sparing.cells.Cells.in_order`."""
    once = sum(family.seconds(Size.of(cells)) for family in competing) > LONG
    fold = np.arange(cells.n_examples) % (3 if once else FOLDS)
    names: list[tuple[str, str]] = []
    seen: list[np.ndarray] = []
    unseen: list[np.ndarray] = []
    unbiased: list[np.ndarray] = []
    for held_out in range(1 if once else FOLDS):
        learnt, judged = cells.take(fold != held_out), _judgeable(cells.take(fold == held_out))
        summary = summarize(learnt)
        found = [(family, family.candidates(learnt, summary)) for family in competing]
        names = [(family.name, c.setting) for family, group in found for c in group]
        weights = [c.weights for _, group in found for c in group]
        generative = [group[family.usual] for family, group in found if family.generative]
        if not generative:
            usual = families.factor("ridge", families.RANKS[-1:], families.STOPS[-2:-1])
            generative = usual.candidates(learnt, summary)
        reference, completion = _reference(judged, summary, generative)
        for part, losses in zip((seen, unseen), completed_losses(completion, summary, reference, weights), strict=True):
            part.append(losses)
        whole = [unbiased_losses(judged, summary, w) / summary.target_spreads**2 for w in weights]
        unbiased.append(np.mean(whole, axis=2))
    return CrossValidation(
        names, np.concatenate(seen, axis=1), np.mean(unseen, axis=0), np.concatenate(unbiased, axis=1)
    )


def _reference(judged: Cells, summary: Summary, generative: Sequence[Candidate]) -> tuple[Candidate, Completion]:
    """The model that completes rows: that under which the held-out cells have the largest likelihood.

    Where the likeliest correlated model is not likelier than the uncorrelated one, it is that. Likelihood ratios are
    clipped there, or few examples far out would speak for the model that expects least of all others.
    """
    completions = [complete(judged, summary, candidate.attributes()) for candidate in generative]
    plain = [at for at, candidate in enumerate(generative) if candidate.attributes().is_uncorrelated]
    others = [at for at in range(len(generative)) if at not in plain]
    best = max(others or plain, key=lambda at: completions[at].log_likelihoods.mean())
    if plain and others:
        ratios = completions[best].log_likelihoods - completions[plain[0]].log_likelihoods
        if np.clip(ratios, -FAR, FAR).mean() <= 0.0:
            best = plain[0]
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
    return families.factor("ridge", families.RANKS[:1], families.STOPS[1:2]).candidates(cells, summary)[0].weights


def select(cells: Cells, competing: Sequence[Family]) -> FittedModel:
    """The average, family by family, of the candidates that cannot be distinguished from the best, fitted to all."""
    summary = summarize(cells)
    if cells.n_examples < FEWEST:
        return usual_model(cells, competing[0], "there are too few examples to choose by")
    judged = cross_validate(cells, competing)
    chosen, best = judged.chosen(), judged.best
    wanted = {judged.names[c][0] for c in chosen}
    found = {family.name: family.candidates(cells, summary) for family in competing if family.name in wanted}
    candidates = {(name, c.setting): c for name, group in found.items() for c in group}
    by_family: dict[str, list[np.ndarray]] = {}
    for c in chosen:
        by_family.setdefault(judged.names[c][0], []).append(candidates[judged.names[c]].weights)
    weights = np.mean([np.mean(group, axis=0) for group in by_family.values()], axis=0)
    return fitted_model(summary, weights, candidates[judged.names[best]], _explained(judged, chosen))


def _explained(judged: CrossValidation, chosen: list[int]) -> dict[str, Any]:
    """What was chosen, out of what, and why."""
    best, names = judged.best, judged.names
    family, setting = names[best]
    used = sorted({names[c][0] for c in chosen})
    others = f"the average of the {len(chosen)} within {STANDARD_ERRORS:g} standard errors of it is taken"
    why = (
        f"of {len(names)} candidates {family} ({setting}) has the least estimated risk on whole rows; "
        f"{others if len(chosen) > 1 else 'no other is near it'} ({', '.join(used)})"
    )
    (risk, error), (means, errors) = judged.risk(best), judged.differences(best)
    candidates = [
        {
            "family": name,
            "setting": setting,
            "error": float(judged.expected[c].mean()),
            "excess": float(means[c]),
            "excess_error": float(errors[c]),
            "risk": judged.risk(c)[0],
            "risk_error": judged.risk(c)[1],
            "used": c in chosen,
        }
        for c, (name, setting) in enumerate(names)
    ]
    facts = {"setting": f"{family}: {setting}", "families": used, "why": why, "risk": risk, "risk_error": error}
    return facts | {"candidates": candidates}
