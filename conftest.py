"""Modules that need an optional dependency are left out where it is missing, and the report says so."""

import os
from importlib.util import find_spec

collect_ignore = ["src/sparing/study/migrations"]  # run by Alembic alone
left_out = []
if find_spec("torch") is None:
    left_out.append("sparing.optim.torch is not tested: PyTorch is not installed")
    collect_ignore += ["src/sparing/optim/torch.py", "tests/optim/test_torch.py"]
if find_spec("sqlalchemy") is None or find_spec("alembic") is None:
    left_out.append("sparing.study is not tested: SQLAlchemy or Alembic is not installed")
    collect_ignore += ["src/sparing/study", "tests/study"]


def pytest_report_header():
    assert not left_out or os.environ.get("CI") != "true", f"CI leaves nothing out: {left_out}"
    return left_out
