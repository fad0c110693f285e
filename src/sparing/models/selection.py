"""Which model to take: what competes, one judge, one rule, and every threshold with the measurement that set it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparing.cells import Cells
from sparing.models import families
from sparing.models.bases import LINES, Kind, transformed
from sparing.models.calibration import HeldOut
from sparing.models.cross_validation import (
    FOLDS,
    STANDARD_ERRORS,
    CrossValidation,
    Split,
    cross_validate,
    judgeable,
    splits,
    worse,
)
from sparing.models.families import Family, Size
from sparing.models.gaussian import FittedModel, fitted_model
from sparing.models.honest_risk import seen_share, whole_row_risk
from sparing.models.pairwise import USUAL_RIDGE, RepairedCovariance
from sparing.models.scaling import at_any_scale
from sparing.models.summary import Summary, pair_moments, summarize
from sparing.models.trees import BoostedTrees, boosting_seconds, rows_with_holes
from sparing.progress import Progress, Stages, unnoticed

# Thresholds ----------------------------------------------------------------------------------------------------------

FEWEST = 10  # examples that can be judged
FAR = 3.0  # log-likelihood ratios of an example are clipped there
LEAST_SHARE = 0.1  # that boosted trees must deserve in a first split to be tried in all
AFFORDABLE = 10.0  # estimated seconds of one fit, up to which a family competes
SCOUTING = 15  # EM iterations, after which kinds of curves are compared
SCOUTS, JUDGES = 2_000, 20_000  # examples at most by which kinds of curves, and candidates, are compared
QUICK_CURVES = 0.5  # estimated seconds of one fit to scouts, up to which a kind of curves competes
TREES_JUDGED = 2  # splits by which the share of boosted trees is found
CALIBRATED = 10_000_000  # values of held-out rows, holes included, by which variances are calibrated
QUICK = 1.0  # estimated seconds of a pairwise solve, up to which the next looks follow it, else a small factor model

CURVES = (Kind("winsorized", 1), Kind("normal scores", 1), Kind("winsorized", 3), Kind("normal scores", 3))


def affordable_families(cells: Cells, penalty: str = "ridge") -> list[Family]:
    """The families that compete for these cells: all whose cost is affordable, or else the cheapest.

    Factor models compete where covariances near them would take too long: beside those they took a third of the time,
    and errors on ordinary tables were 1 % smaller without them.
    """
    size = Size.of(cells)
    near, factor = families.near_factors(penalty), families.factor(penalty)
    competing = [near if near.seconds(size) <= AFFORDABLE else factor, families.pairwise_moments(penalty)]
    if penalty == "ridge":
        competing = [families.less_and_less_shrunk(), *competing, families.mean_imputed()]
    else:
        competing = [families.full_covariance(penalty), *competing]
    found = [family for family in competing if family.seconds(size) <= AFFORDABLE]
    return found or [min(competing, key=lambda family: family.seconds(size))]


def affordable_curves(cells: Cells, levels: np.ndarray | None = None) -> list[Kind]:
    """The kinds of curves that can be tried on these cells."""
    scout, few = families.full_covariance("ridge"), thinned(cells, SCOUTS)
    quick = [kind for kind in CURVES if scout.seconds(_curved(kind, few, levels)) <= QUICK_CURVES]
    return [kind for kind in quick if scout.seconds(_curved(kind, cells, levels)) <= AFFORDABLE]


def _curved(kind: Kind | None, cells: Cells, levels: np.ndarray | None = None) -> Size:
    """The size of a fit to functions of this kind; categories have as many functions as there are common ones."""
    if levels is not None:
        return Size.of(transformed(kind, levels, cells)[1])
    size, functions = Size.of(cells), 1 if kind is None else 1 + kind.hinges
    return Size(size.attributes * functions, size.cells * functions, size.cubes * functions**3)


def thinned(cells: Cells, most: int) -> Cells:
    """As many examples at most, evenly spaced: enough to choose by, where there are very many."""
    return cells if cells.n_examples <= most else cells.take(slice(None, None, -(-cells.n_examples // most)))


def best_kind(
    parts: Sequence[Split],
    kinds: Sequence[Kind],
    levels: np.ndarray | None = None,
    step: Callable[[], None] = lambda: None,
) -> Kind | None:
    """Lines (None) or curves, whichever predicts held-out targets best; lines where that is not clear."""
    scout = [families.full_covariance("ridge", iterations=SCOUTING)]
    lines = cross_validate(parts, scout, None, levels, step)
    tried = {kind: cross_validate(parts, scout, kind, levels, step) for kind in kinds}
    best = min(kinds, key=lambda kind: tried[kind].losses.mean())
    return best if worse(lines.losses[0], tried[best].losses[0]) else None


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
    """Weights by which the next looks go: a quick solve, as choosing a ridge would take several."""
    if families.pairwise_moments("ridge").seconds(Size.of(cells)) <= QUICK:
        repaired = RepairedCovariance(pair_moments(cells, summary), summary, "looks")
        return repaired.ridge(USUAL_RIDGE * max(-repaired.values[0], 0.01 * repaired.noise))  # bold: only looks follow
    return families.factor("ridge", families.RANKS[:1], families.STOPS[1:2]).candidates(cells, summary)[0].weights


@at_any_scale
def select(
    cells: Cells,
    competing: Sequence[Family],
    features: str = "linear",
    levels: np.ndarray | None = None,
    progress: Progress = unnoticed,
) -> FittedModel:
    """The average of the candidates that predict held-out targets best from what was seen, fitted to all examples.

    The mean target always competes. ``features`` are "linear", "additive" (lines or curves, whichever predict better),
    or "auto" (the same, averaged with boosted trees where they help). ``levels`` is the number of categories of each
    attribute, 0 for a numeric one; ``progress`` is told which parts of the work are done.
    """
    competing = [*competing, families.mean_target()]
    if cells.n_examples < FEWEST:
        return usual_model(cells, competing[0], "there are too few examples to choose by", levels)
    cells = cells.only(summarize(cells).known)
    kinds = [] if features == "linear" else affordable_curves(cells, levels)
    few = thinned(cells, JUDGES)
    parts = splits(few, seconds := sum(family.seconds(Size.of(few)) for family in competing))
    stages = Stages(progress, _costs(cells, seconds * len(parts), kinds, features))
    scouted = stages.steps("curves", FOLDS * (1 + len(kinds)))
    kind = best_kind(splits(thinned(cells, SCOUTS), 0.0), kinds, levels, scouted) if kinds else None
    judged = cross_validate(parts, competing, kind, levels, stages.steps("families", len(parts) * len(competing)))
    best, chosen = judged.among(_allowed(judged, competing))
    basis, expanded, summary = transformed(kind, levels, cells)
    if sum(competing[judged.names[c][0]].seconds(Size.of(expanded)) for c in chosen) > AFFORDABLE:
        chosen = [best]
    found = {at: competing[at].candidates(expanded, summary) for at in {judged.names[c][0] for c in chosen}}
    named = {(at, c.setting): c for at, group in found.items() for c in group}
    weights = np.mean([named[judged.names[c]].weights for c in chosen], axis=0)
    model = fitted_model(summary, weights, named[judged.names[best]], {}, basis)
    stages.steps("fit", 1)()
    ours = held_out = judged.predictions[chosen].mean(axis=0)
    if features == "auto":
        step = stages.steps("trees", TREES_JUDGED + 1)
        model, held_out = with_trees(model, cells, parts, judged, ours, levels, step)
    model = calibrated(model, summary, parts, judged.targets, held_out)
    if features != "linear":
        model = replace(model, target_range=(cells.targets.min(axis=0), cells.targets.max(axis=0)))
    share = seen_share(judgeable(thinned(expanded, SCOUTS)), summary, model)
    risk = whole_row_risk(judged.targets, ours, held_out, share)
    stages.finish()
    return replace(model, facts=_explained(judged, competing, best, chosen, model) | risk.facts)


def _costs(cells: Cells, judging: float, kinds: Sequence[Kind], features: str) -> dict[str, float]:
    """Estimated seconds of the stages of a choice, given those of judging families on lines."""
    scout, few = families.full_covariance("ridge", SCOUTING), thinned(cells, SCOUTS)
    trees = (TREES_JUDGED + 1) * boosting_seconds(cells) if features == "auto" else 0.0
    return {
        "curves": FOLDS * sum(scout.seconds(_curved(kind, few)) for kind in (None, *kinds)) if kinds else 0.0,
        "families": judging,
        "fit": scout.seconds(Size.of(cells)),
        "trees": trees if trees <= (TREES_JUDGED + 1) * AFFORDABLE else 0.0,
    }


def _allowed(judged: CrossValidation, competing: Sequence[Family]) -> list[int]:
    """The candidates among which the choice is made.

    What was seen of a row is predicted well by regressions on mean-imputed rows, which are wrong for whole rows unless
    attributes are uncorrelated. So they are left out where some other model makes held-out cells likelier than that;
    log-likelihood ratios are clipped, or few examples far out would decide. The mean target is left out, unless nothing
    is clearly better.
    """
    *models, mean_target = range(len(judged.names))
    imputed = [c for c in models if competing[judged.names[c][0]].uncorrelated]
    others = [c for c in models if c not in imputed]
    ratios = np.clip(judged.log_likelihoods - judged.log_likelihoods[mean_target], -FAR, FAR)
    likeliest = max(others, key=lambda c: ratios[c].mean())
    if worse(ratios[likeliest], ratios[mean_target]):
        models = others
    best = min(models, key=lambda c: judged.losses[c].mean())
    return models if worse(judged.losses[mean_target], judged.losses[best]) else [mean_target]


def with_trees(
    model: FittedModel,
    cells: Cells,
    parts: Sequence[Split],
    judged: CrossValidation,
    ours: np.ndarray,
    levels: np.ndarray | None = None,
    step: Callable[[], None] = lambda: None,
) -> tuple[FittedModel, np.ndarray]:
    """The model averaged with boosted trees, if that predicts held-out targets better: their share is regressed.

    With it, what is predicted for held-out examples in place of ``ours``, as far as that is known. Trees see what
    columns do together. Where they add nothing, a first split says so.
    """
    if boosting_seconds(cells) > AFFORDABLE or not all(len(learnt) for learnt, _ in parts):
        return model, ours
    done = 0
    residuals, moves = np.empty((2, 0, cells.n_outputs))
    for (learnt, held_out), summary in zip(parts[:TREES_JUDGED], judged.summaries, strict=False):
        theirs = BoostedTrees(learnt, levels).predict(rows_with_holes(held_out))
        step()
        here = slice(done, done + held_out.n_examples)
        roots = np.sqrt(judged.examples[here, None])
        move = roots * ((theirs - summary.target_means) / summary.target_spreads - ours[here])
        residual = roots * (judged.targets[here] - ours[here])
        residuals, moves = np.vstack([residuals, residual]), np.vstack([moves, move])
        share = float(np.clip(np.sum(residuals * moves) / max(np.sum(moves**2), np.finfo(float).tiny), 0.0, 1.0))
        if share < LEAST_SHARE:
            return model, ours
        done = here.stop
    gains = np.mean(residuals**2 - (residuals - share * moves) ** 2, axis=1)
    if not worse(gains, 0.0 * gains):
        return model, ours
    moves /= np.sqrt(judged.examples[:done, None])
    return replace(model, trees=BoostedTrees(cells, levels), trees_share=share), ours[:done] + share * moves


def calibrated(
    model: FittedModel, summary: Summary, parts: Sequence[Split], targets: np.ndarray, predictions: np.ndarray
) -> FittedModel:
    """The model with its variances made those of held-out errors: standardized targets less predictions.

    What the pattern of an example leaves unexplained is taken from the model itself, not from those of the splits.
    """
    room = max(parts[0].judged.n_attributes, parts[0].judged.n_outputs ** 2)
    some = np.arange(len(predictions))[:: -(-len(predictions) * room // CALIBRATED)]
    rows = rows_with_holes(Cells.merge(held_out for _, held_out in parts).take(some))
    means, spreads = summary.target_means, summary.target_spreads
    held_out = HeldOut(
        means + spreads * targets[some],
        means + spreads * predictions[some],
        replace(model, trees=None).from_known(rows).unexplained,
    )
    learnt = model.calibration.learnt(model.conditional.total, held_out)
    return replace(model, calibration=learnt)


def _explained(judged, competing, best: int, chosen: list[int], model: FittedModel) -> dict[str, Any]:
    """What was chosen, out of what, and why."""
    names = [(competing[at].name, setting) for at, setting in judged.names]
    family, setting = names[best]
    used = sorted({names[c][0] for c in chosen})
    kind = LINES if model.basis is None else model.basis.kind
    curves = "lines" if kind == LINES else f"curves ({kind.name})"
    others = f"the average of the {len(chosen)} within {STANDARD_ERRORS:g} standard error of it is taken"
    trees = f", averaged with boosted trees, whose share is {model.trees_share:.2f}" if model.trees else ""
    why = (
        f"of {len(names)} candidates with {curves}, {family} ({setting}) predicts held-out targets best from what was "
        f"seen of their examples; {others if len(chosen) > 1 else 'no other is near it'} ({', '.join(used)}){trees}"
    )
    excess = judged.losses - judged.losses[best]
    candidates = [
        {
            "family": name,
            "setting": setting,
            "error": float(judged.losses[c].mean()),
            "excess": float(excess[c].mean()),
            "excess_error": float(excess[c].std() / np.sqrt(excess.shape[1])),
            "used": c in chosen,
        }
        for c, (name, setting) in enumerate(names)
    ]
    facts = {"setting": f"{family}: {setting}", "families": used, "why": why}
    features = {"features": curves, "trees_share": model.trees_share}
    return facts | features | {"candidates": candidates}
