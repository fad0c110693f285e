"""Real processes: killed at any moment, and many at once until the money is gone."""

import pytest
from clients import POINTS, create, kill_many, spend_all

pytestmark = pytest.mark.filterwarnings("ignore:the two most expensive", "ignore:This process")
KILLS = {"sqlite": 10, "postgresql": 5}  # benchmarks/study.py kills does 200 and 60


def test_nothing_acknowledged_is_lost_and_nothing_is_bought_twice(address, tmp_path):
    create(address, total="10000.00")
    kills = KILLS["postgresql" if "://" in address else "sqlite"]
    found = kill_many(address, tmp_path, kills=kills)
    assert sum(found[point] for point in (*POINTS, "any moment")) == kills
    assert found["acknowledged"] >= 24
    assert found["visited"] >= 4
    assert found["examples"] >= found["acknowledged"]


def test_many_clients_never_pass_the_total(address):
    create(address, total="15.00")
    found = spend_all(address, clients=4, examples=60)
    assert 0 <= found["left"] < found["next price"]
    assert found["money"]["reserved"] == "0.00"
