"""Clients of a study as processes of their own, some of them killed; and the shop that sells to them.

Shared by the tests and by ``benchmarks/study.py``. Processes are forked, so that one is ready within milliseconds.
"""

import multiprocessing
import os
import random
import signal
import sqlite3
import time
from pathlib import Path
from zlib import crc32

from sparing.study import Study, Taken, books, calls
from sparing.types import OverBudget

FORKED = multiprocessing.get_context("fork")
PRICES = {"a": "0.19", "b": "0.23", "c": "0.31", "d": "0.37", "e": "0.41"}
POINTS = ("before the commit of an ask", "asked", "bought", "before the commit of a tell", "told")


class KeyedShop:
    """A seller that honours keys: whoever sends one twice gets the same values, and pays once."""

    def __init__(self, folder: Path):
        self.path = folder / "shop.db"
        with self._open() as connection:
            columns = "key TEXT PRIMARY KEY, example TEXT, names TEXT, value REAL"
            connection.execute(f"CREATE TABLE IF NOT EXISTS sale ({columns})")

    def _open(self):
        return sqlite3.connect(self.path, timeout=60)

    def buy(self, ask) -> dict[str, float]:
        with self._open() as connection:
            sale = (ask.key, ask.example, " ".join(ask.names), random.random())
            connection.execute("INSERT OR IGNORE INTO sale VALUES (?, ?, ?, ?)", sale)
            found = connection.execute("SELECT value FROM sale WHERE key = ?", (ask.key,)).fetchone()
        return dict.fromkeys(ask.names, found[0])

    def sales(self) -> dict[str, list[tuple[str, float]]]:
        """Attributes and values that were sold of each example, as often as they were."""
        sold: dict[str, list[tuple[str, float]]] = {}
        with self._open() as connection:
            for example, names, value in connection.execute("SELECT example, names, value FROM sale"):
                sold.setdefault(example, []).extend((name, value) for name in names.split())
        return sold


def create(address, *, total: str) -> None:
    """A study whose queries cost between 0.74 and 0.99."""
    with Study.create(address, prices=PRICES, budget="1.00", total=total, learner="pairwise", seed=1) as study:
        study.work()  # compiles: those who are forked have it


# Killed at any moment -------------------------------------------------------------------------------------------------


def _die_at(point: str | None, at: str) -> None:
    if point == at:
        os.kill(os.getpid(), signal.SIGKILL)


def target_of(name: str) -> float:
    """The same whenever it is told."""
    return crc32(name.encode()) / 2**32


def buyer(address, folder: Path, names: list[str], who: str, point: str | None, seed: int, begun) -> None:
    """Buy of one example after the other; acknowledge what was told; die at a point, if one is named."""
    random.seed(seed)
    dies_after = random.randrange(4)
    close, moment = books.Books.close, {"now": ""}

    def dying_close(self):
        close(self)
        _die_at(moment["point"], moment["now"])

    books.Books.close = dying_close
    acknowledged = folder / f"{who}.log"
    done = set(acknowledged.read_text().split()[::2]) if acknowledged.exists() else set()
    with Study.open(address) as study, acknowledged.open("a") as log:
        shop = KeyedShop(folder)
        begun.set()
        for number, name in enumerate(name for name in names if name not in done):
            moment["point"] = point if number >= dies_after else None
            visit = study.visit(name, who=who) if name.startswith("visit") else None
            event = 0
            while True:
                moment["now"] = "before the commit of an ask"
                ask = study.ask(name, who=who) if visit is None else visit.ask()
                if ask is None:
                    break
                _die_at(moment["point"], "asked")
                values = shop.buy(ask)
                _die_at(moment["point"], "bought")
                moment["now"] = "before the commit of a tell"
                event = study.tell(ask, values, y=target_of(name) if visit is None else None)
                _die_at(moment["point"], "told")
                if visit is None:
                    break
            log.write(f"{name} {event or study.example(name).event}\n")
            log.flush()


def kill_many(address, folder: Path, *, kills: int, seed: int = 0) -> dict:
    """Kill buyers, half of them at a named point and half at any moment, until there were enough; then verify.

    Two more are left alone: they finish the first 24 examples and visits, whoever died in them.
    """
    draw = random.Random(seed)
    shop = KeyedShop(folder)
    names = [f"{'visit' if number % 12 > 9 else 'example'}-{number}" for number in range(12 * kills)]
    killed = dict.fromkeys((*POINTS, "any moment"), 0)
    for number in range(kills * 3):
        if sum(killed.values()) >= kills:
            break
        who, point = f"site-{number % 2}", draw.choice(POINTS) if number % 2 else None
        mine = names[number % 2 :: 2]
        begun = FORKED.Event()
        process = FORKED.Process(target=buyer, args=(address, folder, mine, who, point, draw.randrange(10**9), begun))
        process.start()
        if point is None:
            begun.wait()
            time.sleep(draw.uniform(0.0, 0.3))
            process.kill()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
        killed[point or "any moment"] += process.exitcode == -signal.SIGKILL
    for site in range(2):
        survivor = (address, folder, names[site:24:2], f"site-{site}", None, draw.randrange(10**9), FORKED.Event())
        process = FORKED.Process(target=buyer, args=survivor)
        process.start()
        process.join()
        assert process.exitcode == 0, process.exitcode
    return killed | verify(address, folder, shop)


def verify(address, folder: Path, shop: KeyedShop) -> dict:
    """Every acknowledged answer is there as it was bought, nothing was bought twice, and the books equal the events."""
    acknowledged = [line.split() for log in folder.glob("site-*.log") for line in log.read_text().splitlines()]
    sales = shop.sales()
    twice = [name for name, sold in sales.items() if len(dict(sold)) < len(sold)]
    assert not twice, f"bought twice: {twice}"
    with Study.open(address) as study:
        for name, event in acknowledged:
            example = study.example(name)
            state = "predicted" if name.startswith("visit") else "settled"
            assert (example.state, example.event) == (state, int(event)), name
            assert example.values == dict(sales.get(name, ())), name
        found = study.check(replay=True)
        money = study.money()
    visited = sum(name.startswith("visit") for name, _ in acknowledged)
    counts = {"acknowledged": len(acknowledged), "visited": visited, "examples": found.examples + found.visits}
    return counts | {"events": found.events, "books": money}


# Until the money is gone ----------------------------------------------------------------------------------------------


def spender(address, names: list[str], who: str, seed: int, answers) -> None:
    """Ask for examples in an order of one's own, tell, and now and then cancel, until nothing can be paid for."""
    draw = random.Random(seed)
    draw.shuffle(names)
    delays, got = [], 0  # delays of asks after the first, which opens the study
    with Study.open(address) as study:
        for name in names:
            try:
                began = time.perf_counter()
                ask = study.ask(name, who=who)
                delays += [time.perf_counter() - began] * (name != names[0])
            except Taken:
                continue
            except OverBudget:
                break
            if draw.random() < 0.1:
                study.cancel(ask)
                continue
            study.tell(ask, dict.fromkeys(ask.names, draw.random()), y=draw.random())
            got += 1
    answers.put((got, delays))


def spend_all(address, *, clients: int, examples: int) -> dict:
    """So many processes at once, until the money is gone; what is left, and what the next query would cost."""
    answers = FORKED.Queue()
    names = [f"example-{number}" for number in range(examples)]
    processes = [
        FORKED.Process(target=spender, args=(address, names, f"client-{number}", number, answers))
        for number in range(clients)
    ]
    for process in processes:
        process.start()
    found = [answers.get(timeout=600) for _ in processes]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    with Study.open(address) as study:
        for name in names:  # what was cancelled is asked for once more, until nothing is left to pay for
            try:
                ask = study.ask(name, who="last")
            except Taken:
                continue
            except OverBudget as error:
                refused = str(error)
                break
            study.tell(ask, dict.fromkeys(ask.names, 1.0), y=1.0)
        checked = study.check(replay=True)
        row = calls.state(study)
        plan = study.store.read(lambda connection: study.plans.plan(connection, row.plan))
        following = plan.query(study.settings.seed, row.examples).attributes
        price = sum(study.settings.units[attribute] for attribute in following)
        money = study.money()
    return {
        "told by each": sorted(got for got, _ in found),
        "delays": sorted(delay for _, delays in found for delay in delays),
        "events": checked.events,
        "left": row.total - row.committed,
        "next price": price,
        "money": money,
        "refused": refused,
    }
