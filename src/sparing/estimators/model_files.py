"""A fitted model in one file, with all that is needed to predict and to continue learning."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np

from sparing import checks, learners
from sparing.estimators.budget import BudgetLasso, BudgetRidge
from sparing.estimators.budget_base import BudgetEstimator
from sparing.estimators.classifier import BudgetClassifier
from sparing.estimators.online_fit import OnlineFit
from sparing.estimators.packing import packed, unpacked
from sparing.estimators.svr import BudgetSVR
from sparing.files import refuse_missing_file, written_whole
from sparing.learners.keeping import KeepingLearner
from sparing.models.gaussian import FittedModel
from sparing.models.summary import summarize
from sparing.models.trees import BoostedTrees

FORMAT = 1  # raise it when files change so that older versions cannot read them; older formats stay readable
ESTIMATORS = {cls.__name__: cls for cls in (BudgetRidge, BudgetLasso, BudgetSVR, BudgetClassifier)}
LEARNT = (
    "n_features_in_",
    "feature_names_in_",
    "classes_",
    "target_name_",
    "_several",
    "_columns",
)  # attributes that are saved if a model has them


def save_model(model: BudgetEstimator, path) -> Path:
    """Write a fitted budget estimator to one file, whole or not at all, and return its path.

    The file contains parameters, names, classes, the cells bought and the model. It is an npz archive of arrays with a
    JSON header, without pickles. :func:`load_model` returns a model that makes the same predictions and continues
    learning where this one stopped.

    Parameters
    ----------
    model : BudgetRidge, BudgetLasso, BudgetSVR or BudgetClassifier
        Fitted.
    path : path
        By convention its name ends in .sparing.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from sparing import BudgetRidge, load_model, save_model
    >>> X = np.random.default_rng(0).normal(size=(500, 6))
    >>> model = BudgetRidge(budget=3, random_state=0).fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_model(save_model(model, f"{folder}/one.sparing"))
    >>> bool((again.predict(X) == model.predict(X)).all()), again.cells_
    (True, 1500)
    """
    if type(model).__name__ not in ESTIMATORS:
        raise ValueError(f"a {type(model).__name__} has no model file; pass one of {', '.join(ESTIMATORS)}.")
    arrays: dict[str, np.ndarray] = {}
    fit = model._learnt()
    content = {
        "estimator": type(model).__name__,
        "options": model.get_params() | _seed(model),
        "learnt": {name: getattr(model, name) for name in LEARNT if hasattr(model, name)},
        "learner": fit.state(),
        "fitted": replace(fit.fitted, trees=None) if isinstance(fit, KeepingLearner) else None,
    }
    header = {"format": FORMAT, "model": packed(content, arrays, "model")}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with written_whole(path) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # its other keyword is a flag
    return Path(path)


def load_model(path) -> Any:
    """The fitted estimator that :func:`save_model` wrote. Any other file raises ``ValueError``.

    Boosted trees are not in the file: they are a function of the cells, and are fitted again when they are first needed
    (with the same version of scikit-learn they are the same).
    """
    path = Path(path)
    refuse_missing_file(path)
    try:
        if not is_zipfile(path):
            raise ValueError("it is no archive")
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        header = json.loads(arrays.pop("header").tobytes())
        newer = checks.whole("format", header["format"]) > FORMAT
        model = None if newer else _restored(unpacked(header["model"], arrays))
    except Exception as error:  # zip, zlib, npy and JSON readers raise many kinds of errors on broken bytes
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ValueError(
            f"{path.name} is not a readable model file: {reason.rstrip('.')}. Pass a file that sparing fit or "
            "save_model wrote."
        ) from error
    if newer:
        raise ValueError(
            f"{path.name} is of format {header['format']}, which a newer version of sparing wrote; this one reads "
            f"formats up to {FORMAT}: update sparing, or save the model with this version."
        )
    return model


def _seed(model: BudgetEstimator) -> dict[str, Any]:
    """The random state as a number: for any other kind, the seed that was drawn from it."""
    plain = model.random_state is None or isinstance(model.random_state, checks.WHOLE)
    fit = model._learnt()
    return {} if plain else {"random_state": fit.seed if isinstance(fit, OnlineFit) else fit.random_state}


def _restored(content: dict[str, Any]) -> BudgetEstimator:
    model = ESTIMATORS[content["estimator"]](**content["options"])
    for name in content["learnt"].keys() & set(LEARNT):
        setattr(model, name, content["learnt"][name])
    fitted: FittedModel | None = content["fitted"]
    if fitted is None:
        model._take_over(OnlineFit.from_state(content["learner"]))
    else:
        kind = getattr(learners, str(content["learner"]["algorithm"]))
        learner: KeepingLearner = kind.from_state(content["learner"])
        _refuse_damage(fitted, learner.n_attributes, learner.n_outputs)
        if fitted.trees_share or fitted.trees_share_in_part:
            cells = learner.bought.to_learn_from()  # the cells that sparing.models.selection fitted trees to
            cells = cells.only(summarize(cells).known)
            fitted = replace(fitted, trees=BoostedTrees(cells, learner.levels))
        learner.recall(fitted)
        model._take_over(learner)
    _refuse_other_sizes(model)
    return model


# Damage -------------------------------------------------------------------------------------------------------------


def _refuse_damage(fitted: FittedModel, d: int, m: int) -> None:
    """Refuse a model whose parts do not fit together, before it makes a wrong prediction."""
    size, basis = d, fitted.basis
    if basis is not None:
        size = max(basis.size, 1)
        _check("columns of the basis", len(basis.columns) == d)
        for column in basis.columns:
            _check_numbers("knots", column.knots, (len(column.knots),))
            _check("knots", len(column.knots) > 1 and bool((np.diff(column.knots) > 0).all()))
            _check_numbers("functions", column.values, (len(column.knots), column.values.shape[1]))
    _check_numbers("weights", fitted.weights, (size, m))
    for name in ("intercept", "residual_variance"):
        _check_numbers(name, getattr(fitted, name), (m,))
    for end in fitted.target_range or ():
        _check_numbers("target_range", end, (m,))
    gaussian = fitted.attributes
    _check_numbers("means", gaussian.means, (size,))
    _check_numbers("noise", gaussian.noise, (size,))
    _check_numbers("loadings", gaussian.loadings, (size, gaussian.loadings.shape[1]))
    if gaussian.dense is not None:
        _check_numbers("covariance", gaussian.dense, (size, size))
    for share in (fitted.trees_share, fitted.trees_share_in_part):
        _check("shares of the trees", isinstance(share, float) and 0.0 <= share <= 1.0)
    _check("facts", isinstance(fitted.facts, dict))


def _refuse_other_sizes(model) -> None:
    """Refuse names, classes and a learner of different sizes."""
    fit, d = model._fit, model.n_features_in_
    _check("attributes", fit.n_attributes == d and np.shape(model._names()) in ((0,), (d,)))
    if isinstance(model, BudgetClassifier):
        classes = len(model.classes_)
        _check("classes", fit.n_outputs == (1 if classes == 2 else classes) and np.shape(model.classes_) == (classes,))


def _check_numbers(name: str, array, shape: tuple[int, ...]) -> None:
    there = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == shape
    _check(name, there and bool(np.isfinite(array).all()))


def _check(name: str, good: bool) -> None:
    if not good:
        raise ValueError(f"its {name} do not fit the rest")
