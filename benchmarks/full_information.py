"""Fewer looks at the rate of online gradient descent: looks saved against rounds lost (Kukliansky & Shamir, section 6).

    SPARING_DATA=folder python benchmarks/full_information.py

Ridge. Whole rows are available, but reading is what takes time. Online gradient descent reads d values per round.
DDAERR with k = ceil(||E[x^2]||_1/2 / E||x||^2) point looks reads k + 1 and has the same bound at twice the rounds. The
radius is that of an offline ridge solution for both. The step is the theorem's times a power of 4, chosen for each
learner and number of rounds on rows that are neither trained nor tested on. Test losses relative to the zero
predictor's, means of five orders. "Rounds" is the number after which DDAERR's loss, interpolated between powers of two,
is that of online gradient descent after 1,000; "values read" those of DDAERR in these rounds relative to its.

The second table says why. "Noise" is the second moment of DDAERR's gradient estimate over that of the gradient of a
whole row, at zero weights and at those of offline ridge regression, with the theorem's one look at the inner product
and with half of the looks; the theorem allows 2. "Even split" is the loss of DDAERR in 1,000 rounds with half of them.
"""

import numpy as np

from sparing.compare.algorithms import ALGORITHMS
from sparing.experiments.figures import QUICK
from sparing.experiments.prefixes import Prefixes, mnist, simulated
from sparing.learners import DDAERR, OnlineRidge
from sparing.theory import full_information_looks

ROUNDS = 1_000
SCALES = (1.0, 4.0, 16.0, 64.0)
ORDERS = 5
HELD_OUT = 2_000


def loss(data: Prefixes, learner, rows: np.ndarray, X, y) -> float:
    weights = learner.run(data.X[rows], data.y[rows]).coef
    return float(np.mean((X @ weights - y) ** 2) / np.mean(y**2))


def mean_loss(data: Prefixes, learner: type, options, m: int) -> float:
    """Mean test loss over the orders, at the step that does best on the held-out rows in the first two of them."""
    orders = [np.random.default_rng(seed).permutation(data.y.size) for seed in range(ORDERS)]
    held = orders[0][:HELD_OUT]
    trained = [order[~np.isin(order, held)][:m] for order in orders]

    def run(scale: float, i: int, X, y) -> float:
        return loss(data, learner(step_scale=scale, random_state=i, **options), trained[i], X, y)

    scores = {scale: np.mean([run(scale, i, data.X[held], data.y[held]) for i in range(2)]) for scale in SCALES}
    best = min(scores, key=lambda scale: scores[scale])
    return float(np.mean([run(best, i, data.X_test, data.y_test) for i in range(ORDERS)]))


def rounds_needed(counts: list[int], losses: list[float], wanted: float) -> float:
    """Where the losses, as a function of the logarithm of the rounds, fall to the wanted one; infinite if nowhere."""
    return float(np.exp(np.interp(-wanted, -np.array(losses), np.log(counts), right=np.inf)))


def noise(data: Prefixes, weights: np.ndarray, points: int, inner: int) -> float:
    """E||g_tilde||^2 / E||g||^2: ``points`` draws by q estimate x, ``inner`` draws by p the inner product."""
    squares = data.X.astype(np.float64) ** 2
    q, p = (size / size.sum() for size in (np.sqrt(data.moments), np.abs(weights) * np.sqrt(data.moments) + 1e-300))
    row = squares @ (1 / np.maximum(q, 1e-300)) / points + (1 - 1 / points) * squares.sum(axis=1)
    predictions = data.X @ weights
    spread = np.where(weights != 0, weights**2 / p, 0.0)
    slope = (squares @ spread - predictions**2) / inner + (predictions - data.y) ** 2
    return float(np.mean(slope * row) / np.mean((predictions - data.y) ** 2 * squares.sum(axis=1)))


def explain(name: str, data: Prefixes, few) -> str:
    looks = few["budget"]
    offline = ALGORITHMS["Ridge"].make(data.setting(ALGORITHMS["Ridge"], 1.0, 1.0, 0)).fit(data.X, data.y).coef_
    one, half = (looks - 1, 1), (looks - looks // 2, looks // 2)
    found = noise(data, 0 * offline, *one), noise(data, offline, *one), noise(data, offline, *half)
    even = mean_loss(data, DDAERR, few | {"split": "even"}, ROUNDS)
    return f"| {name} | {' | '.join(f'{value:.3g}' for value in found)} | {even:.3f} |"


def main() -> None:
    reasons = []
    panels = {f"simulated, exponent {e:g}": simulated(e, "ridge", {}) for e in (-1.0, -2.0)}
    print("| data | d | k + 1 | loss, whole rows | DDAERR, equal rounds | twice | four times | rounds | values read |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, panel in (panels | {"MNIST 3 against 5": mnist(57, {})}).items():
        data = panel(QUICK, 0)
        d, looks = data.X.shape[1], full_information_looks(data.moments) + 1
        plain = data.setting(ALGORITHMS["AERR"], 1.0, 1.0, 0)
        shared = {"n_attributes": d, "radius": plain.radius, "norm_bound": plain.norm}
        few = shared | {"budget": looks, "second_moments": data.moments, "inner": "improved"}
        whole = mean_loss(data, OnlineRidge, shared, ROUNDS)
        counts = [ROUNDS * 2**i for i in range(4)]
        losses = [mean_loss(data, DDAERR, few, m) for m in counts]
        needed = rounds_needed(counts, losses, whole)
        over, rounds = ("", needed) if np.isfinite(needed) else ("over ", counts[-1])
        shown = " | ".join(f"{value:.3f}" for value in losses[:3])
        spent = f"{over}{rounds:,.0f} | {over}{rounds * looks / (ROUNDS * d):.2f}"
        print(f"| {name} | {d} | {looks} | {whole:.3f} | {shown} | {spent} |", flush=True)
        reasons.append(explain(name, data, few))
    print("\n| data | noise, zero weights | offline weights | with half of the looks | loss, even split |")
    print("\n".join(["| --- | --- | --- | --- | --- |", *reasons]))


if __name__ == "__main__":
    main()
