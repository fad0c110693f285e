"""Doctests of modules that need an optional dependency are left out where it is missing."""

from importlib.util import find_spec

collect_ignore = []
if find_spec("torch") is None:
    print("PyTorch is not installed: sparing.optim.torch is not tested")
    collect_ignore += ["src/sparing/optim/torch.py", "tests/optim/test_torch.py"]
