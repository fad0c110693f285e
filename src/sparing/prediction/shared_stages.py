"""Stages of many visits as arrays: what cases that bought the same have in common. ``Stage`` is the same for one."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from sparing.kernels import visit_choices as choices
from sparing.kernels import visits as kernel
from sparing.models.classes import MOST_EXPLAINED
from sparing.prediction.catalogue import Catalogue
from sparing.prediction.knowledge import LEAST_LEFT
from sparing.prediction.policy import HORIZON, NEGLIGIBLE, RARE, Policy
from sparing.prediction.stage import LEAST_WORTH

STOP = choices.STOP


@dataclass(frozen=True, eq=False)
class SharedStages:
    """Stages side by side, and what the compiled functions need to go on from them.

    Parameters
    ----------
    catalogue : Catalogue
    offered, rule : tuples of arrays
        As the compiled functions take them.
    stages : tuple of arrays
    """

    catalogue: Catalogue
    offered: kernel.Offered
    rule: kernel.Rule
    stages: kernel.Stages

    @classmethod
    def first(cls, catalogue: Catalogue, policy: Policy) -> Self:
        """The stage at which nothing is known."""
        model, classes = catalogue.model, catalogue.classes
        stages = _empty(1, 0, catalogue)
        stages.variances[0], stages.with_outputs[0] = model.attributes.variances, model.conditional.with_targets.T
        if catalogue.adapts:
            stages.inverses[0] = classes.inverse_at_first
        return cls(catalogue, _offered(catalogue), _rule(catalogue, policy), stages)

    @property
    def n(self) -> int:
        """The number of stages."""
        return len(self.stages.n_looks)

    @property
    def n_bytes(self) -> int:
        """Memory that they take."""
        return sum(array.nbytes for array in self.stages)

    @property
    def unexplained(self) -> np.ndarray:
        """The covariances of the outputs that are left: (n, n_outputs, n_outputs)."""
        outputs = self.stages.outputs
        explained = np.zeros((self.n, outputs.shape[2], outputs.shape[2]))
        for t in range(outputs.shape[1]):
            explained += outputs[:, t, :, None] * outputs[:, t, None, :]
        return self.catalogue.model.conditional.total - explained

    def predictions(self, of_cases: np.ndarray, distances: np.ndarray) -> np.ndarray:
        """The means of the outputs for cases at these stages with these distances, trees aside: (n, n_outputs)."""
        moves = np.zeros((len(of_cases), self.stages.outputs.shape[2]))
        for t in range(distances.shape[1]):
            moves += self.stages.outputs[of_cases, t] * distances[:, t, None]
        return self.catalogue.model.center + moves

    def some(self, here: slice) -> Self:
        """A part of them."""
        stages = kernel.Stages(*(array[here].copy() for array in self.stages))
        return type(self)(self.catalogue, self.offered, self.rule, stages)

    def choose(self, of_cases: np.ndarray, errors: np.ndarray, logs: np.ndarray | None) -> np.ndarray:
        """The item that each case buys next, or ``STOP``; ``errors`` are those to expect of the cases as they are."""
        order = np.argsort(of_cases, kind="stable")
        ordered = of_cases[order]
        other = np.diff(ordered) != 0
        starts = np.concatenate([[0], np.flatnonzero(other | self.catalogue.adapts) + 1, [len(order)]])
        of_groups = ordered[starts[:-1]]
        logs = np.zeros((len(order), 0)) if logs is None else logs[order]
        chosen, done, room = np.empty(len(order), np.int64), 0, self.stages.rows.shape[1] + HORIZON
        most = int(self.offered.variables[-1])
        while done < len(of_groups):  # until the looks ahead have room enough
            room = min(2 * room, most)
            ahead, scratch = _empty(1, room, self.catalogue), _room(self.offered, self.rule, errors[order])
            done = choices.choose(
                self.offered, self.rule, self.stages, of_groups, starts, logs, np.exp(logs), done, ahead, scratch,
                chosen,
            )  # fmt: skip
        found = np.empty_like(chosen)
        found[order] = chosen
        return found

    def columns(self, of_cases: np.ndarray, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Those that are left of each case's item, case by case, and where those of each case start."""
        starts = self.offered.starts
        counts = starts[items + 1] - starts[items]
        cases = np.repeat(np.arange(len(items)), counts)
        columns = self.offered.members[_runs(starts[items], counts)]
        left = ~self.stages.taken[of_cases[cases], columns]
        counts = np.bincount(cases[left], minlength=len(items))
        return columns[left], np.concatenate([[0], np.cumsum(counts)])

    def after(self, parents: np.ndarray, items: np.ndarray, unavailable: np.ndarray) -> Self:
        """The stages after these purchases, of which some columns were unavailable."""
        columns, starts = self.columns(parents, items)
        counts = np.diff(starts)
        purchases = np.repeat(np.arange(len(items)), counts)
        had = ~unavailable[purchases, _runs(np.zeros_like(counts), counts)]
        looks = np.bincount(purchases, weights=self._widths(columns) * had, minlength=len(items)).astype(np.int64)
        room = int((self.stages.n_looks[parents] + looks).max())
        following = _empty(len(items), room, self.catalogue)
        scratch = _room(self.offered, self.rule, np.zeros(0))
        kernel.advance(self.offered, self.rule, self.stages, parents, items, unavailable, following, scratch)
        return type(self)(self.catalogue, self.offered, self.rule, following)

    def _widths(self, columns: np.ndarray) -> np.ndarray:
        return self.offered.variables[columns + 1] - self.offered.variables[columns]

    def distances(self, of_cases, known: np.ndarray, cases, columns, values) -> np.ndarray:
        """The distances of all looks of the cases at these stages, those ``known`` among them.

        ``values`` are those of some columns of some cases, in the order of the looks that were added.
        """
        n, room = len(of_cases), self.stages.rows.shape[1]
        found = np.zeros((n, room))
        found[:, : known.shape[1]] = known[:, :room]
        widths = self._widths(columns)
        before = np.cumsum(widths) - widths
        counts = np.bincount(cases, weights=widths, minlength=n).astype(np.int64)
        places = before - (np.cumsum(counts) - counts)[cases]
        variables = np.zeros((n, counts.max(initial=0)))
        order = np.argsort(columns, kind="stable")
        for same in np.split(order, np.flatnonzero(np.diff(columns[order])) + 1):
            if same.size:
                of_column = self.catalogue.values(int(columns[same[0]]), values[same])
                variables[cases[same, None], places[same, None] + np.arange(of_column.shape[1])] = of_column
        first = self.stages.n_looks[of_cases] - counts
        kernel.follow(self.stages, of_cases, first, self.catalogue.model.attributes.means, variables, found)
        return found


def _runs(begins: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The numbers of these runs, one run after the other."""
    return np.arange(sizes.sum()) + np.repeat(begins - (np.cumsum(sizes) - sizes), sizes)


def _empty(n: int, room: int, catalogue: Catalogue) -> kernel.Stages:
    """Stages with room for so many looks, of which none was made."""
    d, m = catalogue.model.weights.shape
    k = m if catalogue.adapts else 0
    return kernel.Stages(
        n_looks=np.zeros(n, np.int64),
        looks=np.zeros((n, room), np.int64),
        rows=np.empty((n, room, d)),
        outputs=np.zeros((n, room, m)),
        variances=np.empty((n, d)),
        with_outputs=np.empty((n, m, d)),
        inverses=np.empty((n, k, k)),
        taken=np.zeros((n, catalogue.n_columns), np.bool_),
        spent=np.zeros(n, np.int64),
    )


def _offered(catalogue: Catalogue) -> kernel.Offered:
    gaussian = catalogue.model.attributes
    dense = np.zeros((0, 0)) if gaussian.dense is None else gaussian.dense
    return kernel.Offered(
        covariance=np.ascontiguousarray(dense, dtype=np.float64),
        loadings=np.ascontiguousarray(gaussian.loadings.T),
        noise=np.ascontiguousarray(gaussian.noise, dtype=np.float64),
        least=LEAST_LEFT * gaussian.variances,
        members=catalogue.members,
        starts=catalogue.starts,
        variables=np.asarray(catalogue.variable_starts, dtype=np.int64),
        prices=catalogue.prices.astype(np.int64),
        weights=catalogue.output_weights,
    )


def _rule(catalogue: Catalogue, policy: Policy) -> kernel.Rule:
    classes, calibration = catalogue.classes, catalogue.model.calibration
    nothing = np.zeros(0)
    kind = choices.REGRESSION
    if classes is not None:
        kind = choices.MORE_CLASSES if catalogue.adapts else choices.TWO_CLASSES
    return kernel.Rule(
        kind=kind,
        price_of_error=float(policy.price_of_error or 0.0),
        unit=float(1.0 / catalogue.amount(1)),
        money=float(policy.money),
        horizon=HORIZON if catalogue.adapts else len(catalogue.starts),
        factor=0.0 if classes is None else float(classes.belief),
        slope=0.0 if classes is None else float(classes.slope),
        floor=1.0 - MOST_EXPLAINED,
        priors=nothing if classes is None else np.ascontiguousarray(classes.priors),
        total=np.ascontiguousarray(calibration.total),
        least=np.ascontiguousarray(calibration.least),
        share=float(calibration.share),
        least_worth=LEAST_WORTH,
        draws=classes.draws if catalogue.adapts else np.zeros((0, 0)),
        nodes=classes.nodes if catalogue.adapts else np.zeros((0, 0)),
        fraction=RARE,
        tolerance=NEGLIGIBLE,
    )


def _room(offered: kernel.Offered, rule: kernel.Rule, errors: np.ndarray) -> kernel.Room:
    widths, m = np.diff(offered.variables)[offered.members], len(offered.weights)
    most = max(int(np.add.reduceat(widths, offered.starts[:-1]).max()), 1)
    k = m if rule.kind == choices.MORE_CLASSES else 0
    return kernel.Room(
        own=np.zeros(most, np.int64),
        block=np.empty((most, most)),
        cross=np.empty((most, m)),
        inverse=np.empty((k, k)),
        before=np.empty((k, k)),
        left=np.empty((k, k)),
        root=np.empty((k, k)),
        a=np.empty(m),
        b=np.empty(m),
        noise=np.empty(rule.draws.shape),
        error=errors,
        unavailable=np.zeros((1, int(np.diff(offered.starts).max())), np.bool_),
    )
