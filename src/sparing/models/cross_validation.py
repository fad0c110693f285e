"""The judge of models: they predict held-out targets from what was seen of their examples."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sparing.cells import Cells
from sparing.models.bases import Kind, transformed
from sparing.models.families import Family
from sparing.models.risk import from_seen
from sparing.models.summary import Summary

FOLDS = 4  # of cross-validation
STANDARD_ERRORS = 1.0  # candidates within so many of the best, by paired differences, are averaged with it
LONG = 2.0  # estimated seconds of one fit of all families, from which one split replaces all folds
JUDGED = 1e9  # cubed cells per example, summed over held-out examples; further examples are left out

RANGE = (np.min, np.max)


class Split(NamedTuple):
    """Examples to learn from, and others to judge by."""

    learnt: Cells
    judged: Cells


def splits(cells: Cells, seconds: float) -> list[Split]:
    """Folds of cells in :meth:`~sparing.cells.Cells.in_order`; a single split where one fit takes long."""
    once = seconds > LONG
    fold = np.arange(cells.n_examples) % (3 if once else FOLDS)
    parts = range(1 if once else FOLDS)
    return [Split(cells.take(fold != part), judgeable(cells.take(fold == part))) for part in parts]


def judgeable(cells: Cells) -> Cells:
    """As many of the examples as can be completed in reasonable time."""
    cubes = np.cumsum(np.diff(cells.starts).astype(float) ** 3)
    return cells if cubes.size == 0 or cubes[-1] <= JUDGED else cells.take(cubes <= max(JUDGED, cubes[0]))


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Candidates, judged by how well they predict held-out targets from what was seen of their examples."""

    names: list[tuple[int, str]]  # which family, and the setting
    targets: np.ndarray  # (n_examples, n_outputs), standardized
    predictions: np.ndarray  # (n_candidates, n_examples, n_outputs)
    log_likelihoods: np.ndarray  # of what was seen of the attributes: (n_candidates, n_examples)
    summaries: list[Summary]  # of what was learnt from, in each split
    examples: np.ndarray  # the weight of each example: (n_examples,)

    @cached_property
    def losses(self) -> np.ndarray:
        """Squared errors relative to the targets' variance, averaged over outputs: (n_candidates, n_examples).

        They are multiplied by the weights of the examples, so that means over examples are weighted means.
        """
        return self.examples * np.mean((self.targets - self.predictions) ** 2, axis=2)

    def among(self, candidates: Sequence[int]) -> tuple[int, list[int]]:
        """The best of these candidates, and all that are within some standard errors of it by paired differences."""
        means = self.losses[candidates].mean(axis=1)
        best = int(candidates[int(np.argmin(means))])
        return best, [c for c in candidates if not worse(self.losses[c], self.losses[best])]


def worse(losses: np.ndarray, others: np.ndarray) -> bool:
    """Whether losses are larger than others of the same examples, by more than their standard error."""
    differences = losses - others
    return bool(differences.mean() > STANDARD_ERRORS * differences.std() / np.sqrt(differences.size))


def cross_validate(
    parts: Sequence[Split],
    competing: Sequence[Family],
    kind: Kind | None = None,
    levels: np.ndarray | None = None,
    step: Callable[[], None] = lambda: None,
) -> CrossValidation:
    """Judge all candidates of all families on every split; ``step`` is called after each family."""
    names: list[tuple[int, str]] = []
    targets, predictions, likelihoods, summaries = [], [], [], []
    for learnt, judged in parts:
        _, learnt, summary, judged = transformed(kind, levels, learnt, judged)
        found = []
        for at, family in enumerate(competing):
            found += [(at, c) for c in family.candidates(learnt, summary)]
            step()
        names = [(at, c.setting) for at, c in found]
        seen = [from_seen(judged, summary, c.attributes(), c.weights) for _, c in found]
        targets.append((judged.targets - summary.target_means) / summary.target_spreads)
        low, high = ((end(learnt.targets, axis=0) - summary.target_means) / summary.target_spreads for end in RANGE)
        predictions.append([np.clip(part.predictions, low, high) for part in seen])
        likelihoods.append([judged.weights * part.log_likelihoods for part in seen])
        summaries.append(summary)
    return CrossValidation(
        names,
        np.concatenate(targets),
        np.concatenate(predictions, axis=1),
        np.concatenate(likelihoods, axis=1),
        summaries,
        np.concatenate([judged.weights for _, judged in parts]),
    )
