"""How kernels are compiled: one decorator for entries called from Python, one for the parts they are made of.

Division by zero follows IEEE rules as in NumPy (no hidden exception path in the inner loops). Parts are inlined
before type inference, so that the tuples of arrays they take are never passed, counted or copied at run time.
"""

from numba import njit

entry = njit(cache=True, error_model="numpy", nogil=True)
part = njit(cache=True, error_model="numpy", inline="always")
