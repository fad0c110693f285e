"""Regression from a few attributes of each example, chosen by number or by price."""

from dataclasses import dataclass
from typing import Self

from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Lasso, LinearRegression, Ridge

from sparing.estimators.budget_base import BudgetEstimator
from sparing.estimators.budget_options import documented
from sparing.estimators.known_in_part import RegressorKnownInPart


@documented
@dataclass(eq=False, repr=False)
class BudgetRidge(RegressorKnownInPart, RegressorMixin, BudgetEstimator):
    r"""Ridge regression from ``budget`` attributes of each example, or from as many as a sum of money buys.

    Parameters
    ----------
    {options}

    Attributes
    ----------
    {results}

    Notes
    -----
    A constant target gives zero weights, up to rounding, and that constant as intercept. If the pilot of an online
    learner saw no value of an attribute, or only one, the attribute is assumed to be like the others and looked at
    later. Only values that are bought are read from an array. NaN is an unavailable value; in ``predict`` it is a
    missing one. If a bought value is infinite, the call is refused and changes nothing.

    A column of a data frame is one purchase, whatever its type. Text and pandas categories are categorical: the model
    learns what each category adds. ``partial_fit`` refuses a category that was neither in its first rows nor declared
    by the dtype; in ``predict``, an unknown category is a missing value. Dates become days since the first. A frame is
    read once as a whole, to find its categories.

    Examples
    --------
    >>> from sparing import BudgetRidge
    >>> from sparing.datasets import make_power_law
    >>> X, y = make_power_law(5000, n_attributes=30, exponent=-2.0, random_state=0, return_X_y=True)
    >>> model = BudgetRidge(budget=5, random_state=0).fit(X[:4000], y[:4000])
    >>> model.cells_ <= 5 * 4000
    True
    >>> model.score(X[4000:], y[4000:]) > 0.6
    True

    A table with text, missing values, and a price for every column but one, which is free:

    >>> import numpy as np, pandas
    >>> rng = np.random.default_rng(0)
    >>> wards, ages = rng.choice(["A", "B", "C"], 600), rng.integers(20, 90, 600)
    >>> table = pandas.DataFrame({"ward": wards, "age": ages, "dose": rng.normal(size=600)})
    >>> stay = 2.0 * (wards == "B") + 0.1 * ages + table["dose"]
    >>> table = table.mask(rng.uniform(size=table.shape) < 0.2)
    >>> prices = {"ward": 5.0, "dose": 2.0, "age": 0.0}
    >>> model = BudgetRidge(budget=7.0, costs=prices, random_state=0).fit(table, stay)
    >>> categories, adds = model.effect("ward")
    >>> categories.tolist(), (adds - adds[0]).round().astype(int).tolist()
    (['A', 'B', 'C'], [0, 2, 0])
    """

    def fit(self, X, y=None, sample_weight=None, *, target=None) -> Self:
        """Learn from all rows of X, looking at ``budget`` attributes of each.

        X may also be a source (:mod:`sparing.sources`); ``target`` then names its column to predict, in place of y.
        ``sample_weight`` says how much each row counts; nothing is bought for a row of weight 0.
        """
        X, y = self._check_fit(X, y, target, multi_output=True, y_numeric=True)
        self._learn(X, y, sample_weight, reset=True, whole=True)
        return self

    def partial_fit(self, X, y, sample_weight=None) -> Self:
        """Learn from more rows. The result does not depend on how rows are cut into chunks."""
        reset = not hasattr(self, "_fit")
        X, y = self._check_X_y(X, y, reset=reset, multi_output=True, y_numeric=True)
        self._learn(X, y, sample_weight, reset=reset)
        return self

    def fit_cells(self, cells, *, names=None, categories=None) -> Self:
        """Learn from cells that were bought elsewhere, such as those of a study.

        ``names`` are the names of the columns. ``categories`` maps the name of each categorical column, whose values
        are codes, to the list of its categories.
        """
        self._learn_cells(cells, names, categories)
        return self

    def _model_shape(self, of_outputs):
        if self._several:
            return of_outputs
        return of_outputs[0] if of_outputs.ndim > 1 else float(of_outputs[0])

    def to_sklearn(self) -> BaseEstimator:
        """A plain fitted scikit-learn model with the same predictions."""
        return self._copy_to(Ridge(fit_intercept=self.fit_intercept))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        tags.regressor_tags.poor_score = True  # on 200 examples at two looks each
        return tags


@documented
@dataclass(eq=False, repr=False)
class BudgetLasso(BudgetRidge):
    r"""Lasso regression from ``budget`` attributes of each example: for models in which few attributes matter.

    Parameters
    ----------
    {options}

    Attributes
    ----------
    {results}

    Examples
    --------
    >>> from sparing import BudgetLasso
    >>> from sparing.datasets import make_power_law
    >>> X, y = make_power_law(5000, 30, -1.0, penalty="lasso", random_state=0, return_X_y=True)
    >>> BudgetLasso(budget=5, random_state=0).fit(X[:4000], y[:4000]).score(X[4000:], y[4000:]) > 0.5
    True
    """

    _penalty = "lasso"

    def to_sklearn(self) -> BaseEstimator:
        """A plain fitted scikit-learn model with the same predictions."""
        plain = LinearRegression if self._several else Lasso  # Lasso cannot predict several outputs of sparse rows
        return self._copy_to(plain(fit_intercept=self.fit_intercept))
