"""Doctests of modules that need an optional dependency are left out where it is missing."""

from importlib.util import find_spec

collect_ignore = []
if find_spec("torch") is None:
    print("PyTorch is not installed: sparing.optim.torch is not tested")
    collect_ignore += ["src/sparing/optim/torch.py", "tests/optim/test_torch.py"]
if find_spec("sqlalchemy") is None or find_spec("alembic") is None:
    print("SQLAlchemy or Alembic is not installed: sparing.study is not tested")
    collect_ignore += ["src/sparing/study", "tests/study"]
collect_ignore += ["src/sparing/study/migrations"]  # run by Alembic alone
