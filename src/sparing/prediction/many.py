"""Visits of many cases at once, compiled: cases that bought the same share everything except their values."""

from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sparing import checks
from sparing.prediction.catalogue import Catalogue
from sparing.prediction.policy import Policy
from sparing.prediction.shared_stages import STOP, SharedStages
from sparing.prediction.stage import Stage
from sparing.prediction.visit import Visit, check_affordable, checked_options
from sparing.sources import ArraySource
from sparing.sources.batches import buy_batch
from sparing.types import Ledger, OverBudget, Source

MOST_BYTES = 1 << 28  # of stages that go on together
FEW = 300  # cases up to which visits one by one take less time than to compile what makes them faster
LOOKS = 32  # of a case, for which memory is planned; where more are made, fewer cases go on together


@dataclass(frozen=True)
class Purchases:
    """What was bought of many cases, and what follows from it.

    Parameters
    ----------
    predictions : array of shape (n,) or (n, n_outputs)
        Targets or labels.
    std : array like predictions, or None
        Standard deviations of targets; None for classes.
    proba : array of shape (n, n_classes), or None
        Probabilities of classes; None for regressors.
    values : array of shape (n, n_columns)
        What was bought, NaN elsewhere.
    spent : array of shape (n,)
        On each case.
    cells : array of shape (n,)
        Values paid for of each case, unavailable ones included.
    """

    predictions: np.ndarray
    std: np.ndarray | None
    proba: np.ndarray | None
    values: np.ndarray
    spent: np.ndarray
    cells: np.ndarray


def buy_many(
    catalogue: Catalogue, source, *, ledger: Ledger | None, price_of_error=None, target_std=None, budget=None
) -> Purchases:
    """Run the visits of all cases of a source, or of an array of rows that is read only where values are bought."""
    source = source if hasattr(source, "read") else ArraySource(source)
    if source.n_attributes != catalogue.n_columns:
        raise ValueError(
            f"the source has {source.n_attributes} columns; the model was fitted to {catalogue.n_columns}."
        )
    options = checked_options(catalogue, price_of_error, target_std, budget)
    books = catalogue.ledger(budget)
    policy = Policy(price_of_error, target_std, np.inf if budget is None else books.left)
    check_affordable(Stage.first(catalogue), books)
    if ledger is not None and not _same_prices(ledger, books):
        raise ValueError("the ledger has other prices than costs=; make it with Ledger(costs=...) of the same prices.")
    visits = _Lockstep(catalogue, source, policy, ledger)
    return visits.one_by_one(options) if visits.are_few else visits.run()


def _same_prices(ledger: Ledger, books: Ledger) -> bool:
    """Whether a ledger has the prices of these books; without costs it has one for all columns."""
    prices = np.repeat(ledger.prices, books.prices.size) if ledger.costs is None else ledger.prices
    return ledger.decimals == books.decimals and np.array_equal(prices, books.prices)


class _Cohort(NamedTuple):
    """Cases that made equally many purchases, and their stages."""

    stages: SharedStages
    of_cases: np.ndarray  # the stage of each case
    cases: np.ndarray
    distances: np.ndarray  # of their looks: (n, room), zero beyond those that were made

    def halves(self) -> "list[_Cohort]":
        """Two cohorts, each with a half of the stages."""
        middle, found = self.stages.n // 2, []
        for first, last in ((0, middle), (middle, self.stages.n)):
            here = np.flatnonzero((self.of_cases >= first) & (self.of_cases < last))
            stages = self.stages.some(slice(first, last))
            found.append(_Cohort(stages, self.of_cases[here] - first, self.cases[here], self.distances[here]))
        return found


class _Lockstep:
    def __init__(self, catalogue: Catalogue, source: Source, policy: Policy, ledger: Ledger | None):
        n, outputs = source.n_examples, catalogue.model.intercept.size
        self.catalogue, self.policy, self.ledger = catalogue, policy, ledger
        self.source: Any = source
        self.rows = np.full((n, catalogue.n_columns), np.nan)
        self.means, self.deviations = np.empty((n, outputs)), np.empty((n, outputs))
        self.logs = None if catalogue.labels is None else np.empty((n, len(catalogue.labels)))
        self.spent, self.cells = np.zeros(n), np.zeros(n, np.int64)

    @property
    def are_few(self) -> bool:
        """Whether to visit case by case; not where trees, batches or scarce money are better used side by side."""
        n, most = len(self.rows), int(self.catalogue.prices.sum())
        alone = self.catalogue.model.trees is None and not hasattr(self.source, "read_batch")
        return n <= FEW and alone and (self.ledger is None or self.ledger.left >= n * most)

    def one_by_one(self, options: dict[str, Any]) -> Purchases:
        """The same without compiled functions."""
        catalogue = copy(self.catalogue)
        catalogue.encode = lambda column, value: value  # values of sources are numbers
        for case in range(len(self.rows)):
            visit = Visit(catalogue, {}, **options)
            while (query := visit.ask()) is not None:
                self._buy(np.array([case]), [query.attributes])
                visit.tell(query, self.rows[case, query.attributes])
                self.cells[case] += query.attributes.size
            self.spent[case] = visit.spent
            self.means[case], self.deviations[case], logs = visit.outputs
            if self.logs is not None:
                self.logs[case] = logs
        return self._purchases()

    def run(self) -> Purchases:
        """Round by round, one purchase of every case that goes on."""
        first = SharedStages.first(self.catalogue, self.policy)
        together = max(1, MOST_BYTES // (first.n_bytes * LOOKS))
        parts = np.split(np.arange(len(self.rows)), np.arange(together, len(self.rows), together))
        waiting = [_Cohort(first, np.zeros_like(part), part, np.zeros((len(part), 0))) for part in reversed(parts)]
        while waiting:
            cohort = waiting.pop()
            if cohort.stages.n > 1 and cohort.stages.n_bytes > MOST_BYTES:
                waiting += cohort.halves()
            elif len(cohort.cases):
                waiting += self._following(cohort)
        return self._purchases()

    def _purchases(self) -> Purchases:
        several = self.means.shape[1] > 1
        if self.logs is not None:
            labels = self.catalogue.labels[self.logs.argmax(axis=1)]
            return Purchases(labels, None, self.catalogue.probabilities(self.logs), self.rows, self.spent, self.cells)
        found = [self.catalogue.within_range(self.means), self.deviations]
        predictions, std = found if several else (outputs[:, 0] for outputs in found)
        return Purchases(predictions, std, None, self.rows, self.spent, self.cells)

    def _following(self, cohort: _Cohort) -> list[_Cohort]:
        """Write down what is known of the cases, and buy what they ask for next: the cases that bought something."""
        stages, of_cases, cases, distances = cohort
        unexplained = stages.unexplained
        deviations = self.catalogue.standard_deviations(unexplained)
        means = self.catalogue.model.with_trees(stages.predictions(of_cases, distances), self.rows[cases])
        logs = self.catalogue.log_posteriors(means, unexplained, of_cases)
        self.means[cases], self.deviations[cases] = means, deviations[of_cases]
        errors = np.sum(deviations**2, axis=1)[of_cases]
        if logs is not None and self.logs is not None:
            self.logs[cases], errors = logs, 1.0 - np.exp(logs).max(axis=1)
        items = stages.choose(of_cases, errors, logs)
        if self.policy.target_std is not None:
            sure = np.all(deviations <= self.policy.target_std, axis=1)
            items[np.asarray(sure)[of_cases]] = STOP
        on = np.flatnonzero(items != STOP)
        return [self._bought(stages, of_cases[on], cases[on], distances[on], items[on])] if on.size else []

    def _bought(self, stages: SharedStages, of_cases, cases, distances, items) -> _Cohort:
        """The cases after they bought these items: they share a stage if they did before and had the same of it."""
        columns, starts = stages.columns(of_cases, items)
        counts = np.diff(starts)
        if self.ledger is not None:
            _check_money(self.ledger, columns, len(cases))
        self._buy(cases, np.split(columns, starts[1:-1]))
        self.cells[cases] += counts
        places = np.repeat(np.arange(len(cases)), counts)
        values = self.rows[cases[places], columns]
        unavailable = np.zeros((len(cases), counts.max()), np.bool_)
        unavailable[places, np.arange(len(columns)) - starts[places]] = np.isnan(values)
        made, following = np.unique(np.column_stack([of_cases, items, unavailable]), axis=0, return_inverse=True)
        stages = stages.after(made[:, 0].copy(), made[:, 1].copy(), made[:, 2:].astype(np.bool_))
        following, had = following.reshape(-1), ~np.isnan(values)
        self.spent[cases] = self.catalogue.amount(stages.stages.spent[following])
        distances = stages.distances(following, distances, places[had], columns[had], values[had])
        return _Cohort(stages, following, cases, distances)

    def _buy(self, cases: np.ndarray, queries: list[np.ndarray]) -> None:
        """The values of one query of each case: at once from a source that answers for many."""
        if hasattr(self.source, "read_batch"):
            ledger = Ledger(costs=self.catalogue.costs) if self.ledger is None else self.ledger
            for case, query, values in zip(cases, queries, buy_batch(self.source, cases, queries, ledger), strict=True):
                self.rows[case, query] = values
            return
        for case, query in zip(cases.tolist(), queries, strict=True):
            with nullcontext() if self.ledger is None else self.ledger.purchase(query):
                self.rows[case, query] = self._read(case, query)

    def _read(self, case: int, columns: np.ndarray) -> np.ndarray:
        try:
            values = np.asarray(self.source.read(case, columns), dtype=np.float64)
            return checks.no_infinity(values[None], case, columns)[0]
        except checks.InfiniteValue as error:
            if self.ledger is not None:
                self.ledger.cancel(columns)
            raise ValueError(
                f"in row {case} the value of {self.catalogue.name(columns)} is infinite. It was not paid for; the "
                "purchases before it were. Replace it, or pass NaN for an unavailable value."
            ) from error


def _check_money(ledger: Ledger, columns: np.ndarray, n: int) -> None:
    """Refuse purchases of n cases at once, before any of them is made."""
    price = ledger.price(columns)
    if price > ledger.left:
        raise OverBudget(
            f"the next purchases of {n} cases cost {ledger.amount(price)}, more than the ledger has left "
            f"({ledger.amount(ledger.left)}); pass a smaller budget= for each case, or fewer cases."
        )
