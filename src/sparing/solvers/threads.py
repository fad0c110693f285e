"""One BLAS thread for problems that several do not make faster.

numpy and scipy bring a BLAS each, and the threads of both keep waiting for work for some time after every call. Where
calls are short, that takes longer than the work.
"""

from contextlib import AbstractContextManager, nullcontext
from functools import cache

from threadpoolctl import ThreadpoolController


def one_blas_thread(wanted: bool) -> AbstractContextManager:
    """A context with one thread, if that is wanted."""
    return _blas().limit(limits=1, user_api="blas") if wanted else nullcontext()


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()
