"""CompAdaGrad for PyTorch; needs the extra ``sparing[torch]``."""

from itertools import chain
from math import isfinite

import numpy as np

try:
    import torch
except ImportError as error:  # pragma: no cover
    raise ImportError('CompAdaGrad for torch needs PyTorch; run: pip install "sparing[torch]"') from error

from sparing import checks
from sparing.optim.compressed import CompressedState, advance, begin
from sparing.optim.root import SMALL, Root, due, nodes, renewed
from sparing.optim.vectors import Strengths, strengths
from sparing.sketches import SRHT

EXACT = ("rows", "signs", "hidden", "squares", *Root._fields)  # kept as they are, whatever precision parameters have
COMPILED = "compiled"  # where the state holds that of comp_adagrad


class CompAdaGrad(torch.optim.Optimizer):
    r"""CompAdaGrad (Mehta et al. 2016) for torch; the method is :func:`sparing.optim.comp_adagrad`.

    Parameters
    ----------
    params : iterable of tensors, or of parameter groups
        Every option below may differ from group to group.
    lr : float, default=0.01
        Step size :math:`\eta`.
    k : int, default=64
        Dimension of the sketch; 0 is diagonal AdaGrad, that of ``torch.optim.Adagrad``. At least as many as there are
        numbers to optimise is full-matrix AdaGrad.
    tau, delta, delta_r, delta_c, l2, refresh : float, or int for refresh
        As in :func:`sparing.optim.comp_adagrad`. ``l2`` is a composite term, not added to the gradient.
    whole_model : bool, default=False
        One sketch over all tensors of a group together, rather than one per tensor.
    seed : int, default=0
        Draws the sketches.

    Notes
    -----
    Sketches are linear in memory: the state holds two numbers per parameter and about three :math:`k^2` matrices in
    double precision, for each tensor or for the whole group. On the CPU all of the state is in double precision, and
    the steps are the compiled ones of :func:`sparing.optim.comp_adagrad`; elsewhere torch computes them on the device.
    Sparse gradients are refused.

    Examples
    --------
    >>> import torch
    >>> from sparing.optim.torch import CompAdaGrad
    >>> layer = torch.nn.Linear(10, 1)
    >>> optimizer = CompAdaGrad(layer.parameters(), lr=0.1, k=4)
    >>> layer(torch.ones(10)).square().sum().backward()
    >>> optimizer.step()
    """

    def __init__(
        self,
        params,
        lr=0.01,
        *,
        k=64,
        tau=1.0,
        delta=1e-4,
        delta_r=None,
        delta_c=None,
        l2=0.0,
        refresh=16,
        whole_model=False,
        seed=0,
    ):
        options = {"lr": lr, "k": k, "tau": tau, "delta": delta, "delta_r": delta_r, "delta_c": delta_c, "l2": l2}
        super().__init__(params, {**options, "refresh": refresh, "whole_model": whole_model, "seed": seed})

    def add_param_group(self, param_group):
        """Check the group's options first."""
        group = {**self.defaults, **param_group}
        checks.positive("lr", group["lr"])
        deltas = {name: group[name] for name in ("delta_r", "delta_c")}
        strengths(group["lr"], group["delta"], group["l2"], 0.0, group["tau"], **deltas)
        checks.whole("k", group["k"], at_least=0)
        checks.whole("refresh", group["refresh"])
        super().add_param_group(param_group)

    @torch.no_grad()
    def step(self, closure=None):
        """One round; ``closure`` may compute the loss anew."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        vectors = [(group, tensors) for group in self.param_groups for tensors in _vectors(group)]
        here = [vector for vector in vectors if is_compiled(vector[1][0])]
        elsewhere = [vector for vector in vectors if not is_compiled(vector[1][0])]
        for _, tensors in vectors:
            _check_kinds(tensors)
        members = [p for _, tensors in here for p in tensors]
        together, gradients = _gradients(members), [_gradients(tensors) for _, tensors in elsewhere]
        for g in (together, *gradients):  # all of them before the first tensor is moved
            _check_finite(g)
        if members:
            self._move_together(here, members, together)
        for (group, tensors), g in zip(elsewhere, gradients, strict=True):
            self._move(tensors, g, group)
        return loss

    def _move_together(self, vectors, members, gradients) -> None:
        """One compiled round on each vector; all are converted at once, since every call of torch counts."""
        x, g = _joined(members).double().numpy(), gradients.double().numpy()
        new_x, states, start = np.empty_like(x), [], 0
        for group, tensors in vectors:
            part = slice(start, start := start + sum(p.numel() for p in tensors))
            state = self.state[tensors[0]].get(COMPILED) or _begin(part.stop - part.start, group)
            new_x[part], state = advance(x[part], g[part], state, _strengths(group), group["refresh"])
            states.append(state)
        for (_, tensors), state in zip(vectors, states, strict=True):
            self.state[tensors[0]][COMPILED] = state
        _set(members, torch.from_numpy(new_x))

    def _move(self, tensors, g, group) -> None:
        """One round on these tensors as one vector; its state belongs to the first of them."""
        x, state = _joined(tensors), self.state[tensors[0]]
        if not state:
            state.update(_on_device(_begin(x.numel(), group), x))
        _set(tensors, _round(x, g, state, group))

    def state_dict(self):
        """As in torch: everything in tensors."""
        found = super().state_dict()
        found["state"] = {
            number: _as_tensors(state[COMPILED]) if COMPILED in state else state
            for number, state in found["state"].items()
        }
        return found

    def load_state_dict(self, state_dict):
        """As in torch, except that exact state is not rounded to the precision of the parameters."""
        super().load_state_dict(state_dict)
        numbers = chain.from_iterable(group["params"] for group in state_dict["param_groups"])
        tensors = chain.from_iterable(group["params"] for group in self.param_groups)
        for number, p in zip(numbers, tensors, strict=True):
            if number in state_dict["state"]:
                exact = {name: state_dict["state"][number][name].clone().to(p.device) for name in EXACT}
                self.state[p] = {COMPILED: _from_tensors(exact)} if is_compiled(p) else exact


def is_compiled(x) -> bool:
    """Whether NumPy shares the memory of the tensor: then the compiled steps of comp_adagrad are taken."""
    return x.device.type == "cpu"


def _as_tensors(known: CompressedState) -> dict:
    arrays = {"rows": known.sketch.rows, "signs": known.sketch.signs, "hidden": known.hidden}
    arrays |= renewed(known.root)._asdict() if len(known.root.moments) <= SMALL else known.root._asdict()
    arrays["squares"] = np.zeros(known.sketch.shape[1]) if known.squares is None else known.squares
    return {name: torch.tensor(arrays[name]) for name in EXACT}


def _from_tensors(exact) -> CompressedState:
    arrays = {name: t.numpy().astype(np.int64 if name == "rows" else np.float64) for name, t in exact.items()}
    whole = arrays["rows"].size == arrays["signs"].size
    root = Root(*(arrays[name] for name in Root._fields))
    sketch = SRHT(arrays["rows"], arrays["signs"])
    return CompressedState(sketch, root, None if whole else arrays["squares"], arrays["hidden"])


def _vectors(group) -> list:
    """The tensors of a group that are optimised as one vector each; without any gradient a vector stays where it is."""
    with_gradient = [p for p in group["params"] if p.grad is not None]
    if group["whole_model"]:
        return [group["params"]] if with_gradient else []
    return [[p] for p in with_gradient]


def _gradients(tensors):
    return _joined([torch.zeros_like(p) if p.grad is None else p.grad for p in tensors])


def _joined(tensors):
    return torch.cat([tensor.reshape(-1) for tensor in tensors]) if tensors else torch.empty(0)


def _set(tensors, x) -> None:
    for p, part in zip(tensors, x.split([p.numel() for p in tensors]), strict=True):
        p.copy_(part.view_as(p))


def _strengths(group) -> Strengths:
    """The options of a group, checked when it was added; those saved by 0.1.0 have one delta only."""
    delta_r, delta_c = (group.get(name) or group["delta"] for name in ("delta_r", "delta_c"))
    return Strengths(*map(float, (group["lr"], delta_r, delta_c, group["l2"], 0.0, group["tau"])))


def _check_kinds(tensors) -> None:
    for p in tensors:
        if p.grad is not None and p.grad.is_sparse:
            raise ValueError("CompAdaGrad takes no sparse gradients; pass sparse=False to the layer that makes them.")
        if not p.is_floating_point():
            raise TypeError(f"CompAdaGrad optimises real numbers; got a tensor of {p.dtype}.")


def _check_finite(g) -> None:
    if not isfinite(g.sum()) and not torch.isfinite(g).all():  # a sum is quicker, but may overflow
        raise ValueError("a gradient holds NaN or infinity; nothing was changed: leave this step out, or clip.")


def _begin(n: int, group) -> CompressedState:
    """The sketch and no gradient yet. As many rows as numbers: all rows of the padded transform."""
    return begin(min(group["k"], n), n, group["seed"], complement=True)


def _on_device(known: CompressedState, x) -> dict:
    """The same beside x; vectors in its precision."""
    vectors = ("signs", "hidden", "squares")
    return {name: t.to(x.device, x.dtype if name in vectors else t.dtype) for name, t in _as_tensors(known).items()}


def _round(x, g, state, group):
    """:func:`sparing.optim.comp_adagrad` in torch: update the moments and make a step."""
    options = _strengths(group)
    n, k, signs, rows = x.numel(), state["rows"].numel(), state["signs"], state["rows"]
    eta, shift = options.step_size, options.step_size * options.l2
    x, g = torch.cat([x, state["hidden"]]), torch.cat([g, torch.zeros_like(state["hidden"])])

    def sketch(v):
        return _hadamard(signs * v)[rows]

    def unsketch(z):
        return signs * _hadamard(torch.zeros_like(x).index_copy_(0, rows, z.to(x.dtype)))

    force = eta * g + shift * x
    inside = torch.zeros_like(x)
    if k:
        sketched = sketch(g)
        _learn(state, sketched.double(), options.delta_r, group["refresh"])
        inside = unsketch(_solve(state, sketch(force).double(), options.delta_r, shift))
    if k < signs.numel():
        outside = g - unsketch(sketched) if k else g
        state["squares"] += outside**2
        weights = 1 / (options.tau * (state["squares"].sqrt() + options.delta_c) + shift)
        if k:
            table = _hadamard(weights.double()) * signs.numel() ** -0.5
            factor = torch.linalg.cholesky(table[rows[:, None] ^ rows])
            right = sketch(weights * force).double()
            force = force - unsketch(torch.cholesky_solve(right[:, None], factor)[:, 0])
        x = x - weights * force
    x = x - inside
    state["hidden"] = x[n:].clone()
    return x[:n]


def _hadamard(x):
    """The orthonormal transform, one level at a time."""
    n, stride = x.numel(), 1
    while stride < n:
        pairs = x.view(-1, 2, stride)
        x = torch.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), dim=1)
        stride *= 2
    return x.reshape(-1) * n**-0.5


def _learn(state, z, delta, refresh) -> None:
    """Add z z^T, and decompose again when it is due: see :func:`sparing.optim.root.add`."""
    turned = state["basis"].T @ z
    late = due(turned, state["values"], len(state["recent"]), delta=delta, refresh=refresh)
    state["recent"] = torch.cat([state["recent"], turned[None]])
    if not late:
        return
    since = state["recent"] @ state["basis"].T
    state["moments"] = state["moments"] + since.T @ since
    values, state["basis"] = torch.linalg.eigh(state["moments"])
    state["values"], state["recent"] = values.clamp(min=0.0), since[:0]


def _solve(state, v, delta, shift):
    """((M + delta)^(1/2) + shift)^-1 v: see :func:`sparing.optim.root.solve`."""
    basis, values, recent = state["basis"], state["values"], state["recent"]
    turned = basis.T @ v
    answer = turned / ((values + delta).sqrt() + shift)
    if len(recent):
        largest = float(values[-1] + (recent**2).sum())
        squared, w = (torch.as_tensor(part, device=v.device) for part in nodes(delta, delta + largest, shift))
        scaled = recent / (values + delta + squared[:, None])[:, None, :]
        small = torch.eye(len(recent), dtype=v.dtype, device=v.device) + scaled @ recent.T
        parts = torch.linalg.solve(small, scaled @ turned)
        answer = answer - torch.tensordot(w[:, None] * parts, scaled, dims=2)
    return basis @ answer
