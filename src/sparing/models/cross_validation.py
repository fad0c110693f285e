"""Cross-validation of models: they predict held-out targets from the seen cells of their examples."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sparing.cells import Cells
from sparing.models.bases import Basis, Kind, transformed
from sparing.models.blocks import block_numbers, standard_error
from sparing.models.em import StandardizedCells
from sparing.models.families import Family
from sparing.models.folds import FEWEST, FOLDS, folds
from sparing.models.gaussian import Candidate
from sparing.models.risk import SeenParts, explained_by_others, seen_parts
from sparing.models.summary import Summary

STANDARD_ERRORS = 1.0  # candidates within this many standard errors of the best, by paired differences, are averaged
CLEARLY = 2.0  # a candidate whose loss is more standard errors above the best is excluded, whatever its correlations
OUTLYING = 0.1  # fraction of examples that may be outliers under a model of the attributes
COMPARING = 10.0  # estimated seconds that fits of all folds may take together; if they take longer, folds are left out
JUDGED = 1e9  # limit on the sum of cubed numbers of cells of held-out examples; further examples are left out
PREDICTED = 1e6  # the same limit for predictions of cells from one another, in each fold


@dataclass(frozen=True, eq=False)
class Split:
    """Training examples and held-out examples."""

    learnt: Cells
    judged: Cells
    curved: dict[Kind | None, "SplitOfFunctions"] = field(default_factory=dict)  # for kinds that were asked for

    @cached_property
    def hidden(self) -> Cells:
        """The held-out examples with some of their cells hidden."""
        return self.judged.partly_hidden()

    def of_functions(self, kind: Kind | None, levels: np.ndarray | None) -> "SplitOfFunctions":
        """The same examples in functions of this kind, learnt from the training examples."""
        if kind not in self.curved:
            basis, learnt, summary, judged = transformed(kind, levels, self.learnt, self.judged)
            self.curved[kind] = SplitOfFunctions(basis, learnt, summary, judged, self)
        return self.curved[kind]

    def forget_all_but(self, kind: Kind | None) -> None:
        """Keep the functions of one kind only."""
        for other in [*self.curved]:
            if other != kind:
                del self.curved[other]


@dataclass(frozen=True, eq=False)
class SplitOfFunctions:
    """Training and held-out examples as cells of functions; without a basis, of the columns themselves."""

    basis: Basis | None
    learnt: Cells
    summary: Summary
    judged: Cells
    columns: Split

    @cached_property
    def hidden(self) -> Cells:
        """The held-out examples with some of their cells hidden."""
        return self.columns.hidden if self.basis is None else self.basis.expand(self.columns.hidden)


class Fits(NamedTuple):
    """All candidates, fitted to what a split learns from."""

    candidates: list[Candidate]
    summary: Summary
    target_range: list[np.ndarray]  # standardized: predictions are clipped to it
    columns: np.ndarray | None = None  # the column of each function, if there are functions

    def seen(self, cells: Cells, chosen: Sequence[int]) -> list[SeenParts]:
        """Predictions of some candidates from the seen part of examples, and their likelihood ratios."""
        data = StandardizedCells(cells, self.summary)
        found = (seen_parts(data, self.candidates[c].attributes(), self.candidates[c].weights) for c in chosen)
        return [SeenParts(np.clip(predictions, *self.target_range), likely) for predictions, likely in found]


def splits(cells: Cells, seconds: float) -> list[Split]:
    """Folds of cells in :meth:`~sparing.cells.Cells.in_order`, fewer if a fit takes so many ``seconds`` that
    those of all folds would take too long.
    """
    fold, parts = folds(cells), range(int(np.clip(COMPARING / max(seconds, 1e-9), 1, FOLDS)))
    judged = [judgeable(cells.take(fold == part)) for part in parts]
    return [Split(cells.take(fold != part), judged[part]) for part in parts]


def judgeable(cells: Cells, limit: float | None = None) -> Cells:
    """As many of the examples as can be predicted in reasonable time, at least one."""
    limit = JUDGED if limit is None else limit
    cubes = np.cumsum(np.diff(cells.starts).astype(float) ** 3)
    return cells if cubes.size == 0 or cubes[-1] <= limit else cells.take(cubes <= max(limit, cubes[0]))


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Predictions of all candidates for held-out targets, from the seen cells of their examples."""

    names: list[tuple[int, str]]  # which family, and the setting
    targets: np.ndarray  # (n_examples, n_outputs), standardized
    predictions: np.ndarray  # (n_candidates, n_examples, n_outputs)
    log_ratios: np.ndarray  # log-likelihoods of seen cells less those of uncorrelated ones: (n_candidates, n_examples)
    parts: Sequence[SplitOfFunctions]
    fits: list[Fits]  # one for each split
    examples: np.ndarray  # the weight of each example: (n_examples,)
    blocks: np.ndarray | None = None  # the number of each example's block, if standard errors are clustered by block

    @cached_property
    def losses(self) -> np.ndarray:
        """Squared errors relative to the targets' variance, averaged over outputs: (n_candidates, n_examples).

        They are multiplied by the weights of the examples, so that means over examples are weighted means.
        """
        return self.examples * np.mean((self.targets - self.predictions) ** 2, axis=2)

    @cached_property
    def surprises(self) -> np.ndarray:
        """How badly each candidate's correlations fit the cells of each example: (n_candidates, n_examples).

        It is the negative log-likelihood ratio to uncorrelated attributes of the same variances. Under a Gaussian, a
        few examples have next to no probability, and would decide alone. So each example may be an outlier, of
        uncorrelated attributes, which limits what it can say against a model.
        """
        return -self.examples * np.logaddexp(np.log1p(-OUTLYING) + self.log_ratios, np.log(OUTLYING))

    def held_out(self, chosen: Sequence[int]) -> np.ndarray:
        """Average predictions by candidates, from what was seen and with a part hidden: (2, n_examples, n_outputs)."""
        less = [
            np.mean([part.predictions for part in fits.seen(split.hidden, chosen)], axis=0)
            for split, fits in zip(self.parts, self.fits, strict=True)
        ]
        return np.stack([self.predictions[chosen].mean(axis=0), np.concatenate(less)])

    def among(self, candidates: Sequence[int]) -> tuple[int, list[int]]:
        """The best of these candidates, and all that are statistically indistinguishable from it.

        Errors from seen parts hardly distinguish models that differ on whole rows: regression on mean-imputed rows
        predicts well from a few values, but is wrong for whole rows unless attributes are uncorrelated. So of the
        candidates that are not clearly worse, only those compete whose correlations fit held-out cells best. If none
        fits better than the last candidate, the mean target, whose attributes are uncorrelated, all of them compete.
        The likelihood of an attribute that is rarely anything but zero is mostly that of its zeros, which almost any
        correlation makes likelier. So candidates whose correlations mislead are left out (:meth:`misleads`), unless
        none remains.
        """
        near = self.indistinguishable(self.losses, candidates, CLEARLY)
        chosen = self._likeliest(near)
        while misleading := {c for c in chosen if self.misleads(c)}:
            near = [c for c in near if c not in misleading]
            if not near:
                break
            chosen = self._likeliest(near)
        return min(chosen, key=lambda c: float(self.losses[c].mean())), chosen

    def _likeliest(self, near: Sequence[int]) -> list[int]:
        """Of candidates that are not clearly worse, the best among those whose correlations fit held-out cells best."""
        likeliest = self.indistinguishable(self.surprises, [*near, len(self.names) - 1])
        return self.indistinguishable(self.losses, [c for c in near if c in likeliest] or near)

    def misleads(self, candidate: int) -> bool:
        """Whether a candidate predicts held-out cells from the others of their example worse than their means do."""
        taken = [judgeable(split.judged, PREDICTED) for split in self.parts]
        if sum(cells.n_examples for cells in taken) < FEWEST:
            return False
        gains = [
            cells.weights
            * explained_by_others(cells, fits.summary, fits.candidates[candidate].attributes(), fits.columns)
            for cells, fits in zip(taken, self.fits, strict=True)
        ]
        return worse(-np.concatenate(gains), np.zeros(1), block_numbers(*taken))

    def indistinguishable(
        self, losses: np.ndarray, candidates: Sequence[int], errors: float = STANDARD_ERRORS
    ) -> list[int]:
        """Those of the candidates whose losses are within some standard errors of the least, by paired differences."""
        best = min(candidates, key=lambda c: float(losses[c].mean()))
        return [c for c in candidates if not worse(losses[c], losses[best], self.blocks, errors)]


def worse(
    losses: np.ndarray, others: np.ndarray, blocks: np.ndarray | None = None, errors: float = STANDARD_ERRORS
) -> bool:
    """Whether losses are larger than others of the same examples, by more than some standard errors."""
    differences = losses - others
    return bool(differences.mean() > errors * standard_error(differences, blocks))


def cross_validate(
    parts: Sequence[Split],
    competing: Sequence[Family],
    kind: Kind | None = None,
    levels: np.ndarray | None = None,
    step: Callable[[], None] = lambda: None,
) -> CrossValidation:
    """Judge all candidates of all families on every split; ``step`` is called after each family.

    Each split learns curves from its own training examples. With few looks per column, knots and scores that used
    held-out cells would make curves look better than they are, and the errors of some small tables many times larger.
    """
    names: list[tuple[int, str]] = []
    targets, predictions, likelihoods, fits = [], [], [], []
    expanded = [split.of_functions(kind, levels) for split in parts]
    for split in expanded:
        basis, summary, found = split.basis, split.summary, []
        for at, family in enumerate(competing):
            found += [(at, c) for c in family.candidates(split.learnt, summary)]
            step()
        names = [(at, c.setting) for at, c in found]
        means, spreads = summary.target_means, summary.target_spreads
        ends = [(end(split.learnt.targets, axis=0) - means) / spreads for end in (np.min, np.max)]
        fits.append(Fits([c for _, c in found], summary, ends, None if basis is None else basis.columns_of_functions))
        seen = fits[-1].seen(split.judged, range(len(found)))
        targets.append((split.judged.targets - means) / spreads)
        predictions.append([part.predictions for part in seen])
        likelihoods.append([part.log_ratios for part in seen])
    return CrossValidation(
        names,
        np.concatenate(targets),
        np.concatenate(predictions, axis=1),
        np.concatenate(likelihoods, axis=1),
        expanded,
        fits,
        np.concatenate([split.judged.weights for split in parts]),
        block_numbers(*(split.judged for split in parts)),
    )
