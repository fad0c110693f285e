"""
Where it looks, and what it learns
==================================

Is a handwritten digit odd? We look at 6 of the 64 pixels of each image. A keeping learner begins with uniform looks,
and then prefers pixels that vary and have large weights. Pixels that are white in every image are hardly looked at
again.
"""

# %%
# Keep, forget, or buy whole images
# ---------------------------------
# We compare three ways to spend the same number of looks, each on three orders of the images:
#
# * ``BudgetRidge`` with a keeping learner (and weights rather than curves);
# * ``BudgetRidge`` with one of the papers' online learners, which make a step from each example and forget it;
# * ridge regression on whole images, 126 of which have the same number of values.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeCV

from sparing import BudgetRidge
from sparing.datasets import load_digits_parity

pixels, odd = load_digits_parity(return_X_y=True)
TRAIN, LOOKS = 1_344, 6
WHOLE = TRAIN * LOOKS // pixels.shape[1]
ridge = RidgeCV(alphas=np.logspace(-2, 5, 15))
correct = {"keeps": [], "forgets": [], "whole images": []}
for seed in range(3):
    order = np.random.default_rng(seed).permutation(len(odd))
    train, test = order[:TRAIN], order[TRAIN:]
    kept = BudgetRidge(LOOKS, features="linear", random_state=seed).fit(pixels[train], odd[train])
    forgot = BudgetRidge(LOOKS, learner="online", random_state=seed).fit(pixels[train], odd[train])
    whole = ridge.fit(pixels[train[:WHOLE]], odd[train[:WHOLE]])
    for way, model in zip(correct, (kept, forgot, whole), strict=True):
        correct[way].append(np.mean(np.sign(model.predict(pixels[test])) == odd[test]))
for way, fractions in correct.items():
    print(f"{way:12s} {np.mean(fractions):.1%} ± {np.std(fractions, ddof=1):.1%} correct")

# %%
# Keeping is much better than forgetting. Whole images, where they are available at the same price per value, are
# slightly better still; on larger images it is the other way round (:doc:`/keeping`).
#
# The looks and the weights
# -------------------------
# Weights are multiplied by the standard deviation of their pixel: red is evidence for odd, blue for even. The weights
# in the middle were learnt from a tenth of the values of those on the right.
everything = ridge.fit(pixels[train], odd[train])
looks = np.bincount(kept.learner_.bought.attributes, minlength=64)

figure, panels = plt.subplots(1, 3, figsize=(9.5, 3.2), layout="constrained")
shown = panels[0].imshow(looks.reshape(8, 8), cmap="viridis", vmin=0)
figure.colorbar(shown, ax=panels[0], shrink=0.8)
for axes, model in ((panels[1], kept), (panels[2], everything)):
    effects = model.coef_ * pixels[train].std(axis=0)
    shown = axes.imshow(effects.reshape(8, 8), cmap="RdBu_r", vmin=-0.4, vmax=0.4)
figure.colorbar(shown, ax=panels[2], shrink=0.8)
for axes, title in zip(panels, ("looks at each pixel", "weights, from 6 of 64 pixels", "from all pixels"), strict=True):
    axes.set(xticks=[], yticks=[])
    axes.set_title(title, fontsize=11)
assert np.mean(correct["keeps"]) > np.mean(correct["forgets"])
