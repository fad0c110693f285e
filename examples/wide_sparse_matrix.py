"""
A hundred thousand columns, twenty looks a row
==============================================

As in texts, a few columns are often non-zero and most hardly ever. How often is easily counted, and says where to look:
a learner that knows the second moments of the columns makes more of its looks than one that looks anywhere.
"""

# %%
# Documents of sixty words
# ------------------------
import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sparing import BudgetClassifier
from sparing.compare import ALGORITHMS
from sparing.geometry import improvement_ratio, second_moments

rng = np.random.default_rng(0)
ROWS, TRAIN, COLUMNS, WORDS, LOOKS = 40_000, 30_000, 100_000, 60, 20
columns = np.floor(COLUMNS ** rng.random(ROWS * WORDS)).astype(np.int64) - 1
X = sparse.csr_array((np.ones(columns.size), columns, np.arange(0, columns.size + 1, WORDS)), shape=(ROWS, COLUMNS))
X.sum_duplicates()
score = X @ (rng.standard_normal(COLUMNS) * (np.arange(COLUMNS) < 30))
y = np.where(score > np.median(score), "yes", "no")

# %%
# What the second moments promise
# -------------------------------
# The improvement ratio compares the variance of looks that follow the moments with that of looks anywhere: 1 is none.
moments = second_moments(X[:TRAIN])
print(f"improvement ratio {improvement_ratio(moments):.2f}")

# %%
# What they give
# --------------
# A look at a zero counts like any other. The classifier warns, rightly, that most columns will hardly be looked at:
# here that does no harm, for those are the columns that are hardly ever there.
warnings.simplefilter("ignore", ConvergenceWarning)


def accuracy(n_rows, seed, **where):
    """Part of the test rows that are told right after a few looks at each of so many rows."""
    model = BudgetClassifier(LOOKS, learner="online", radius=0.5, scale=None, random_state=seed, **where)
    return model.fit(X[:n_rows], y[:n_rows]).score(X[TRAIN:], y[TRAIN:])


rows = np.array([1_000, 3_000, 10_000, TRAIN])
designs = {"DDAERR": {"second_moments": moments}, "AERR": {"design": "uniform"}}
scores = {
    name: np.array([[accuracy(n, seed, **where) for seed in range(3)] for n in rows]) for name, where in designs.items()
}
for name, runs in scores.items():
    print(f"{name}: {runs[-1].mean():.0%} ± {runs[-1].std(ddof=1):.0%} right from {LOOKS / COLUMNS:.2%} of the values")

# %%
# Three seeds; bars of one standard deviation.
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, runs in scores.items():
    look = ALGORITHMS[name]
    style = {"color": look.colour, "marker": look.marker, "markersize": 7, "capsize": 3, "label": look.label}
    axes.errorbar(rows, runs.mean(axis=1), yerr=runs.std(axis=1, ddof=1), **style)
axes.axhline(0.5, color="0.6", linestyle=":", linewidth=1)
axes.set(xscale="log", xlabel=f"rows, {LOOKS} of {COLUMNS:,} values read of each (log scale)", ylabel="part told right")
axes.set_xticks(rows, [f"{n:,}" for n in rows])
axes.minorticks_off()
axes.grid(alpha=0.25)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
assert scores["DDAERR"][-1].mean() > scores["AERR"][-1].mean()
