"""Data in parts on the workers: functions of every part, and their sums by a tree."""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any
from uuid import uuid4

import numpy as np
from dask import delayed
from dask.delayed import Delayed
from distributed import Client, Future

from sparing.linalg.threads import one_blas_thread

GROUP = 16  # parts whose sums are added by a tree
AT_ONCE = 4  # sums that one task adds


class Parts:
    """One value for each part of the rows, on the workers.

    Every task is a pure function of other tasks, so whatever a worker held when it died is computed again.

    Parameters
    ----------
    client : distributed.Client
    futures : list of distributed.Future
        In the order of the rows.
    """

    def __init__(self, client: Client, futures: Iterable[Future]):
        self.client, self.futures = client, list(futures)

    def __len__(self) -> int:
        return len(self.futures)

    def each(self, function: Callable, *arguments) -> "Parts":
        """What a function makes of every part, which also stays where it is."""
        shared = hold(self.client, arguments)
        name = function.__name__.strip("_")
        tasks = self.client.map(run, self.futures, function=function, shared=shared, key=name, pure=False)
        return Parts(self.client, tasks)

    def gathered(self) -> list[Any]:
        """All of them, here: for what is small."""
        return self.client.gather(self.futures)

    def summed(self, function: Callable, *arguments, combine: Callable | None = None) -> Any:
        """The sum of a function over all parts; ``combine`` adds the results of two parts.

        Neighbours are added first, then their sums, up to ``GROUP`` parts; the sums of such groups are added one after
        the other. So the order depends on the number of parts only. All are tasks of one graph, in which Dask goes deep
        before it goes wide: few sums wait for others, however many parts there are.
        """
        shared = delayed(_itself, pure=False)(in_c_order(arguments)) if arguments else ()
        name = function.__name__.strip("_")
        sums = [
            delayed(run, pure=False)(part, function, shared, dask_key_name=f"{name}-{uuid4().hex}")
            for part in self.futures
        ]
        total = None
        for group in batched(sums, GROUP):
            of_group = _tree(group, combine or added)
            total = of_group if total is None else _all_added([total, of_group], combine or added)
        return self.client.compute(total).result()


def _tree(sums: list[Delayed], combine: Callable) -> Delayed:
    while len(sums) > 1:
        sums = [_all_added(few, combine) for few in batched(sums, AT_ONCE)]
    return sums[0]


def _all_added(sums: list[Delayed], combine: Callable) -> Delayed:
    if len(sums) == 1:
        return sums[0]
    return delayed(total_of, pure=False)(combine, *sums, dask_key_name=f"added-{uuid4().hex}")


def total_of(combine: Callable, *sums) -> Any:
    """A task: sums added from left to right."""
    return reduce(combine, sums)


def batched(of_all: Sequence, size: int) -> list:
    """Groups of so many at a time; the last may be smaller."""
    return [of_all[at : at + size] for at in range(0, len(of_all), size)]


def hold(client: Client, value) -> Future:
    """A value on the workers, as a task: if its worker dies, it is computed again."""
    return client.submit(_itself, in_c_order(value), pure=False)


def run(part, function: Callable, shared: tuple):
    """A task on one core, because as many tasks run at once as there are cores."""
    with one_blas_thread(True):
        return in_c_order(function(part, *shared))


def added(one, other):
    """The sum of two results; of tuples, entry by entry."""
    if not isinstance(one, tuple):
        return one + other
    return _like(one, [added(mine, yours) for mine, yours in zip(one, other, strict=True)])


def in_c_order(value):
    """The same with all arrays in C order: a transfer may change the order, and with it the last bits of products."""
    if isinstance(value, np.ndarray):
        return np.require(value, requirements="C")
    return _like(value, map(in_c_order, value)) if isinstance(value, tuple) else value


def _like(one: tuple, entries: Iterable) -> tuple:
    """A tuple, or named tuple, of the same kind."""
    return type(one)(*entries) if hasattr(one, "_fields") else tuple(entries)


def _itself(value):
    return value
