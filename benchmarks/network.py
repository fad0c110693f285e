"""A small network on scikit-learn's digits: CompAdaGrad and torch.optim.Adagrad with the same number of steps.

    python benchmarks/network.py

64-16-10 with tanh, 150 steps of 64 images. The result is the mean loss of the last ten steps, averaged over three
starts, for each optimiser at the best of four step sizes. The second table compares processor times of whole training
steps (forward, backward and optimiser), all optimisers in turn, for 150 and for 1,500 steps. Prints Markdown tables;
needs the extra ``torch``.
"""

from time import process_time

import numpy as np
import torch
from sklearn.datasets import load_digits

from sparing.optim.torch import CompAdaGrad

X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X / 16, dtype=torch.float32), torch.tensor(y)


def train(make, seed, steps=150) -> float:
    torch.manual_seed(seed)
    network = torch.nn.Sequential(torch.nn.Linear(64, 16), torch.nn.Tanh(), torch.nn.Linear(16, 10))
    optimizer, losses = make(network.parameters()), []
    for step in range(steps):
        rows = (torch.arange(64) + 64 * step) % len(X)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(X[rows]), y[rows])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return float(np.mean(losses[-10:]))


OPTIMISERS = {
    "torch.optim.Adagrad": (torch.optim.Adagrad, {}),
    "CompAdaGrad, k = 16 per tensor": (CompAdaGrad, {"k": 16}),
    "CompAdaGrad, k = 16 for all": (CompAdaGrad, {"k": 16, "whole_model": True}),
    "CompAdaGrad, k = 64 per tensor": (CompAdaGrad, {"k": 64}),
    "CompAdaGrad, k = 64 for all": (CompAdaGrad, {"k": 64, "whole_model": True}),
}


def times_over_adagrad(steps, repetitions) -> list[str]:
    """Times over that of Adagrad in the same turn: median and quartiles."""
    seconds = np.empty((repetitions, len(OPTIMISERS)))
    for repetition in range(-1, repetitions):  # the first one compiles
        for column, (cls, options) in enumerate(OPTIMISERS.values()):
            start = process_time()
            train(lambda p, cls=cls, options=options: cls(p, lr=0.2, **options), 0, steps)
            seconds[repetition, column] = process_time() - start
    quartiles = np.quantile(seconds / seconds[:, :1], [0.25, 0.5, 0.75], axis=0).T
    return [f"{middle:.2f} ({low:.2f} to {high:.2f})" for low, middle, high in quartiles]


def show_times() -> None:
    print("\n| optimiser | time / Adagrad, 150 steps | 1,500 steps |\n| --- | --- | --- |")
    for row in zip(OPTIMISERS, times_over_adagrad(150, 15), times_over_adagrad(1500, 7), strict=True):
        print("|", " | ".join(row), "|")


def main() -> None:
    torch.set_num_threads(1)
    print("| optimiser | step size | training loss |\n| --- | --- | --- |")
    for name, (cls, options) in OPTIMISERS.items():
        losses = {
            lr: [train(lambda p, lr=lr: cls(p, lr=lr, **options), seed) for seed in range(3)]  # noqa: B023
            for lr in (0.05, 0.1, 0.2, 0.4)
        }
        best = min(losses, key=lambda lr: np.mean(losses[lr]))
        found = np.array(losses[best])
        print(f"| {name} | {best} | {found.mean():.4f} ± {found.std(ddof=1) / np.sqrt(3):.4f} |", flush=True)
    show_times()


if __name__ == "__main__":
    main()
