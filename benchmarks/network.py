"""A small network on scikit-learn's digits: CompAdaGrad and torch.optim.Adagrad with the same number of steps.

    python benchmarks/network.py

64-16-10 with tanh, 150 steps of 64 images. The result is the mean loss of the last ten steps, averaged over three
starts, for each optimiser at the best of four step sizes. Prints a Markdown table; needs the extra ``torch``.
"""

import numpy as np
import torch
from sklearn.datasets import load_digits

from sparing.optim.torch import CompAdaGrad

X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X / 16, dtype=torch.float32), torch.tensor(y)


def train(make, seed) -> float:
    torch.manual_seed(seed)
    network = torch.nn.Sequential(torch.nn.Linear(64, 16), torch.nn.Tanh(), torch.nn.Linear(16, 10))
    optimizer, losses = make(network.parameters()), []
    for step in range(150):
        rows = (torch.arange(64) + 64 * step) % len(X)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(X[rows]), y[rows])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return float(np.mean(losses[-10:]))


def main() -> None:
    torch.set_num_threads(1)
    optimisers = {
        "torch.optim.Adagrad": (torch.optim.Adagrad, {}),
        "CompAdaGrad, k = 16 per tensor": (CompAdaGrad, {"k": 16}),
        "CompAdaGrad, k = 16 for all": (CompAdaGrad, {"k": 16, "whole_model": True}),
    }
    print("| optimiser | step size | training loss |\n| --- | --- | --- |")
    for name, (cls, options) in optimisers.items():
        losses = {
            lr: [train(lambda p, lr=lr: cls(p, lr=lr, **options), seed) for seed in range(3)]  # noqa: B023
            for lr in (0.05, 0.1, 0.2, 0.4)
        }
        best = min(losses, key=lambda lr: np.mean(losses[lr]))
        found = np.array(losses[best])
        print(f"| {name} | {best} | {found.mean():.4f} ± {found.std(ddof=1) / np.sqrt(3):.4f} |", flush=True)


if __name__ == "__main__":
    main()
