"""The algorithms that can be compared, in one registry; a new learner is one more line."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sparing import learners
from sparing.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, PURPLE, RED, SKY


class Setting(NamedTuple):
    """Arguments for making an algorithm. ``strength`` multiplies its step sizes, or divides its penalty."""

    n_attributes: int
    budget: float  # looks at each example; where attributes have prices, money
    radius: float
    strength: float
    second_moments: np.ndarray
    norm: float  # root mean square of the 2-norm of an example; for lasso, of its largest attribute
    target_norm: float  # root mean squared target
    seed: int
    prices: dict[str, Any] = {}  # costs and groups, where attributes have them  # noqa: RUF012

    @property
    def whole(self) -> dict[str, Any]:
        """Options of a learner that reads whole rows: the step of its theorem times ``strength``."""
        size = {"radius": self.radius, "norm_bound": self.norm}
        return size | {"step_scale": self.strength, "random_state": self.seed}

    @property
    def few(self) -> dict[str, Any]:
        """Options of a learner that reads a few attributes, half of them for the inner product."""
        return self.whole | {"budget": self.budget, "split": "even"}


@dataclass(frozen=True)
class Algorithm:
    """One line of the registry: how to make it, how to draw it, and where the search for its settings starts.

    ``radii`` are multiples of the norm of an offline ridge solution. An algorithm without radii needs no search: it
    chooses its settings itself, by cross-validation on what it has bought.
    """

    label: str
    penalty: str
    make: Callable[[Setting], Any]
    colour: str
    marker: str
    whole_rows: bool = False
    strengths: tuple[float, float] = (4.0, 16.0)
    radii: tuple[float, ...] = (0.5, 1.0)

    @property
    def takes_prices(self) -> bool:
        """Whether it can stay within a sum of money: keeping learners can, and so can those on whole rows."""
        return self.whole_rows or not self.radii

    @property
    def style(self) -> dict[str, Any]:
        """Label, colour, marker and line in pictures. The lasso family is dashed with hollow markers.

        No two algorithms share colour, marker and line, so that they are distinguishable without colours.
        """
        label = f"{self.label} (whole rows)" if self.whole_rows else self.label
        return {"label": label, "color": self.colour, "marker": self.marker, **LINES[self.penalty]}


LINES: dict[str, dict[str, Any]] = {
    "ridge": {"linestyle": "-"},
    "lasso": {"linestyle": "--", "markerfacecolor": "white"},
}
_few_ridge = partial(Algorithm, penalty="ridge")
_few_lasso = partial(Algorithm, penalty="lasso", strengths=(16.0, 64.0), radii=(0.25, 1.0))
_keeping = partial(Algorithm, marker="*", radii=())
_offline = partial(Algorithm, whole_rows=True, radii=())


def _known(learner, s: Setting):
    return learner(s.n_attributes, second_moments=s.second_moments, inner="improved", **s.few)


def _two_phased(learner, s: Setting):
    """A two-phased learner; for lasso with the paper's p, which bounds every draw: see benchmarks/two_phased.py."""
    inner = "improved" if learner.penalty == "ridge" else "paper"
    return learner(s.n_attributes, inner=inner, **s.few)


def _aer(s: Setting):
    few = {name: s.few[name] for name in ("budget", "radius", "random_state")}
    return learners.AER(s.n_attributes, alpha=s.norm**2 / s.strength, **few)


def _ridge(s: Setting):
    from sklearn.linear_model import RidgeCV

    return RidgeCV(alphas=s.norm**2 * np.logspace(-4, 3, 15), fit_intercept=False)


def _lasso(s: Setting):
    from sklearn.linear_model import LassoCV

    alphas = s.norm * s.target_norm * np.logspace(0, -3, 16)
    return LassoCV(alphas=alphas, cv=3, fit_intercept=False, max_iter=2000, tol=1e-3)


class _Trees:
    """Boosted trees on whole rows, dense or sparse."""

    def fit(self, X, y):
        from sklearn.ensemble import HistGradientBoostingRegressor

        self._model = HistGradientBoostingRegressor(early_stopping=False, random_state=0).fit(_dense(X), y)

    def predict(self, X):
        return self._model.predict(_dense(X))


def _dense(X) -> np.ndarray:
    return X.toarray() if hasattr(X, "toarray") else X


def _keep(learner, s: Setting, **options):
    return learner(s.n_attributes, budget=s.budget, random_state=s.seed, **s.prices, **options)


ALGORITHMS: dict[str, Algorithm] = {
    "AutoLearner": _keeping("keeping all cells", "ridge", make=partial(_keep, learners.AutoLearner), colour=PURPLE),
    "AutoCurves": _keeping(
        "keeping all cells, curves",
        "ridge",
        make=partial(_keep, learners.AutoLearner, features="auto"),
        colour=PINK,
        marker="p",
    ),
    "PairwiseMoments": _keeping("pairwise moments", "ridge", make=partial(_keep, learners.PairwiseMoments), colour=SKY),
    "FactorModel": _keeping(
        "factor model", "ridge", make=partial(_keep, learners.FactorModel), colour=PINK, marker="X"
    ),
    "MeanImputed": _keeping(
        "mean-imputed ridge",
        "ridge",
        make=partial(_keep, learners.MeanImputed, design="uniform"),
        colour=GREY,
        marker="P",
    ),
    "AutoLasso": _keeping(
        "keeping all cells, lasso", "lasso", make=partial(_keep, learners.AutoLearner, penalty="lasso"), colour=PURPLE
    ),
    "AERR": _few_ridge("AERR", make=lambda s: learners.AERR(s.n_attributes, **s.few), colour=RED, marker="s"),
    "DDAERR": _few_ridge("DDAERR", make=partial(_known, learners.DDAERR), colour=BLUE, marker="o"),
    "TwoPhasedDDAERR": _few_ridge(
        "two-phased DDAERR", make=partial(_two_phased, learners.TwoPhasedDDAERR), colour=GREEN, marker="D"
    ),
    "OnlineRidge": _few_ridge(
        "online ridge",
        make=lambda s: learners.OnlineRidge(s.n_attributes, **s.whole),
        colour=ORANGE,
        marker="^",
        whole_rows=True,
    ),
    "Ridge": _offline("offline ridge", "ridge", make=_ridge, colour=BLACK, marker="v"),
    "Trees": _offline("boosted trees", "ridge", make=lambda s: _Trees(), colour=SKY, marker="<"),
    "AELR": _few_lasso("AELR", make=lambda s: learners.AELR(s.n_attributes, **s.few), colour=RED, marker="s"),
    "DDAELR": _few_lasso("DDAELR", make=partial(_known, learners.DDAELR), colour=BLUE, marker="o"),
    "TwoPhasedDDAELR": _few_lasso(
        "two-phased DDAELR", make=partial(_two_phased, learners.TwoPhasedDDAELR), colour=GREEN, marker="D"
    ),
    "OnlineLasso": _few_lasso(
        "online lasso",
        make=lambda s: learners.OnlineLasso(s.n_attributes, **s.whole),
        colour=ORANGE,
        marker="^",
        whole_rows=True,
    ),
    "Lasso": _offline("offline lasso", "lasso", make=_lasso, colour=BLACK, marker="v"),
    "AER": _few_lasso("AER", make=_aer, colour=PINK, marker="h"),
}
LINE_UPS = {
    "ridge": (
        "AutoCurves",
        "AutoLearner",
        "MeanImputed",
        "AERR",
        "DDAERR",
        "TwoPhasedDDAERR",
        "OnlineRidge",
        "Ridge",
        "Trees",
    ),
    "lasso": ("AutoLasso", "AELR", "DDAELR", "TwoPhasedDDAELR", "OnlineLasso", "Lasso"),
}


def algorithm_names(names) -> list[str]:
    """The registered names, whatever their capitals and hyphens.

    >>> algorithm_names(["ddaerr", "online-ridge"])
    ['DDAERR', 'OnlineRidge']
    """
    known = {name.lower(): name for name in ALGORITHMS}
    found = [known.get(name.lower().replace("-", "").replace("_", "").strip()) for name in names]
    if None in found or not found:
        wrong = repr(names[found.index(None)]) if found else "none"
        raise ValueError(f"unknown algorithm: got {wrong}; choose from {', '.join(ALGORITHMS)}.")
    return list(dict.fromkeys(name for name in found if name))
