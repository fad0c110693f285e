"""
Ridge regression whose cost does not depend on the condition number
===================================================================

The worse a problem is conditioned, the more steps conjugate gradients need. The real difficulty of a ridge problem is
its effective dimension d: roughly, the number of eigenvalues above the ridge. A sketch of about d log d rows captures
their directions. Used as a preconditioner, it makes the number of steps independent of the condition number.
"""

# %%
# Forty directions, with similar or very different eigenvalues
# ------------------------------------------------------------
# There are 1,500 rows and 250 columns. Forty eigenvalues are above the ridge of 1, and the largest of them equals the
# condition number; the others are far below the ridge. So the effective dimension is always about 40.
import matplotlib.pyplot as plt
import numpy as np

from sparing import SketchedRidge
from sparing.geometry import effective_dimension
from sparing.plotting import BLACK, PURPLE

ROWS, COLUMNS, ABOVE = 1_500, 250, 40
rng = np.random.default_rng(0)
left, right = (np.linalg.qr(rng.standard_normal((size, COLUMNS)))[0] for size in (ROWS, COLUMNS))


def problem(condition):
    """A matrix with that largest eigenvalue, and targets with noise."""
    spectrum = np.full(COLUMNS, 1e-3)
    spectrum[:ABOVE] = np.geomspace(10.0, condition, ABOVE)
    X = left * np.sqrt(spectrum) @ right.T
    return X, X @ rng.standard_normal(COLUMNS) / np.sqrt(condition) + rng.standard_normal(ROWS)


# %%
# Steps until the objective is 1e-10 above its minimum
# ----------------------------------------------------
SOLVERS = {"plain conjugate gradients": ("cg", BLACK, "v"), "with a sketch": ("sketch", PURPLE, "*")}
conditions = 10.0 ** np.arange(2, 11, 2)
steps = {label: [] for label in SOLVERS}
for condition in conditions:
    X, y = problem(condition)
    for label, (solver, _, _) in SOLVERS.items():
        model = SketchedRidge(1.0, solver=solver, fit_intercept=False, max_iter=5_000, random_state=0).fit(X, y)
        steps[label].append(model.n_iter_)
    print(
        f"condition {condition:.0e}: effective dimension {effective_dimension(X, 1.0):.1f}, estimated "
        f"{model.effective_dimension_:.1f}; {model.sketch_size_} rows in the sketch"
    )

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for label, (_, colour, marker) in SOLVERS.items():
    axes.plot(conditions, steps[label], label=label, color=colour, marker=marker, markersize=8)
axes.set(xscale="log", yscale="log", xlabel="condition number", ylabel="steps; each reads the matrix twice")
axes.set_yticks(ticks := [10, 20, 50, 100, 200, 500], [str(tick) for tick in ticks])
axes.minorticks_off()
axes.grid(alpha=0.25)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)

# %%
# :doc:`/effective-dimension` shows when this saves time, and when it does not.
assert max(steps["with a sketch"]) < min(steps["plain conjugate gradients"])
