"""Plans for files that are paid in bytes read: a few columns of many row groups, or all columns of a few groups?

Both are tried on a pilot. The forecasts of :mod:`sparing.planning` assume that every example has a query of its own.
Here rows of a group share a query, so most pairs of columns are never seen together, and these forecasts do not hold.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sparing import checks
from sparing.buying.shop import Shop
from sparing.estimators.from_source import encoded
from sparing.files import InputError
from sparing.learners import AutoLearner
from sparing.learners.from_sources import rotation
from sparing.models.blocks import standard_error
from sparing.planning import Prospect
from sparing.sources import ParquetSource

JUDGED = 2  # row groups that are read whole and held out for testing
ROTATIONS = 2  # how often the pilot reads every column
JUDGES = 20_000  # maximum number of test rows
SIDE = 1.645  # standard errors on each side of a 90 % interval


def plan_in_bytes(
    source: ParquetSource,
    y,
    *,
    budget: int,
    pilot: int | None = None,
    random_state: int = 0,
    progress: Callable[[float], None] | None = None,
) -> list[Prospect]:
    """The error from a few columns of many row groups, and from all columns of a few groups, for about the same bytes.

    Both are measured on a pilot, and on half of it if that is at least one whole group; the test rows are whole rows of
    two other groups. The spends are the megabytes of the few columns; whole groups, at least one, come as close as
    possible. Intervals reflect the variation between test rows, not that between groups.

    Parameters
    ----------
    source : ParquetSource
    y : array
        The targets of its examples, as numbers.
    budget : int
        Columns to read of each row group.
    pilot : int, optional
        Row groups of the pilot; by default, enough to read every column twice.
    random_state : int
        Seed of the choice of groups and of the fits.
    progress : callable, optional
        Called with the fraction of all work that was just done.
    """
    shop, y = Shop(source.n_attributes, budget), checks.targets(y, source.n_examples)[:, 0]
    n_groups, report = source.blocks().size, progress or (lambda part: None)
    n_few = ROTATIONS * rotation(shop) if pilot is None else checks.whole("pilot", pilot, at_least=2)
    n_few = min(n_few, n_groups - JUDGED)
    if n_few < 2:
        raise InputError(
            f"{n_groups} row groups are too few for a pilot and {JUDGED} groups of test rows",
            "write the files again with smaller row groups",
        )
    source, columns, _ = encoded(source)
    levels = columns.levels if columns is not None and columns.levels.any() else None
    options: dict[str, Any] = {"levels": levels, "random_state": random_state}
    drawn = np.random.default_rng(checks.seed(random_state)).permutation(n_groups)
    judges, few, others = np.split(drawn, [JUDGED, JUDGED + n_few])
    whole = np.concatenate([others, few])[: max(1, round(n_few * budget / shop.n_attributes))]
    sizes, everything = source.blocks(), np.arange(source.n_attributes)
    starts = np.cumsum(sizes) - sizes

    def targets(blocks: np.ndarray) -> np.ndarray:
        return np.concatenate([y[starts[block] : starts[block] + sizes[block]] for block in blocks])

    thinned = slice(None, None, -(-int(sizes[judges].sum()) // JUDGES))
    rows = np.concatenate([source.read_block(block, everything) for block in judges])[thinned]
    truth = targets(judges)[thinned]

    def measured(blocks: np.ndarray, bought: int) -> tuple[float, int, float, float]:
        """Megabytes, rows, and the error with its standard error, if ``bought`` columns of these blocks are read."""
        before, n = source.bytes_read, int(sizes[blocks].sum())
        learner = AutoLearner(source.n_attributes, budget=bought, n_examples=n, **options)
        learner.run(source.take(blocks), targets(blocks))
        losses = (truth - learner.fitted.from_known(rows).means[:, 0]) ** 2 / truth.var()
        report(0.5 / len(shares))
        return (source.bytes_read - before) / 1e6, n, float(losses.mean()), float(standard_error(losses))

    shares = (0.5, 1.0) if whole.size > 1 and few.size > 3 else (1.0,)
    found = []
    for share in shares:
        megabytes, n, error, deviation = measured(few[: round(share * few.size)], budget)
        _, n_whole, other, spread = measured(whole[: round(share * whole.size)], source.n_attributes)
        intervals = [(at - SIDE * by, at + SIDE * by) for at, by in ((error, deviation), (other, spread))]
        found.append(Prospect(megabytes, n, error, deviation, n_whole, other, spread, intervals[0], intervals[1]))
    return found
