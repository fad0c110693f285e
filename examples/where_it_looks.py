"""
Where it looks, and what it learns
==================================

Is a handwritten digit odd? We look at 6 of the 64 pixels of each image. A learner that keeps what it buys begins by
looking anywhere, and then where pixels vary and matter: those that are white in every image are left alone.
"""

# %%
# Keep, forget, or buy whole images
# ---------------------------------
# Three ways to spend as many looks, each on three orders of the images: ``BudgetRidge`` as it is; the same with one of
# the papers' online learners, which make a step with what they see and forget it; and ridge regression on whole images,
# of which as many values are only 126.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeCV

from sparing import BudgetRidge
from sparing.datasets import load_digits_parity

pixels, odd = load_digits_parity(return_X_y=True)
TRAIN, LOOKS = 1_344, 6
WHOLE = TRAIN * LOOKS // pixels.shape[1]
ridge = RidgeCV(alphas=np.logspace(-2, 5, 15))
told_right = {"keeps": [], "forgets": [], "whole images": []}
for seed in range(3):
    order = np.random.default_rng(seed).permutation(len(odd))
    train, test = order[:TRAIN], order[TRAIN:]
    kept = BudgetRidge(LOOKS, random_state=seed).fit(pixels[train], odd[train])
    forgot = BudgetRidge(LOOKS, learner="online", random_state=seed).fit(pixels[train], odd[train])
    whole = ridge.fit(pixels[train[:WHOLE]], odd[train[:WHOLE]])
    for way, model in zip(told_right, (kept, forgot, whole), strict=True):
        told_right[way].append(np.mean(np.sign(model.predict(pixels[test])) == odd[test]))
for way, parts in told_right.items():
    print(f"{way:12s} {np.mean(parts):.1%} ± {np.std(parts, ddof=1):.1%} right")

# %%
# Keeping is well ahead of forgetting. Whole images, where they can be had at the same price a value, do a little better
# still; on larger images it is the other way round (:doc:`/keeping`).
#
# The looks and the weights
# -------------------------
# Weights are shown times the spread of their pixel: red speaks for odd, blue for even. The middle picture has seen a
# tenth of the values of the right one.
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
assert np.mean(told_right["keeps"]) > np.mean(told_right["forgets"])
