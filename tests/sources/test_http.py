"""A shop that loses replies, breaks down and is slow: nothing is paid twice, nothing is lost, the books agree."""

import zlib
from functools import partial

import numpy as np
import pytest

from http_shop import FAULTS, SLOW, Shop, running
from sparing import BudgetRidge
from sparing.learners import AERR, PairwiseMoments
from sparing.sources import HTTPSource
from sparing.types import Ledger, RefusedPurchase, UnknownPurchase

N, D = 40, 6
X = np.random.default_rng(0).standard_normal((N, D))
Y = X @ np.arange(D)
NAMES = [f"test {at}" for at in range(D)]
PAIR = np.array([3, 1])


def faulty(key: str, attempt: int):
    """Something is wrong with two of three first attempts, and with some of the second; never with the third."""
    luck = zlib.crc32(f"{key}{attempt}".encode())
    return FAULTS[luck % 4] if attempt < 3 and luck % 3 else None


def source_of(address, **options):
    options = {"timeout": SLOW / 2, "pause": 0.001, "examples": N, "study": "s"} | options
    return HTTPSource(address, names=NAMES, **options)


def test_with_faults_nothing_is_paid_twice_and_nothing_is_lost():
    shop, ledger = Shop(X, NAMES, faulty), Ledger()
    with running(shop) as address:
        learner = PairwiseMoments(D, budget=3).run(source_of(address, workers=8), Y, ledger=ledger)
    assert sum(shop.attempts.values()) > 1.4 * N, "hardly anything went wrong"
    assert shop.paid == learner.spent == ledger.spent == 3 * N
    assert len(shop.sold) == N
    assert shop.conflicts == 0
    expected = PairwiseMoments(D, budget=3).run(X, Y)
    np.testing.assert_array_equal(learner.coef, expected.coef)


def test_a_fit_that_was_cut_short_pays_only_for_what_is_new():
    shop = Shop(X, NAMES)
    shop.fault = lambda key, attempt: "lost reply" if len(shop.sold) > N // 2 else None
    with running(shop) as address:
        source, model = source_of(address, attempts=2, workers=1), BudgetRidge(3, learner="pairwise", random_state=0)
        with pytest.raises(UnknownPurchase):
            model.fit(source, Y)
        shop.fault = lambda key, attempt: None
        model.fit(source, Y)
    assert shop.paid == model.spent_ == 3 * N


@pytest.mark.parametrize("fault", ["lost reply", "error after", "error before", "slow"])
def test_what_stays_unknown_says_so_and_counts_as_bought(fault):
    shop, ledger = Shop(X, NAMES, lambda key, attempt: fault), Ledger()
    with running(shop) as address:
        source = source_of(address, attempts=2)
        with pytest.raises(
            UnknownPurchase, match=r"whether test 3, test 1 of example 7 were bought is unknown"
        ) as said:
            source.read(7, PAIR)
        assert said.value.key == source.key(7, PAIR)
        with pytest.raises(UnknownPurchase):
            PairwiseMoments(D, budget=3).run(
                source_of(address, attempts=1, workers=1, examples=1), Y[:1], ledger=ledger
            )
    assert ledger.spent == 3
    assert shop.attempts[source.key(7, PAIR)] == 2
    assert (shop.paid > 0) == (fault != "error before")


@pytest.mark.parametrize("status", [400, 401, 422])
def test_a_refusal_is_final_and_nothing_was_bought(status):
    shop = Shop(X, NAMES, lambda key, attempt: status)
    said = f"were not bought .the answer was {status}"
    with running(shop) as address, pytest.raises(RefusedPurchase, match=said):
        source_of(address).read(0, PAIR)
    assert sum(shop.attempts.values()) == 1
    assert not shop.paid


@pytest.mark.parametrize("make", [PairwiseMoments, partial(AERR, radius=1.0)], ids=["batches", "one by one"])
def test_what_was_refused_or_never_sent_is_not_in_the_books(make):
    shop, ledger = Shop(X, NAMES), Ledger()
    shop.fault = lambda key, attempt: 402 if len(shop.sold) >= N // 4 else None
    with running(shop) as address, source_of(address) as source, pytest.raises(RefusedPurchase):
        make(D, budget=3).run(source, Y, ledger=ledger)
    assert ledger.spent == ledger.cells == shop.paid > 0
    assert ledger.examples == len(shop.sold)


def test_of_a_batch_with_an_unknown_purchase_only_what_was_sent_is_in_the_books():
    shop, ledger = Shop(X, NAMES), Ledger()
    shop.fault = lambda key, attempt: "lost reply" if len(shop.sold) >= N // 4 else None
    with running(shop) as address, source_of(address, attempts=1) as source, pytest.raises(UnknownPurchase):
        PairwiseMoments(D, budget=3).run(source, Y, ledger=ledger)
    assert ledger.spent == shop.paid
    assert ledger.examples == len(shop.sold)


def test_a_purchase_that_another_request_is_making_is_not_called_refused():
    shop = Shop(X, NAMES, lambda key, attempt: 409)
    with running(shop) as address, source_of(address, attempts=2) as source, pytest.raises(UnknownPurchase):
        source.read(0, PAIR)
    assert sum(shop.attempts.values()) == 2


def test_examples_may_be_numbers_of_numpy():
    shop = Shop(X, NAMES)
    with running(shop) as address, source_of(address, examples=np.array([5, 6])) as source:
        np.testing.assert_array_equal(source.read(1, PAIR), X[6, PAIR])


def test_connections_are_closed_at_the_end():
    with source_of("http://127.0.0.1:9") as source:
        pass
    with pytest.raises(RuntimeError, match="closed"):
        source.read(0, PAIR)


def test_a_shop_that_cannot_be_reached_sold_nothing_and_a_busy_one_is_asked_again():
    shop = Shop(X, NAMES, lambda key, attempt: 429 if attempt < 3 else None)
    with running(shop) as address:
        np.testing.assert_array_equal(source_of(address).read(5, PAIR), X[5, PAIR])
    with pytest.raises(RefusedPurchase, match="were not bought"):  # it is closed now
        source_of(address).read(5, PAIR)


def test_keys_are_a_pure_function_of_study_example_and_attributes():
    source = source_of("http://127.0.0.1:9")
    assert source.key(1, PAIR) == source_of("http://elsewhere").key(1, PAIR[::-1])
    others = {source.key(2, PAIR), source.key(1, PAIR[:1]), source_of("http://127.0.0.1:9", study="t").key(1, PAIR)}
    assert len(others | {source.key(1, PAIR)}) == 4


def test_an_answer_without_a_value_that_was_paid_for_is_refused():
    shop = Shop(X, NAMES)
    shop.sold = {source_of("http://x").key(0, PAIR): {"test 3": 1.0}}
    with running(shop) as address, pytest.raises(ValueError, match="with every name that was asked for"):
        source_of(address).read(0, PAIR)
