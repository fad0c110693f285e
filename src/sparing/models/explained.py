"""The facts of a report: which model was chosen, among which candidates, and why."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparing.models.blocks import standard_error
from sparing.models.cross_validation import STANDARD_ERRORS, CrossValidation
from sparing.models.curves import LINES
from sparing.models.families import Family
from sparing.models.gaussian import FittedModel


def explained(
    judged: CrossValidation,
    competing: Sequence[Family],
    best: int,
    chosen: list[int],
    factor: np.ndarray,
    model: FittedModel,
) -> dict[str, Any]:
    """Which model was chosen, among which candidates, and why."""
    names = [(competing[at].name, setting) for at, setting in judged.names]
    family, setting = names[best]
    used = sorted({names[c][0] for c in chosen})
    kind = LINES if model.basis is None else model.basis.kind
    curves = "lines" if kind == LINES else f"curves ({kind.name})"
    more = f"{len(chosen) - 1} more within {STANDARD_ERRORS:g} standard error of it ({', '.join(used)})"
    averaged = f"; it is averaged with {more}" if len(chosen) > 1 else ""
    shares = {"trees_share": model.trees_share, "trees_share_in_part": model.trees_share_in_part}
    shown = f"{model.trees_share:.2f} (rows known in part: {model.trees_share_in_part:.2f})"
    trees = f", averaged with boosted trees, whose share is {shown}" if model.trees else ""
    why = (
        f"of {len(names)} models with {curves}, {family} ({setting}) predicts held-out targets best among those whose "
        f"correlations fit held-out values{averaged}{_shrunk(factor)}{trees}"
    )
    excess = judged.losses - judged.losses[best]
    candidates = [
        {
            "family": name,
            "setting": setting,
            "error": float(judged.losses[c].mean()),
            "excess": float(excess[c].mean()),
            "excess_error": float(standard_error(excess[c], judged.blocks)),
            "used": c in chosen,
        }
        for c, (name, setting) in enumerate(names)
    ]
    facts = {"setting": f"{family}: {setting}", "families": used, "why": why}
    return facts | {"features": curves, "shrinkage": factor.tolist()} | shares | {"candidates": candidates}


def _shrunk(factor: np.ndarray) -> str:
    """How predictions are shrunk before they are used, in words."""
    if not factor.any():
        return ", but held-out targets do not clearly follow its predictions: the mean target is used"
    if factor.min() >= 0.95:  # not worth a word
        return ""
    return f", shrunk toward the mean target (factor {', '.join(f'{part:.2f}' for part in factor)})"
