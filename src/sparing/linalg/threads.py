"""One BLAS thread for problems that several threads do not speed up.

numpy and scipy each ship a BLAS, and the threads of both spin for a while after every call. For short calls that costs
more than the work itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_inside: list[Any] = []  # one entry per open context; limits hold for the whole process, so only the first sets them


@contextmanager
def one_blas_thread(wanted: bool) -> Iterator[None]:
    """A context with one BLAS thread if ``wanted``; the last context to close restores the original limit."""
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
