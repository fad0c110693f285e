"""
A hundred thousand columns, twenty looks per row
================================================

In text data, a few columns are often non-zero, and most are almost always zero. The frequencies are easy to count, and
they show where to look. A learner that knows the second moments of the columns learns more from the same number of
looks than one that looks uniformly.
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
# The improvement ratio compares the second moment of gradient estimates from looks by second moments with that from
# uniform looks: 1 is no gain, near 0 is a large gain.
moments = second_moments(X[:TRAIN])
print(f"improvement ratio {improvement_ratio(moments):.2f}")

# %%
# What they achieve
# -----------------
# A look at a zero counts like any other look. The classifier warns, correctly, that most columns get very few looks.
# Here that does no harm, because those columns are almost always zero.
warnings.simplefilter("ignore", ConvergenceWarning)


def accuracy(n_rows, seed, **where):
    """Accuracy on the test rows after a few looks per row at ``n_rows`` rows."""
    model = BudgetClassifier(LOOKS, learner="online", radius=0.5, scale=None, random_state=seed, **where)
    return model.fit(X[:n_rows], y[:n_rows]).score(X[TRAIN:], y[TRAIN:])


rows = np.array([1_000, 3_000, 10_000, TRAIN])
designs = {"DDAERR": {"second_moments": moments}, "AERR": {"design": "uniform"}}
scores = {
    name: np.array([[accuracy(n, seed, **where) for seed in range(3)] for n in rows]) for name, where in designs.items()
}
for name, runs in scores.items():
    print(f"{name}: {runs[-1].mean():.0%} ± {runs[-1].std(ddof=1):.0%} correct from {LOOKS / COLUMNS:.2%} of values")

# %%
# The picture shows means over three seeds; bars are one standard deviation.
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, runs in scores.items():
    look = ALGORITHMS[name]
    style = {"color": look.colour, "marker": look.marker, "markersize": 7, "capsize": 3, "label": look.label}
    axes.errorbar(rows, runs.mean(axis=1), yerr=runs.std(axis=1, ddof=1), **style)
axes.axhline(0.5, color="0.6", linestyle=":", linewidth=1)
axes.set(xscale="log", xlabel=f"rows (log scale), {LOOKS} of {COLUMNS:,} values read per row", ylabel="test accuracy")
axes.set_xticks(rows, [f"{n:,}" for n in rows])
axes.minorticks_off()
axes.grid(alpha=0.25)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
assert scores["DDAERR"][-1].mean() > scores["AERR"][-1].mean()
