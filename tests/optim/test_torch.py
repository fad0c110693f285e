"""The torch optimiser against its NumPy twin, torch.optim.Adagrad, and torch's own habits."""

import copy

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sparing.optim import comp_adagrad

torch = pytest.importorskip("torch", reason='needs PyTorch: pip install "sparing[torch]"')

import sparing.optim.torch as adapter  # noqa: E402
from sparing.optim.torch import CompAdaGrad  # noqa: E402

OPTIONS = {"k": 3, "tau": 1.5, "delta": 1e-3, "l2": 0.05, "refresh": 4}


def quadratic(parameters, seed=0):
    """A loss with as many random directions as steps will be made."""
    generator = torch.Generator().manual_seed(seed)

    def loss(step):
        generator.manual_seed(1000 * seed + step)
        return sum(
            ((p - 1) * torch.rand(p.shape, generator=generator, dtype=p.dtype)).sum() ** 2 / 2 for p in parameters
        )

    return loss


def descend(optimizer, loss, steps, first=0):
    for step in range(first, first + steps):
        optimizer.zero_grad()
        loss(step).backward()
        optimizer.step()


def parameters(dtype=torch.float64):
    return [
        torch.nn.Parameter(torch.linspace(0, 2, 10, dtype=dtype).reshape(2, 5)),
        torch.nn.Parameter(torch.zeros(3, dtype=dtype)),
    ]


@pytest.fixture(params=["compiled", "by torch"])
def driver(request, monkeypatch):
    """Both ways to make a step: the one of the CPU, and the one of other devices, which works there too."""
    if request.param == "by torch":
        monkeypatch.setattr(adapter, "is_compiled", lambda x: False)


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize("k", [0, 3, 8, 13])
@pytest.mark.parametrize("l2", [0.0, 0.05])
@pytest.mark.parametrize("deltas", [{}, {"delta_r": 1e-2}, {"delta_r": 1e-5, "delta_c": 0.1}])
def test_it_is_the_numpy_optimiser(k, l2, deltas):
    """On all tensors together, 30 steps; the sketches of one seed are the same."""
    tensors = parameters()
    x = np.concatenate([p.detach().numpy().ravel() for p in tensors])
    optimizer = CompAdaGrad(tensors, lr=0.3, **{**OPTIONS, "k": k, "l2": l2}, **deltas, whole_model=True, seed=5)
    init, update = comp_adagrad(0.3, **{**OPTIONS, "k": k, "l2": l2}, **deltas, random_state=5)
    state, loss = init(x), quadratic(tensors)
    for step in range(30):
        optimizer.zero_grad()
        loss(step).backward()
        g = np.concatenate([p.grad.numpy().ravel() for p in tensors])
        optimizer.step()
        x, state = update(g, state, x)
        found = np.concatenate([p.detach().numpy().ravel() for p in tensors])
        np.testing.assert_allclose(found, x, atol=1e-8)


@pytest.mark.usefixtures("driver")
def test_corrections_between_decompositions_are_as_exact():
    """A sketch larger than those that are always decomposed anew."""
    found = []
    for refresh in (1, 16):
        tensor = torch.nn.Parameter(torch.linspace(0, 2, 100, dtype=torch.float64))
        optimizer = CompAdaGrad([tensor], lr=0.3, k=40, l2=0.01, refresh=refresh)
        descend(optimizer, quadratic([tensor]), 70)
        found.append(tensor.detach())
    assert len(optimizer.state_dict()["state"][0]["recent"]) > 1
    torch.testing.assert_close(*found, atol=1e-7, rtol=0)


def test_single_precision_loses_no_digits_of_the_state():
    """Steps of float32 parameters follow those of float64 to the rounding of the parameters themselves."""
    found = []
    for dtype in (torch.float32, torch.float64):
        tensor = torch.nn.Parameter(torch.linspace(0, 2, 100, dtype=dtype))
        optimizer = CompAdaGrad([tensor], lr=0.3, k=20)
        for step in range(50):
            tensor.grad = torch.linspace(-1, 1, 100, dtype=dtype) * (1 + step % 7)
            optimizer.step()
        found.append(tensor.detach().double())
    torch.testing.assert_close(*found, atol=1e-5, rtol=0)


def test_a_state_saved_by_0_1_0_is_read():
    """It had one delta and counted steps."""
    first = parameters()
    optimizer = CompAdaGrad(first, lr=0.2, **OPTIONS)
    descend(optimizer, quadratic(first), 7)
    saved, second = optimizer.state_dict(), copy.deepcopy(first)
    for group in saved["param_groups"]:
        del group["delta_r"], group["delta_c"]
    for state in saved["state"].values():
        state["step"] = torch.tensor(7.0)
    resumed = CompAdaGrad(second)
    resumed.load_state_dict(saved)
    descend(optimizer, quadratic(first), 5, first=7)
    descend(resumed, quadratic(second), 5, first=7)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_without_a_sketch_it_is_torchs_adagrad():
    ours, theirs = parameters(), parameters()
    descend(CompAdaGrad(ours, lr=0.1, k=0, delta=1e-6), quadratic(ours), 40)
    descend(torch.optim.Adagrad(theirs, lr=0.1, eps=1e-6), quadratic(theirs), 40)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, atol=1e-10, rtol=0)


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize("whole_model", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_state_dict_goes_on_where_it_stopped(dtype, whole_model, tmp_path):
    first = parameters(dtype)
    optimizer = CompAdaGrad(first, lr=0.2, whole_model=whole_model, **OPTIONS)
    descend(optimizer, quadratic(first), 7)
    second = copy.deepcopy(first)
    torch.save(optimizer.state_dict(), tmp_path / "state.pt")
    resumed = CompAdaGrad(second, lr=9.0, whole_model=whole_model)
    resumed.load_state_dict(torch.load(tmp_path / "state.pt"))
    descend(optimizer, quadratic(first), 9, first=7)
    descend(resumed, quadratic(second), 9, first=7)
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a, b)


def test_groups_have_their_own_options():
    moved, slow = parameters()
    optimizer = CompAdaGrad([{"params": [moved]}, {"params": [slow], "lr": 1e-9, "k": 0}], lr=0.5, k=2)
    before = slow.detach().clone()
    descend(optimizer, quadratic([moved, slow]), 3)
    torch.testing.assert_close(slow.detach(), before, atol=1e-8, rtol=0)
    states = optimizer.state_dict()["state"]
    assert (states[0]["rows"].numel(), states[1]["rows"].numel()) == (2, 0)


def test_closures_and_tensors_without_gradient():
    tensors = parameters()
    optimizer = CompAdaGrad(tensors, lr=0.5, whole_model=True, **{**OPTIONS, "l2": 0.0})

    def closure():
        optimizer.zero_grad()
        value = (tensors[0] ** 2).sum()
        value.backward()
        return value

    values = [optimizer.step(closure).item() for _ in range(40)]
    assert values[-1] < 0.01 * values[0]
    assert tensors[1].grad is None


def test_bad_gradients_are_refused_before_anything_moves():
    tensors = parameters()
    optimizer = CompAdaGrad(tensors, lr=0.5, **OPTIONS)
    descend(optimizer, quadratic(tensors), 2)
    before = copy.deepcopy([p.detach() for p in tensors]), copy.deepcopy(optimizer.state_dict()["state"])
    tensors[1].grad[0] = float("nan")
    with pytest.raises(ValueError, match="NaN or infinity; nothing was changed"):
        optimizer.step()
    assert all(torch.equal(a, b) for a, b in zip(tensors, before[0], strict=True))
    after = optimizer.state_dict()["state"]
    assert all(torch.equal(after[i][name], before[1][i][name]) for i in after for name in after[i])


def test_sparse_gradients_and_bad_options_are_refused():
    embedding = torch.nn.Embedding(5, 3, sparse=True)
    embedding(torch.tensor([1])).sum().backward()
    with pytest.raises(ValueError, match="takes no sparse gradients; pass sparse=False"):
        CompAdaGrad(embedding.parameters()).step()
    for options, words in (
        ({"lr": -1.0}, "lr must be a positive"),
        ({"k": -1}, "k must be a whole number, 0 or more"),
        ({"delta": 0.0}, "delta must be a positive"),
        ({"delta_r": -1.0}, "delta_r must be a positive"),
        ({"delta_c": 0.0}, "delta_c must be a positive"),
        ({"refresh": 0}, "refresh must be a whole number"),
    ):
        with pytest.raises(ValueError, match=words):
            CompAdaGrad(parameters(), **options)


def train_on_digits(make, seed, steps=120):
    """A small network on small digits; the mean loss of the last ten steps."""
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X / 16, dtype=torch.float32), torch.tensor(y)
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
    return np.mean(losses[-10:])


def test_a_small_network_learns_digits_at_least_as_well_as_with_adagrad():
    """Mean over three starts, at the step size that was best of five for Adagrad."""

    def mean_loss(optimizer, **options):
        return np.mean([train_on_digits(lambda p: optimizer(p, lr=0.2, **options), seed) for seed in range(3)])

    theirs = mean_loss(torch.optim.Adagrad)
    assert mean_loss(CompAdaGrad, k=16, whole_model=True) <= theirs
    assert mean_loss(CompAdaGrad, k=16) <= theirs
