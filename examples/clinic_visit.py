"""
A clinic: from learning on a budget to a visit
==============================================

A model that was learnt from six of thirty measurements of each patient should not need all thirty to predict. Here it
says in which order to measure. Then it asks for the values of one patient, one by one, and stops when no further
measurement is worth its price. The data ship with scikit-learn; the prices are made up. :doc:`/visits` shows results
for heart disease, with the real prices of its tests.
"""

# %%
# Learning from six measurements of each patient
# ----------------------------------------------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from sparing import BudgetClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = np.where(y == 0, "malignant", "benign")
prices = {name: 10.0 if name.startswith("worst") else 4.0 for name in X}
model = BudgetClassifier(budget=6, random_state=0).fit(X[:400], y[:400])

# %%
# Rows known in part
# ------------------
# Columns that a data frame lacks count as missing values, and so does NaN.
print(model.predict_proba(X.loc[400:402, ["worst area", "mean texture"]]).round(2))

# %%
# A route: in which order to measure
# ----------------------------------
route = model.route(costs=prices)
print("\n".join(repr(route).splitlines()[:8]))

# %%
# A visit: one patient
# --------------------
# A wrong label costs 500. The visit looks ahead: it goes on as long as some measurements, taken together, are worth
# more than they cost.
patient = X.loc[402]
visit = model.visit({"mean texture": patient["mean texture"]}, costs=prices, price_of_error=500)
while (query := visit.ask()) is not None:
    print(f"{visit.offer.name} for {visit.offer.price:g}; expected error without it {visit.offer.before:.3f}")
    visit.tell(query, patient.iloc[query.attributes])
print(f"{visit.prediction} ({visit.proba.max():.1%}), spent {visit.spent:g}: {visit.why}")

# %%
# All patients
# ------------
# The more expensive an error, the more is measured, most of all for doubtful patients. For comparison, the picture
# shows the same measurements for everybody, in the order of the route. This is one split of the patients: one of the
# 169 new ones is 0.006 of the accuracy.
test = X[400:].to_numpy()
visits = [model.buy(test, costs=prices, price_of_error=price) for price in np.geomspace(10, 3000, 9)]
same = [model.buy(test, costs=prices, budget=budget) for budget in (4, 10, 14, 20, 30, 40, 60)]
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for bought, label in ((visits, "visits"), (same, "the same for everybody")):
    spent = [b.spent.mean() for b in bought]
    axes.plot(spent, [np.mean(b.predictions == y[400:]) for b in bought], marker="o", label=label)
axes.set(xlabel="spent per patient, on average", ylabel="accuracy")
axes.grid(alpha=0.25)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="lower right")
assert np.mean(visits[-1].predictions == y[400:]) > 0.91
