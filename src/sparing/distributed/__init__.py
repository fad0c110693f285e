"""The same fits on the machines of a Dask cluster: rows and the cells bought from them stay on the workers.

Needs Dask, which is imported when one of the functions is first used: ``pip install "sparing[dask]"``. The computation
is that of one machine, with sums taken in parts. The parts are added by a tree whose shape depends only on the chunks,
so the result is the same to the last bit for any number of workers, at any speed, even if some of them die.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sparing.distributed.averaging import average
    from sparing.distributed.fitting import fit
    from sparing.distributed.predicting import predict

__all__ = ["average", "fit", "predict"]

_MODULES = {"average": "averaging", "fit": "fitting", "predict": "predicting"}


def __getattr__(name: str):
    if name not in _MODULES:
        raise AttributeError(f"module 'sparing.distributed' has no attribute {name!r}; it has {', '.join(__all__)}.")
    try:
        import_module("distributed")
    except ImportError as error:
        raise ImportError('sparing.distributed needs Dask; run: pip install "sparing[dask]"') from error
    return getattr(import_module(f"sparing.distributed.{_MODULES[name]}"), name)
