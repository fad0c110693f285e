"""How inner-product draws of two-phased learners should follow estimated second moments: no run may blow up.

    python benchmarks/two_phased.py [--repetitions 20]

Simulated data of Kukliansky & Shamir 2015 with exponent -2: 500 attributes, 5 looks, 20,000 rows, 10,000 test rows.
Settings are fixed, the same for all learners; the radius is a multiple of that of an offline ridge solution. Six data
sets with their own weights (seeds 10 to 15: rule and settings were chosen on 0 to 5), each run so many times in a new
order with new draws. Test losses relative to the zero predictor's: a run above 1 is worse than not learning.

Draws of the inner product: p of the paper, w^2 (ridge) or |w| (lasso); |w| sqrt(A) with the estimates of phase one at
their word; |w| sqrt(U) with the upper estimates that ``inner="improved"`` uses.
"""

import argparse

import numpy as np

from sparing.compare.algorithms import ALGORITHMS
from sparing.compare.running import seed_of_repetition
from sparing.experiments.figures import QUICK
from sparing.experiments.prefixes import Prefixes, simulated
from sparing.learners import AELR, AERR, TwoPhasedDDAELR, TwoPhasedDDAERR

SETTINGS = {"ridge": ((0.5, 8.0), (1.0, 8.0)), "lasso": ((1.0, 1024.0), (2.0, 1024.0))}  # radius and factor of the step
SEEDS = range(10, 16)  # rule and settings were chosen on the data sets 0 to 5


class Estimates:
    """Draws by the estimates of the second moments, as they are."""

    def _importance(self):
        kept = self._state.model.importance
        return kept if kept.size else np.sqrt(self.second_moments)


def by_estimates(learner: type) -> type:
    """The learner under its own name, by which its theorem is found, with the other draws."""
    return type(learner.__name__, (Estimates, learner), {})


LEARNERS = {
    "ridge": {
        "AERR": (AERR, "paper"),
        "two-phased, paper's p": (TwoPhasedDDAERR, "paper"),
        "two-phased, estimates": (by_estimates(TwoPhasedDDAERR), "improved"),
        "two-phased, upper estimates": (TwoPhasedDDAERR, "improved"),
    },
    "lasso": {
        "AELR": (AELR, "paper"),
        "two-phased, paper's p": (TwoPhasedDDAELR, "paper"),
        "two-phased, estimates": (by_estimates(TwoPhasedDDAELR), "improved"),
        "two-phased, upper estimates": (TwoPhasedDDAELR, "improved"),
    },
}


def losses(data: Prefixes, penalty: str, learner: type, inner: str, setting, repetitions: int) -> np.ndarray:
    """Test losses of so many runs."""
    plain, found = ALGORITHMS[{"ridge": "AERR", "lasso": "AELR"}[penalty]], []
    for repetition in range(repetitions):
        seed = seed_of_repetition(data.seed, repetition)
        rows = np.random.default_rng(seed).permutation(data.y.size)
        options = data.setting(plain, *setting, seed).few
        model = learner(data.X.shape[1], inner=inner, **options).run(data.X[rows], data.y[rows])
        found.append(np.mean((data.X_test @ model.coef - data.y_test) ** 2) / np.mean(data.y_test**2))
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=20)
    repetitions = parser.parse_args().repetitions
    print("| penalty | radius, step × | learner | mean | median | largest | runs above 1 |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for penalty, learners in LEARNERS.items():
        sets = [simulated(-2.0, penalty, {})(QUICK, seed) for seed in SEEDS]
        for setting in SETTINGS[penalty]:
            for name, (learner, inner) in learners.items():
                found = np.concatenate([losses(data, penalty, learner, inner, setting, repetitions) for data in sets])
                where = f"{penalty} | {setting[0]:g}, {setting[1]:g} | {name}"
                summary = f"{found.mean():.3f} | {np.median(found):.3f} | {found.max():.2f}"
                print(f"| {where} | {summary} | {np.sum(found > 1)} of {found.size} |", flush=True)


if __name__ == "__main__":
    main()
