"""How kernels are compiled: one decorator for entries called from Python, two for what they are made of.

Everything is inlined and reference counting is switched off: the tuples of arrays that kernels take are never passed,
counted or copied at run time. So kernels allocate nothing; Python hands them their arrays. Division by zero follows
IEEE rules as in NumPy (no hidden exception path in the inner loops).

The first fit on a machine waits until its kernels are compiled (benchmarks/cold_start.py): half of the time for Numba,
half for LLVM. Numba inlines small parts; at every level of nesting it copies their code twice, and with each block all
names, so large or deeply nested parts take it long. Those are pieces: Numba compiles them once, as functions, and LLVM
inlines them. LLVM optimises a piece a little, emits it, and does both again in every kernel that calls it, directly or
not, a rare one too: so what is large and rare is called from few places. A loop costs as much as five other statements;
``min`` and ``max`` compile a function for every type; a constant argument such as -1 compiles a piece once more; every
array that Python passes adds code to unpack it, and so does every call of a piece with the tuple that holds it. What a
kernel does not need, Python passes as None, or as another type: then its code is dropped before types are inferred, or
never chosen. What is called seldom, on little, is left to NumPy or the interpreter.
"""

import gc
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.core import event

_SOURCES = sha256(b"".join(source.read_bytes() for source in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()
_ENTRY: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False, "no_cfunc_wrapper": True}
_ANY_ORDER = {"reassoc", "contract"}
PIECE = _ENTRY | {"no_cpython_wrapper": True, "forceinline": True}

part = njit(error_model="numpy", inline="always")


class _Sooner(event.Listener):
    """What makes compiling faster, while it lasts.

    Pieces are optimised a little (level 1 of ``NUMBA_OPT``), as they are optimised again where they are called; so are
    entries without long loops. And there is no garbage collection, which would go through objects that are in use
    again and again.
    """

    def __init__(self):
        self.levels, self.stopped = [], False

    def on_start(self, event):
        """Numba compiles one kernel at a time, and within it those that it calls."""
        ours = event.data["dispatcher"].py_func.__module__.startswith("sparing.")
        if not self.levels and ours:
            self.stopped = gc.isenabled()
            gc.disable()
        self.levels.append(config.OPT)
        if ours and event.data["dispatcher"].py_func in _LITTLE:
            config.OPT = min(_LEVEL, config.OPT)

    def on_end(self, event):
        """Called even if compiling fails or is interrupted."""
        config.OPT = self.levels.pop()
        if not self.levels and self.stopped:
            self.stopped = False
            gc.enable()


_LITTLE: set[Any] = set()
_LEVEL = type(config.OPT)(1)
event.register("numba:compile", _Sooner())


def piece(function=None, *, any_order: bool = False, rare: bool = False):
    """Compile for calls from other kernels; a ``rare`` one is really called, not inlined."""
    if function is None:
        return lambda function: piece(function, any_order=any_order, rare=rare)
    _LITTLE.add(function)
    return njit(fastmath=any_order and _ANY_ORDER, **PIECE | {"forceinline": not rare})(function)


def entry(function=None, *, any_order: bool = False, short_loops: bool = False):
    """Compile for calls from Python, once per machine; with ``any_order`` sums may be taken in any fixed order.

    With ``short_loops``, over the looks of one row, there is nothing to gain from unrolled loops and vectors.

    Numba takes a compiled entry for valid while its own file is unchanged, though code from other files is inlined
    in it; so the stamp on its cache is made that of all kernel sources.
    """
    if function is None:
        return lambda function: entry(function, any_order=any_order, short_loops=short_loops)
    if short_loops:
        _LITTLE.add(function)
    kernel = njit(cache=True, fastmath=any_order and _ANY_ORDER, **_ENTRY)(function)
    cache = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    if cache is not None:  # with NUMBA_DISABLE_JIT=1 there is none
        cache._source_stamp = _SOURCES
        # A cache of other sources is not even opened: it may name types that no longer exist.
        cache._index_name = f"{_SOURCES[:12]}.{cache._index_name}"
        cache._index_path = str(Path(cache._cache_path) / cache._index_name)
        cache._data_name_pattern = f"{_SOURCES[:12]}.{cache._data_name_pattern}"
    return kernel
