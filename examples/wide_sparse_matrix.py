"""Learn from a matrix with a hundred thousand columns by looking at twenty values of each row.

As in texts, a few columns are often non-zero and most hardly ever. How often is easily counted, and says where to look.
"""

import numpy as np
from scipy import sparse

from sparing import BudgetClassifier
from sparing.geometry import improvement_ratio, second_moments

rng = np.random.default_rng(0)
ROWS, COLUMNS, WORDS = 40_000, 100_000, 60
TRAIN = 30_000
columns = np.floor(COLUMNS ** rng.random(ROWS * WORDS)).astype(np.int64) - 1
X = sparse.csr_array((np.ones(columns.size), columns, np.arange(0, columns.size + 1, WORDS)), shape=(ROWS, COLUMNS))
X.sum_duplicates()
weights = rng.standard_normal(COLUMNS) * (np.arange(COLUMNS) < 100)
y = np.where(X @ weights > 0, "yes", "no")

moments = second_moments(X[:TRAIN])
print(f"improvement ratio {improvement_ratio(moments):.3f}: looking by second moments saves a lot")
model = BudgetClassifier(budget=20, second_moments=moments, radius=2.0, scale=None, fit_intercept=False, random_state=0)
model.fit(X[:TRAIN], y[:TRAIN])
share = model.cells_ / (TRAIN * COLUMNS)
print(f"{model.score(X[TRAIN:], y[TRAIN:]):.0%} right after reading {share:.3%} of the values")
assert model.score(X[TRAIN:], y[TRAIN:]) > 0.6
