"""How kernels are compiled: one decorator for entries called from Python, one for the parts they are made of.

Division by zero follows IEEE rules as in NumPy (no hidden exception path in the inner loops). Parts are inlined
before type inference, so that the tuples of arrays they take are never passed, counted or copied at run time.
"""

from pathlib import Path

from numba import njit

entry = njit(cache=True, error_model="numpy", nogil=True)
part = njit(cache=True, error_model="numpy", inline="always")


def forget_stale_kernels(folder: Path) -> None:
    """Remove compiled entries older than any kernel source.

    Numba compares an entry with its own file only, so it would go on running parts that have since changed.
    """
    newest = max(source.stat().st_mtime for source in folder.glob("*.py"))
    for index in (folder / "__pycache__").glob("*.nbi"):
        try:
            if index.stat().st_mtime < newest:
                index.unlink()
        except OSError:  # another process was faster, or the folder is read-only
            continue


forget_stale_kernels(Path(__file__).parent)
