"""
Fewer rounds on correlated attributes
=====================================

Diagonal AdaGrad gives each weight a step size of its own and ignores correlations between attributes. Full-matrix
AdaGrad uses them, at the cost of a full matrix. CompAdaGrad uses them inside a sketch of k dimensions and is diagonal
in the rest. Both its loss and its cost lie between those of the other two.
"""

# %%
# Rows near a few common directions
# ---------------------------------
# All 64 attributes are combinations of four hidden variables, of sizes 1 to 1/27, plus a little noise. The class
# probability depends on the sum of the hidden variables.
import matplotlib.pyplot as plt
import numpy as np

from sparing.optim import adagrad, comp_adagrad, full_adagrad
from sparing.plotting import BLACK, BLUE, ORANGE, PURPLE

GAMES, ROUNDS, ATTRIBUTES = 5, 400, 64
rng = np.random.default_rng(0)


def game():
    """One row and one class, -1 or +1, per round; rows have a norm of about one."""
    hidden = rng.standard_normal((ROUNDS, 4))
    directions = rng.standard_normal((4, ATTRIBUTES)) * 3.0 ** -np.arange(4)[:, None]
    rows = hidden @ directions + 0.001 * rng.standard_normal((ROUNDS, ATTRIBUTES))
    chances = 1.0 / (1.0 + np.exp(-2.0 * hidden.sum(axis=1)))
    return rows / np.linalg.norm(rows, axis=1).mean(), np.where(rng.random(ROUNDS) < chances, 1.0, -1.0)


# %%
# Predict, incur a loss, make a step
# ----------------------------------
# An optimiser is a pair of functions: ``init`` returns its state, ``update`` makes a step from a gradient. The loss of
# a round is the logistic loss of the weights before the step.
def losses(rows, classes, optimizer):
    """The loss of every round."""
    init, update = optimizer
    weights = np.zeros(ATTRIBUTES)
    state, suffered = init(weights), []
    for row, sign in zip(rows, classes, strict=True):
        margin = sign * (row @ weights)
        suffered.append(np.logaddexp(0.0, -margin))
        weights, state = update(-sign * row / (1.0 + np.exp(margin)), state, weights)
    return suffered


OPTIMIZERS = {
    "diagonal": (adagrad(1.0), BLUE),
    "CompAdaGrad, k = 8": (comp_adagrad(1.0, k=8, random_state=0), ORANGE),
    "CompAdaGrad, k = 32": (comp_adagrad(1.0, k=32, random_state=0), PURPLE),
    "full matrix": (full_adagrad(3.0), BLACK),
}
games = [game() for _ in range(GAMES)]
suffered = {
    name: np.array([losses(*rows_and_classes, optimizer) for rows_and_classes in games])
    for name, (optimizer, _) in OPTIMIZERS.items()
}

# %%
# Average loss so far
# -------------------
# The picture shows means over five games, with one standard error. Each optimiser has the best of four step sizes,
# chosen on other games of this kind (:doc:`/compadagrad`). The larger the sketch, the closer its loss is to that of the
# full matrix.
rounds = np.arange(1, ROUNDS + 1)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, (_, colour) in OPTIMIZERS.items():
    so_far = np.cumsum(suffered[name], axis=1) / rounds
    mean, error = so_far.mean(axis=0), so_far.std(axis=0, ddof=1) / GAMES**0.5
    axes.plot(rounds, mean, label=name, color=colour)
    axes.fill_between(rounds, mean - error, mean + error, color=colour, alpha=0.15, linewidth=0)
    print(f"{name:20s} {mean[-1]:.3f} ± {error[-1]:.3f}")
axes.set(xscale="log", xlim=(30, ROUNDS), xlabel="rounds (log scale)", ylabel="mean loss so far", ylim=(0.3, 0.75))
axes.set_xticks([30, 100, 200, 400], ["30", "100", "200", "400"])
axes.minorticks_off()
axes.grid(alpha=0.25)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="lower left")
assert suffered["CompAdaGrad, k = 32"].mean() < suffered["diagonal"].mean()
