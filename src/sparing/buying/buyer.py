"""A buyer draws purchases by the plan in force, within the money that the ledger has left."""

from collections.abc import Callable

import numpy as np

from sparing import checks, designs
from sparing.buying.plan import Plan
from sparing.buying.shop import Shop
from sparing.kernels.gather import matrix_view
from sparing.kernels.purchase import buy_rows
from sparing.types import Ledger, Query

SPARE = 1.02  # room relative to the expected number of cells, which is random if prices differ


class Buyer:
    """Buys values of one example after another, and books them in ``ledger``.

    Parameters
    ----------
    shop : Shop
    seed : int
    total_budget : float, optional
        Money for all examples; purchases become smaller when it runs short, and stop when it is spent.
    pay_for_missing : bool
        Whether an unavailable value is paid for.
    """

    def __init__(self, shop: Shop, seed: int, total_budget: float | None = None, *, pay_for_missing: bool = True):
        self.shop, self.seed = shop, seed
        total = np.inf if total_budget is None else checks.positive("total_budget", total_budget)
        self.ledger = Ledger(shop.per_example, total, shop.costs, shop.decimals, pay_for_missing)
        self.follow(np.ones(shop.prices.size))
        self.follow_design(designs.adaptive, np.zeros(shop.prices.size))

    def follow(self, shares) -> None:
        """From now on, draw items by these shares."""
        self.plan, self.turns = Plan(self.shop, shares), np.zeros(self.shop.prices.size, np.int64)

    def follow_design(self, design: Callable, variances, weights=None, *, looks=None, **more) -> None:
        """From now on, draw items by a design. It covers the items that have a price; free ones are always bought."""
        sold = self.shop.for_sale
        if not sold.size:
            return
        variances, weights, looks = (of if of is None else of[sold] for of in (variances, weights, looks))
        shares = np.zeros(self.shop.prices.size)
        shares[sold] = design(variances, weights, prices=self.shop.prices[sold], looks=looks, **more)
        self.follow(shares)

    def query(self, round: int) -> Query:
        """What to buy for the next example: a pure function of seed, round, plan and the money left."""
        return self.plan.query(self.seed, round, money=self.ledger.left)

    def queries(self, first_round: int, n: int) -> list[Query]:
        """What to buy for the next n examples, if the plan does not change and nothing is refunded."""
        found, left = [], self.ledger.left
        for round in range(first_round, first_round + n):
            found.append(self.plan.query(self.seed, round, money=left))
            left -= self.ledger.price(found[-1].attributes)
        return found

    @property
    def refunds(self) -> bool:
        """Whether refunds for unavailable values may change what the next purchases can cost."""
        return not self.ledger.pay_for_missing and self.ledger.total < np.inf

    def ask_block(self, first: int, n_examples: int) -> Query:
        """What to buy for a block of examples, the first of which has this number: items take turns."""
        query = self.plan.query_in_turn(self.seed, first, self.turns, money=self.ledger.left // n_examples)
        self.turns[np.unique(self.shop.items[query.attributes])] += 1
        return query

    def expected_cells(self, n_examples: int) -> int:
        """The number of cells expected for so many examples under the plan in force, and some more."""
        return int(n_examples * min(self.shop.most, SPARE * float(self.plan.inclusion.sum())))

    def buy(self, X, y, first_round: int, first: int, last: int, keep: Callable) -> None:
        """Buy values of the rows from first to last, and pass the cells to ``keep``."""
        shop, ledger, most = self.shop, self.ledger, self.shop.most
        sizes = np.empty(last - first, np.int64)
        attributes, values = np.empty((last - first) * most, np.int64), np.empty((last - first) * most)
        n, spent, row, infinite = buy_rows(
            self.plan.market(), shop.cheapest, self.seed, first_round, shop.budget, ledger.left, ledger.pay_for_missing,
            matrix_view(X), first, last, most, sizes, attributes, values,
        )  # fmt: skip
        if infinite >= 0:
            raise checks.infinite(row, infinite)
        attributes = attributes[:n]
        keep(sizes, attributes, values[:n], y[first:last], probabilities=self.plan.inclusion[attributes])
        missing = attributes[np.isnan(values[:n])]
        ledger.note_unavailable(missing)
        unpaid = 0 if ledger.pay_for_missing else missing.size
        ledger.record(last - first, n - unpaid, spent)
