"""
Five minutes: medical tests with prices
=======================================

A hospital wants to predict how diabetes progresses. There are ten tests, and each has a price. Making every test on
every patient is too expensive. Which tests should be made on which patients, so that the hospital learns as much for
less money?

The 442 patients are real, and their data ship with scikit-learn. The prices are made up, but in the style of a health
service's price list: a dollar for what a nurse asks or measures, several dollars for each blood test.
"""

# %%
# Patients, tests and a price list
# --------------------------------
import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparing import BudgetClassifier, BudgetRidge
from sparing.datasets import load_medical
from sparing.planning import advice, plan
from sparing.plotting import BLACK, ORANGE, PURPLE

PRICES = {
    **{"age": 1.00, "sex": 1.00, "body mass": 1.00, "blood pressure": 1.00},
    **{"cholesterol": 7.27, "LDL": 7.27, "HDL": 7.27, "chol. / HDL": 7.27, "triglycerides": 7.27, "glucose": 5.20},
}
costs = np.array(list(PRICES.values()))
X, progression = load_diabetes(return_X_y=True, scaled=False)
print(f"{len(X)} patients; all {len(costs)} tests of one patient cost ${costs.sum():.2f}")

# %%
# Buy a few tests of each patient
# -------------------------------
# We may spend at most $16 per patient, which is about a third of the full price. ``BudgetRidge`` decides which tests to
# make, reads nothing else, keeps every value it paid for, and learns from all of them at once.
order = np.random.default_rng(0).permutation(len(X))
train, test = order[:320], order[320:]

model = BudgetRidge(budget=16.0, costs=costs, random_state=0).fit(X[train], progression[train])
print(f"spent ${model.spent_:,.0f} on {model.n_iter_} patients, for {model.cells_:,} of {X[train].size:,} values")
print(f"R² on other patients: {model.score(X[test], progression[test]):.2f}")
print(model.report_["why"])

# %%
# Predicting does not need this library: ``model.to_sklearn()`` is a plain ``Ridge``. The bought values are yours, too:
# ``model.learner_.bought`` holds every value with its inclusion probability, and can be saved and merged.
#
# Was that a good buy?
# --------------------
# For the same money we could have made *all* tests on fewer patients. We compare both ways on ten splits of the
# patients:


def all_tests(patients, money):
    """Ridge regression on all tests of as many patients as the money pays for."""
    affordable = patients[: int(money / costs.sum())]
    model = make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-2, 4, 13)))
    return model.fit(X[affordable], progression[affordable])


def both_ways(n_patients, seed):
    """Money spent, and R² on new patients: with a few tests per patient, and with all tests for the same money."""
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[:320], order[320:]
    bought = train[:n_patients]
    few = BudgetRidge(budget=16.0, costs=costs, random_state=seed).fit(X[bought], progression[bought])
    models = few, all_tests(train, few.spent_)
    return few.spent_, *(model.score(X[test], progression[test]) for model in models)


results = np.array([[both_ways(n, seed) for seed in range(10)] for n in (40, 80, 160, 320)])
dollars = results[:, :, 0].mean(axis=1)

# %%
# On the left, the picture shows medians and quartiles of the ten splits. On the right, it shows what the first model
# bought: a test that costs a dollar is made on three patients in four, an expensive one on one in four.
figure, (curves, bars) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", width_ratios=(3, 2))
for column, label, colour, marker in (
    (1, "a few tests of every patient", PURPLE, "*"),
    (2, "all tests of fewer patients", BLACK, "v"),
):
    low, middle, high = np.percentile(results[:, :, column], [25, 50, 75], axis=1)
    spread = [middle - low, high - middle]
    curves.errorbar(dollars, middle, yerr=spread, label=label, color=colour, marker=marker, markersize=8, capsize=3)
curves.set(xscale="log", xlabel="dollars spent (log scale)", ylabel="R² on new patients", ylim=(-0.4, 0.6))
curves.set_xticks(dollars, [f"${spent:,.0f}" for spent in dollars])
curves.minorticks_off()
curves.legend(frameon=False, loc="lower right")

looks = np.bincount(model.learner_.bought.attributes, minlength=len(costs)) / len(train)
bars.barh(list(PRICES), looks, color=ORANGE)
bars.invert_yaxis()
bars.bar_label(bars.containers[0], [f" ${price:.2f}" for price in costs], fontsize=8)
bars.set(xlabel="fraction of patients for whom it was bought", xlim=(0, 1.15))
for axes in (curves, bars):
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)

# %%
# With little money, a few tests per patient are clearly better. When the money pays for all tests of fifty patients,
# the difference is gone. So it is useful to know beforehand:
#
# Plan before spending
# --------------------
# A plan takes the values bought so far as a pilot, and forecasts the error of both ways, with intervals of 90 %.
few_patients = BudgetRidge(budget=16.0, costs=costs, random_state=0).fit(X[train[:100]], progression[train[:100]])
prospects = plan(few_patients.learner_.bought, budget=16.0, costs=costs, spends=[500, 2000, 8000])
for p in prospects:
    few, whole = ("{:.2f} to {:.2f}".format(*interval) for interval in (p.few_interval, p.whole_interval))
    print(
        f"${p.spend:5,.0f}: error {p.few:.2f} ({few}) by a few tests of each, {p.whole:.2f} ({whole}) by all of fewer"
    )
print(advice(prospects))

# %%
# Published prices
# ----------------
# Four classic medical data sets have published prices (Turney 1995), with panels: tests of one group are bought
# together. They are read from the folder that ``SPARING_DATA`` names; without it, this part is skipped. A budget of
# $470 per patient is enough for the two most expensive panels.
if os.environ.get("SPARING_DATA"):
    heart = load_medical("heart")
    known = ~np.isnan(heart.data).any(axis=1)
    patients, ill = heart.data[known], heart.target[known]
    half = len(ill) // 2
    model = BudgetClassifier(budget=470.0, costs=heart.costs, groups=heart.groups, random_state=0)
    accuracy = model.fit(patients[:half], ill[:half]).score(patients[half:], ill[half:])
    print(f"heart disease: {accuracy:.0%} correct for ${model.spent_:,.0f}; all tests ${half * heart.costs.sum():,.0f}")
else:
    print("SPARING_DATA is not set: the medical data sets with published prices are unavailable")

# %%
# Where to go next:
#
# * ``sparing fit patients.csv --target ... --costs prices.csv`` does the same on your own file (:doc:`/command-line`);
# * :doc:`paid_tests` makes tests one patient at a time;
# * :doc:`/guide` helps to choose a learner, and :doc:`/glossary` defines the words used here.
