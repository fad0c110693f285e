"""Choose between models by cells that they did not learn from."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sparing.cells import Cells
from sparing.kernels.pairs import predict_products
from sparing.models.summary import Described, describe

FOLDS = 4
NEAR = 0.5  # of the targets' variance
APART = 2.5  # standard errors that tell two candidates apart: among dozens some differ by two of them for nothing
MANY = 100_000  # cells, above which one fold of three says enough


class Candidate(NamedTuple):
    """A model of centred attributes and targets: one column of weights an output."""

    family: str
    setting: str
    weights: np.ndarray
    biased: bool = False  # where attributes go together, it stays wrong however much is bought
    share: float = 1.0  # of its family, in a mean of several


Family = Callable[[Cells, Described], list[Candidate]]  # the same settings in the same order, whatever the cells


class Judgement(NamedTuple):
    """Losses of every candidate on every example, estimated, as parts of the targets' variance."""

    losses: np.ndarray

    @property
    def risks(self) -> np.ndarray:
        """Estimated risks."""
        return self.losses.mean(axis=1)

    @property
    def errors(self) -> np.ndarray:
        """Their standard errors."""
        return self.losses.std(axis=1) / np.sqrt(self.losses.shape[1])

    @property
    def best(self) -> int:
        """The least cautious risk: a model whose risk is uncertain is passed over."""
        return int(np.argmin(self.cautious))

    @property
    def cautious(self) -> np.ndarray:
        """Risks plus two standard errors."""
        return self.risks + 2.0 * self.errors

    @property
    def hopeless(self) -> bool:
        """Whether even the best is judged worse, by more than a standard error, than the mean target: its risk is 1."""
        return bool(self.risks[self.best] - self.errors[self.best] > 1.0)

    def as_good(self) -> np.ndarray:
        """Which candidates cannot be told from the best one, by their paired difference and its standard error.

        Of a wild model that may hold because nothing is known of it; so its cautious risk must also be near the best.
        """
        difference = self.losses - self.losses[self.best]
        error = difference.std(axis=1) / np.sqrt(difference.shape[1])
        near = self.cautious <= self.cautious[self.best] + NEAR
        return np.flatnonzero(near & (difference.mean(axis=1) <= APART * error))


def agreeing(candidates: Sequence[Candidate], judgement: Judgement) -> np.ndarray:
    """Which candidates make the model: those that cannot be told from the best one; biased ones, if that is biased."""
    chosen = judgement.as_good()
    if candidates[judgement.best].biased:
        return chosen
    return np.array([candidate for candidate in chosen if not candidates[candidate].biased])


def consensus(candidates: Sequence[Candidate], chosen: np.ndarray) -> np.ndarray:
    """The mean of the chosen weights by families, each with its share.

    Risk is convex, so that of a mean is at most the mean of risks; and different models err in different ways.
    """
    shares = {candidates[c].family: candidates[c].share for c in sorted(chosen)}
    means = [np.mean([candidates[c].weights for c in chosen if candidates[c].family == f], axis=0) for f in shares]
    return np.average(means, axis=0, weights=list(shares.values()))


def estimated_losses(cells: Cells, seen: Described, weights: np.ndarray) -> np.ndarray:
    r"""For each example an estimate of its squared error under whole-row weights, summed over outputs.

    Unbiased, for cells that the weights were not learnt from: :math:`\widehat{\langle w, x\rangle^2} -
    2 y \widehat{\langle w, x\rangle} + y^2`, each term weighed by the chance that its cells had of being seen. Where
    the chance is not known, how often an attribute was seen stands for it.
    """
    starts, attributes = cells.starts, cells.attributes
    often = np.bincount(attributes, minlength=cells.n_attributes) / max(cells.n_examples, 1)
    chances = np.where(np.isnan(cells.probabilities), often[attributes], cells.probabilities.astype(np.float64))
    distances = cells.values - seen.means[attributes]
    sizes = np.diff(starts)
    expected = np.concatenate([[0.0], np.cumsum(chances)])
    alone = np.diff(expected[starts])  # estimates the sum of squared chances over all attributes
    pair_share = sizes * (sizes - 1.0) / np.maximum(sizes.astype(float) ** 2 - alone, 1e-9)
    residuals = cells.targets - seen.target_means
    losses, estimates = np.zeros(cells.n_examples), np.empty((cells.n_examples, 2))
    for output in range(cells.n_outputs):
        column = np.ascontiguousarray(weights[:, output])
        predict_products(starts, attributes, distances, column, chances, pair_share, estimates)
        y = residuals[:, output]
        losses += estimates[:, 1] - 2.0 * y * estimates[:, 0] + y * y
    return losses


def judge(cells: Cells, families: Sequence[Family]) -> Judgement:
    """Cross-validate all candidates of all families. Cells are to come in :meth:`~sparing.cells.Cells.in_order`."""
    folds, tried = (FOLDS, FOLDS) if len(cells) <= MANY else (3, 1)
    fold = np.arange(cells.n_examples) % folds
    losses = []
    for held_out in range(tried):
        learnt, judged = cells.take(fold != held_out), cells.take(fold == held_out)
        seen = describe(learnt)
        candidates = [candidate for family in families for candidate in family(learnt, seen)]
        losses.append([estimated_losses(judged, seen, candidate.weights) for candidate in candidates])
    all_losses = np.concatenate(losses, axis=1)
    scale = float(cells.targets.var(axis=0).sum())
    return Judgement(all_losses / (scale if scale > 0 else 1.0))


def judged(candidates: Sequence[Candidate], judgement: Judgement) -> dict[str, Any]:
    """What was chosen, out of what, and why."""
    chosen = agreeing(candidates, judgement).tolist()
    facts, best = facts_of(candidates, judgement, judgement.best, chosen), candidates[judgement.best]
    facts["why"] = (
        f"of {len(candidates)} candidates {best.family} ({best.setting}) had the least estimated risk plus two "
        f"standard errors, {facts['risk']:.3g} ± {facts['risk_error']:.2g} of the targets' variance; the mean of the "
        f"{len(chosen)} that cannot be told from it is taken ({', '.join(facts['families'])})"
    )
    return facts


def facts_of(candidates: Sequence[Candidate], judgement: Judgement, best: int, chosen: Sequence[int]) -> dict[str, Any]:
    """The best candidate, its estimated risk, and all of them with theirs."""
    risks, errors = judgement.risks.tolist(), judgement.errors.tolist()
    return {
        "setting": f"{candidates[best].family}: {candidates[best].setting}",
        "risk": risks[best],
        "risk_error": errors[best],
        "families": sorted({candidates[c].family for c in chosen}),
        "candidates": [
            {
                "family": c.family,
                "setting": c.setting,
                "risk": risks[at],
                "risk_error": errors[at],
                "used": at in chosen,
            }
            for at, c in enumerate(candidates)
        ],
    }
