"""One BLAS thread for problems that several do not make faster.

numpy and scipy bring a BLAS each, and the threads of both keep waiting for work for some time after every call. Where
calls are short, that takes longer than the work.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_inside: list[Any] = []  # limits, one for each context that is open now: they are the process's, so the first sets them


@contextmanager
def one_blas_thread(wanted: bool) -> Iterator[None]:
    """A context with one thread, if that is wanted; the last to leave gives back what the first one found."""
    if not wanted:
        yield
        return
    with _lock:
        _inside.append(_inside[-1] if _inside else _blas().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _inside.pop()
            if not _inside:
                limit.restore_original_limits()


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()
