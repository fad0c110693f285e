"""Model selection: the competing families, one rule, and every threshold with the measurement that set it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sparing.cells import Cells
from sparing.models import families
from sparing.models.bases import Kind, transformed
from sparing.models.calibration import HeldOut
from sparing.models.cross_validation import (
    CrossValidation,
    Split,
    cross_validate,
    judgeable,
    splits,
    worse,
)
from sparing.models.explained import explained
from sparing.models.families import Family, Size
from sparing.models.folds import FEWEST, FOLDS, thinned
from sparing.models.gaussian import Candidate, FittedModel, fitted_model
from sparing.models.honest_risk import seen_share, whole_row_risk
from sparing.models.pair_moments import pair_moments
from sparing.models.pairwise import USUAL_RIDGE, RepairedCovariance
from sparing.models.scaling import at_any_scale
from sparing.models.shrinkage import shrinkage
from sparing.models.summary import Summary, summarize
from sparing.models.tree_share import averaged_with_trees
from sparing.models.trees import JUDGED, boosting_seconds, rows_with_holes
from sparing.progress import Progress, Stages, unnoticed

# Thresholds ----------------------------------------------------------------------------------------------------------

AFFORDABLE = 10.0  # estimated seconds of one fit up to which a family competes
SCOUTING = 15  # EM iterations after which kinds of curves are compared, and weights used for plans
SCOUTS = 2_000  # maximum number of examples on which kinds of curves are compared
QUICK = 0.5  # estimated seconds of so many iterations, up to which a kind of curves competes and plans use them
CALIBRATED = 10_000_000  # maximum number of values, including holes, of held-out rows for calibration
QUICK_PAIRS = 1.0  # estimated seconds of a pairwise solve up to which other plans use it, else a small factor model

CURVES = (Kind("winsorized", 1), Kind("normal scores", 1), Kind("winsorized", 3), Kind("normal scores", 3))


def affordable_families(cells: Cells, penalty: str = "ridge") -> list[Family]:
    """The families that compete for these cells: all whose cost is affordable, or else the cheapest.

    Factor models and, for ridge, pairwise moments compete only if covariances would take too long; otherwise they did
    not reduce errors on ordinary tables.
    """
    size, near, ridge = Size.of(cells), families.near_factors(penalty), penalty == "ridge"
    wide = near.seconds(size) > AFFORDABLE
    covariances = [families.less_and_less_shrunk() if ridge else families.full_covariance(penalty), near]
    competing = [families.factor(penalty)] if wide else covariances
    if wide or not ridge:
        competing.append(families.pairwise_moments(penalty))
    if ridge:
        competing.append(families.mean_imputed())
    found = [family for family in competing if family.seconds(size) <= AFFORDABLE]
    return found or [min(competing, key=lambda family: family.seconds(size))]


def affordable_curves(cells: Cells, levels: np.ndarray | None = None) -> list[Kind]:
    """The kinds of curves that can be tried on these cells."""
    scout, few = families.full_covariance("ridge"), thinned(cells, SCOUTS)
    quick = [kind for kind in CURVES if scout.seconds(_curved(kind, few, levels)) <= QUICK]
    return [kind for kind in quick if scout.seconds(_curved(kind, cells, levels)) <= AFFORDABLE]


def _curved(kind: Kind | None, cells: Cells, levels: np.ndarray | None = None) -> Size:
    """The size of a fit to functions of this kind; a categorical column has one function per common category."""
    if levels is not None:
        return Size.of(transformed(kind, levels, cells)[1])
    size, functions = Size.of(cells), 1 if kind is None else 1 + kind.hinges
    return Size(size.attributes * functions, size.cells * functions, size.cubes * functions**3)


def best_kind(
    cells: Cells,
    kinds: Sequence[Kind],
    levels: np.ndarray | None = None,
    step: Callable[[], None] = lambda: None,
    parts: Sequence[Split] = (),
) -> Kind | None:
    """Lines (None) or curves, whichever predicts held-out targets best; lines where that is not clear.

    Transforms are compared with the fewest hinges; more hinges are tried with the better one. ``parts`` are the splits
    of the cells, if they are known; they keep the functions of the chosen kind.
    """
    scout, parts = [families.full_covariance("ridge", iterations=SCOUTING)], parts or splits(cells, 0.0)

    def judged(kind):
        return cross_validate(parts, scout, kind, levels, step)

    lines, transforms = judged(None), {kind.transform for kind in kinds}
    tried: dict[Kind, CrossValidation] = {}
    for hinges in sorted({kind.hinges for kind in kinds}):
        tried |= {kind: judged(kind) for kind in kinds if kind.hinges == hinges and kind.transform in transforms}
        best = min(tried, key=lambda kind: tried[kind].losses.mean())
        transforms = {best.transform}
    chosen = best if worse(lines.losses[0], tried[best].losses[0], lines.blocks) else None
    for split in parts:
        split.forget_all_but(chosen)
    return chosen


@at_any_scale
def usual_model(
    cells: Cells, family: Family, why: str = "it was asked for", levels: np.ndarray | None = None
) -> FittedModel:
    """The usual candidate of a family."""
    basis, cells, summary = transformed(None, levels, cells)
    candidate = family.candidates(cells, summary)[family.usual]
    setting = f"{family.name}: {candidate.setting}"
    facts = {"setting": setting, "families": [family.name], "why": why}
    return fitted_model(summary, candidate.weights, candidate, facts, basis)


def planning_weights(cells: Cells, summary: Summary) -> np.ndarray:
    """Weights for the next plan, from one quick fit without a choice of its setting."""
    scout, size = families.full_covariance("ridge", SCOUTING), Size.of(cells)
    if scout.seconds(size) <= QUICK:
        return scout.candidates(cells, summary)[scout.usual].weights
    if families.pairwise_moments("ridge").seconds(size) <= QUICK_PAIRS:
        repaired = RepairedCovariance(pair_moments(cells, summary), summary, "looks")
        return repaired.ridge(USUAL_RIDGE * max(-repaired.values[0], 0.01 * repaired.noise))  # only plans use it
    return families.factor("ridge", families.RANKS[:1], families.STOPS[1:2]).candidates(cells, summary)[0].weights


@at_any_scale
def select(
    cells: Cells,
    competing: Sequence[Family],
    features: str = "linear",
    levels: np.ndarray | None = None,
    progress: Progress = unnoticed,
    classes: bool = False,
) -> FittedModel:
    """The average of the candidates that describe held-out examples best, fitted to all examples.

    They predict held-out targets well from what was seen, and their correlations fit held-out cells
    (:meth:`CrossValidation.among`). Predictions are shrunk toward the mean target as far as held-out examples suggest,
    in the extreme to the mean target itself (:mod:`sparing.models.shrinkage`).

    ``features`` are "linear", "additive" (lines or curves, whichever predict better), or "auto" (the same, averaged
    with boosted trees if they help). ``levels`` is the number of categories of each attribute, 0 for a numeric one;
    ``progress`` is called with fractions of the work. ``classes`` says that targets are indicators of classes.
    """
    competing = [*competing, families.mean_target()]
    if cells.n_examples < FEWEST:
        return usual_model(cells, competing[0], "there are too few examples to choose by", levels)
    cells = cells.only(summarize(cells).known)
    kinds = [] if features == "linear" else affordable_curves(cells, levels)
    few = thinned(cells)
    parts = splits(few, seconds := sum(family.seconds(Size.of(few)) for family in competing))
    stages = Stages(progress, _costs(cells, seconds * len(parts), kinds, features))
    compared = len({kind.transform for kind in kinds}) + len({kind.hinges for kind in kinds})  # as in best_kind
    scouted = stages.steps("curves", FOLDS * max(compared, 1))
    scouts = thinned(cells, SCOUTS)
    shared = parts if scouts is few and len(parts) == FOLDS else []
    kind = best_kind(scouts, kinds, levels, scouted, shared) if kinds else None
    basis, expanded, summary = transformed(kind, levels, cells)
    step = stages.steps("families", len(parts) * len(competing))
    judged = cross_validate(parts, competing, kind, levels, step)
    best, chosen = judged.among(range(len(judged.names) - 1))
    factor = shrinkage(judged, best, chosen)
    if sum(competing[judged.names[c][0]].seconds(Size.of(expanded)) for c in chosen) > AFFORDABLE:
        chosen = [best]
    named = _fitted(competing, [judged.names[c] for c in chosen], expanded, summary)
    weights = factor * np.mean([candidate.weights for candidate in named.values()], axis=0)
    model = fitted_model(summary, weights, named[judged.names[best]], {}, basis)
    stages.steps("fit", 1)()
    ours = held_out = factor * judged.held_out(chosen)
    gains = np.zeros(ours.shape[1])
    share = seen_share(judgeable(thinned(expanded, SCOUTS)), summary, model)
    if features == "auto" and boosting_seconds(cells) <= AFFORDABLE:
        step = stages.steps("trees", JUDGED + 1)
        model, held_out, gains = averaged_with_trees(model, cells, parts, judged, ours, best, levels, classes, step)
    risk = whole_row_risk(judged.targets, ours[0], gains, share, judged.blocks)
    model = calibrated(model, parts, [fits.summary for fits in judged.fits], held_out, 1.0 - risk.mean)
    if features != "linear":
        model = replace(model, target_range=(cells.targets.min(axis=0), cells.targets.max(axis=0)))
    stages.finish()
    return replace(model, facts=explained(judged, competing, best, chosen, factor, model) | risk.facts)


def _fitted(
    competing: Sequence[Family], names: Sequence[tuple[int, str]], cells: Cells, summary: Summary
) -> dict[tuple[int, str], Candidate]:
    """The candidates of these names, fitted to all cells; each name is the number of a family and a setting."""
    used = {at: {setting for family, setting in names if family == at} for at, _ in names}
    found = {
        (at, c.setting): c for at, settings in used.items() for c in competing[at].fitted(cells, summary, settings)
    }
    return {name: found[name] for name in names}


def _costs(cells: Cells, judging: float, kinds: Sequence[Kind], features: str) -> dict[str, float]:
    """Estimated seconds of the stages of a choice, given the seconds that judging families on lines takes."""
    scout, few = families.full_covariance("ridge", SCOUTING), thinned(cells, SCOUTS) if kinds else cells
    trees = boosting_seconds(cells) if features == "auto" else 0.0
    return {
        "curves": FOLDS * sum(scout.seconds(_curved(kind, few)) for kind in (None, *kinds)) if kinds else 0.0,
        "families": judging,
        "fit": scout.seconds(Size.of(cells)),
        "trees": (JUDGED + 1) * trees if trees <= AFFORDABLE else 0.0,
    }


def calibrated(
    model: FittedModel, parts: Sequence[Split], summaries: Sequence[Summary], predictions: np.ndarray, expected: float
) -> FittedModel:
    """The model with variances calibrated by held-out errors; predictions are standardized as in their splits.

    Predictions are from what was seen of examples, and with a part of it hidden, because probabilities of classes must
    also be right if less is known, as in visits. The variance that a pattern of values leaves unexplained is the
    model's own.
    """
    n, sizes = predictions.shape[1], [split.judged.n_examples for split in parts]
    some = slice(0, n, -(-n * max(parts[0].judged.n_attributes, model.intercept.size**2) // CALIBRATED))
    means, spreads = (
        np.repeat([getattr(summary, of) for summary in summaries], sizes, axis=0)[some]
        for of in ("target_means", "target_spreads")
    )
    stores = [split.judged for split in parts], [split.hidden for split in parts]
    both = Cells.merge([Cells.merge(store).take(some) for store in stores])
    unexplained = replace(model, trees=None).from_known(rows_with_holes(both)).unexplained
    found = HeldOut(both.targets, np.concatenate(means + spreads * predictions[:, some]), unexplained, both.weights)
    calibration = model.calibration.learnt(
        model.conditional.total, found, len(means), expected, not model.attributes.is_uncorrelated
    )
    return replace(model, calibration=calibration)
