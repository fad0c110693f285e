"""Visits of many cases at once: cases that bought the same columns share everything except their values."""

from collections import defaultdict
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparing import checks
from sparing.prediction.catalogue import Catalogue
from sparing.prediction.policy import Ahead, Policy, Step
from sparing.prediction.stage import Stage
from sparing.prediction.visit import check_affordable, checked_options
from sparing.sources import ArraySource
from sparing.types import Ledger, OverBudget, Source


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


class _Group(NamedTuple):
    """Cases at one stage."""

    stage: Stage
    ahead: Ahead
    cases: np.ndarray
    distances: np.ndarray  # of their looks: (n, n_looks)


def buy_many(
    catalogue: Catalogue, source, *, ledger: Ledger | None, price_of_error=None, target_std=None, budget=None
) -> Purchases:
    """Run the visits of all cases of a source, or of an array of rows that is read only where values are bought."""
    source = source if hasattr(source, "read") else ArraySource(source)
    if source.n_attributes != catalogue.n_columns:
        raise ValueError(
            f"the source has {source.n_attributes} columns; the model was fitted to {catalogue.n_columns}."
        )
    checked_options(catalogue, price_of_error, target_std, budget)
    books = catalogue.ledger(budget)
    policy = Policy(price_of_error, target_std, np.inf if budget is None else books.left)
    first = Stage.first(catalogue)
    check_affordable(first, books)
    if ledger is not None and (ledger.decimals, *ledger.prices) != (books.decimals, *books.prices):
        raise ValueError("the ledger has other prices than costs=; make it with Ledger(costs=...) of the same prices.")
    return _Lockstep(catalogue, source, policy, ledger).run(first)


class _Lockstep:
    def __init__(self, catalogue: Catalogue, source: Source, policy: Policy, ledger: Ledger | None):
        n, outputs = source.n_examples, catalogue.model.intercept.size
        self.catalogue, self.source, self.policy, self.ledger = catalogue, source, policy, ledger
        self.rows = np.full((n, catalogue.n_columns), np.nan)
        self.means, self.deviations = np.empty((n, outputs)), np.empty((n, outputs))
        self.logs = None if catalogue.labels is None else np.empty((n, len(catalogue.labels)))
        self.spent, self.cells = np.zeros(n), np.zeros(n, np.int64)

    def run(self, first: Stage) -> Purchases:
        """Round by round, one purchase of every case that goes on."""
        n = len(self.rows)
        groups = [_Group(first, self.policy.ahead(first), np.arange(n), np.zeros((n, 0)))] if n else []
        while groups:
            for group in groups:
                self.means[group.cases] = group.stage.knowledge.predictions(group.distances)
            cases = np.concatenate([group.cases for group in groups])
            self.means[cases] = self.catalogue.model.with_trees(self.means[cases], self.rows[cases])
            groups = [following for group in groups for following in self._next(group)]
        several = self.means.shape[1] > 1
        if self.logs is not None:
            labels = self.catalogue.labels[self.logs.argmax(axis=1)]
            return Purchases(labels, None, self.catalogue.probabilities(self.logs), self.rows, self.spent, self.cells)
        found = [self.catalogue.within_range(self.means), self.deviations]
        predictions, std = found if several else (outputs[:, 0] for outputs in found)
        return Purchases(predictions, std, None, self.rows, self.spent, self.cells)

    def _next(self, group: _Group) -> list[_Group]:
        """Write down what is known of the cases of a group, and buy what they ask for next."""
        stage, cases = group.stage, group.cases
        logs = self.catalogue.log_posteriors(self.means[cases], stage.knowledge)
        self.deviations[cases] = self.catalogue.standard_deviations(stage.knowledge.unexplained)
        if self.logs is not None:
            self.logs[cases] = logs
        chosen: dict[tuple, list[int]] = defaultdict(list)
        steps: dict[tuple, Step] = {}
        for at, (step, _) in enumerate(self.policy.decide(stage, group.ahead, logs, len(cases))):
            if step is not None:
                key = tuple(step.columns)
                steps[key] = step
                chosen[key].append(at)
        return [made for key, at in chosen.items() for made in self._bought(group, steps[key], np.array(at))]

    def _bought(self, group: _Group, step: Step, places: np.ndarray) -> list[_Group]:
        """Groups of the cases that bought this, one for each pattern of what was available."""
        cases, columns = group.cases[places], step.columns
        if self.ledger is not None:
            _check_money(self.ledger, columns, len(cases))
        for case in cases:
            with nullcontext() if self.ledger is None else self.ledger.purchase(columns):
                self.rows[case, columns] = self._read(int(case), columns)
        self.spent[cases] = self.catalogue.amount(step.stage.spent)
        self.cells[cases] += len(columns)
        had, groups = ~np.isnan(self.rows[np.ix_(cases, columns)]), []
        for pattern in np.unique(had, axis=0):
            same = (had == pattern).all(axis=1)
            there = columns[pattern]
            whole = pattern.all() and not self.catalogue.adapts
            stage = step.stage if pattern.all() else group.stage.bought(columns, there)
            functions = [self.catalogue.values(c, self.rows[cases[same], c]) for c in there]
            values = np.concatenate([np.zeros((int(same.sum()), 0)), *functions], axis=1)
            distances = stage.knowledge.distances(group.distances[places[same]], values)
            ahead = group.ahead.after_first() if whole else self.policy.ahead(stage)
            groups.append(_Group(stage, ahead, cases[same], distances))
        return groups

    def _read(self, case: int, columns: np.ndarray) -> np.ndarray:
        values = np.asarray(self.source.read(case, columns), dtype=np.float64)
        if np.isinf(values).any():
            raise checks.infinite(case, int(columns[np.isinf(values)][0]))
        return values


def _check_money(ledger: Ledger, columns: np.ndarray, n: int) -> None:
    """Refuse purchases of n cases at once, before any of them is made."""
    price = ledger.price(columns) * n
    if price > ledger.left:
        raise OverBudget(
            f"the next purchases of {n} cases cost {ledger.amount(price)}, more than the ledger has left "
            f"({ledger.amount(ledger.left)}); pass a smaller budget= for each case, or fewer cases."
        )
