"""A study: buying over weeks, at several sites, with nothing lost."""

import getpass
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from sparing.cells import Cells
from sparing.study import money
from sparing.study.settings import Settings
from sparing.study.views import Ask, Example

if TYPE_CHECKING:
    import pandas as pd

    from sparing.study.books import Books
    from sparing.study.checking import Findings
    from sparing.study.report import Report
    from sparing.study.settled import Settled

T = TypeVar("T")
REFIT_SHARE = 0.05  # of settled examples that are new, from which on a worker makes a snapshot


class Study:
    """Examples, asks and money in a database that several people and machines share.

    Open one with :meth:`create` or :meth:`open`. Every verb is one transaction, and may be repeated after a lost
    connection: what was carried out already is not carried out twice. A query depends on the seed, the number of its
    example and the plan in force when that was first asked for, never on who asks or how often.

    Examples
    --------
    >>> import tempfile
    >>> from sparing import Study
    >>> folder = tempfile.TemporaryDirectory()
    >>> prices = {"glucose": "4.50", "ecg": "20.00", "mri": "180.00"}
    >>> study = Study.create(folder.name + "/heart.db", prices=prices, budget="190.00", total="1000.00", seed=1)
    >>> ask = study.ask("patient-17", who="site-a")
    >>> ask.names, ask.price
    (('glucose', 'mri'), '184.50')
    >>> event = study.tell(ask, {"glucose": 5.1, "mri": None}, y=1.0, who="site-a")
    >>> study.tell(ask, {"glucose": 5.1, "mri": None}, y=1.0, who="site-a") == event  # sent twice, booked once
    True
    >>> study.money()
    {'total': '1000.00', 'spent': '184.50', 'reserved': '0.00', 'left': '815.50'}
    >>> study.close()
    """

    def __init__(self, store, row, *, make_plans: bool):
        from sparing.study.plans import Plans

        self._store, self._id, self.uid, self.name = store, row.id, row.uid, row.name
        self._total, self._make_plans = row.total, make_plans
        self.settings = Settings.from_json(row.settings)
        self._plans = Plans(store, row.id, self.settings)
        self._settled: Settled | None = None
        self._model: tuple[int, Any] | None = None

    # Opening ---------------------------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        address,
        *,
        budget,
        attributes: Iterable[str] | None = None,
        prices: Mapping[str, Any] | Iterable | None = None,
        groups: Mapping[str, Any] | Iterable | None = None,
        total=None,
        classes: Iterable | None = None,
        learner: str = "auto",
        penalty: str = "ridge",
        features: str = "auto",
        design: str = "auto",
        second_moments=None,
        n_examples: int | None = None,
        seed: int = 0,
        lease: float | None = None,
        name: str = "study",
    ) -> "Study":
        """Begin a study; its settings never change.

        Parameters
        ----------
        address : path or str
            An SQLite file, or ``postgresql://user@host/database``.
        budget : str or number
            Money for one example, or without ``prices`` a number of attributes.
        attributes : list of str, optional
            The names of what can be bought; without it, those of ``prices``.
        prices, groups : dict by attribute, or list in their order, optional
            What each costs, and the panel that it is bought with.
        total : str or number, optional
            Money for the whole study; never passed, not by a cent.
        classes : list, optional
            Labels, if targets are labels; without them targets are numbers.
        learner, penalty, features, design, second_moments, n_examples
            As of :class:`sparing.BudgetRidge`; ``penalty="lasso"`` is :class:`sparing.BudgetLasso`.
        seed : int
            Of the queries.
        lease : float, optional
            Seconds after which :meth:`expire` lets others take over an ask; by default never.
        name : str
            Several studies may share a database.
        """
        from sparing.study import opening

        moments = None if second_moments is None else [float(moment) for moment in second_moments]
        options = {"learner": learner, "penalty": penalty, "features": features, "design": design}
        settings, units = Settings.checked(
            attributes, prices, groups, budget, total, classes, options | {"second_moments": moments},
            n_examples, seed, lease,
        )  # fmt: skip
        opening.create(_store(address), settings, units, name)
        return cls.open(address, name=name)

    @classmethod
    def open(cls, address, *, name: str | None = None, make_plans: bool = True) -> "Study":
        """Open a study; without ``name``, the only one there is.

        With ``make_plans=False`` plans that are due are left to :meth:`work`, so that no call waits for one.
        """
        store = _store(address)
        from sparing.study import opening

        return cls(store, opening.find(store, name), make_plans=make_plans)

    def close(self) -> None:
        """Give the connections back; the study itself needs no closing."""
        self._store.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    # The verbs -------------------------------------------------------------------------------------------------------

    def ask(self, name: str, *, who: str | None = None) -> Ask:
        """What to buy of the example of this name; its price is reserved.

        The same person gets the same ask again, another one is refused (``Taken``) until that is cancelled or expired.
        Refused with ``OverBudget`` if the money left does not pay for the whole query.
        """
        return self.ask_many([name], who=who)[0]

    def ask_many(self, names: Iterable[str], *, who: str | None = None) -> list[Ask]:
        """As :meth:`ask`, for several examples at once: all of them or none."""
        from sparing.study import asks

        names, who = [_name("name", name) for name in names], _name("who", who or _me())
        if not self._plans.are_warm:
            self._catch_up()

        def work(books):
            if self._make_plans and books.settled >= self._plans.due(books.plan):
                return None
            books.fetch(names=names)
            plan = self._plans.plan(books.connection, books.plan)
            rows = [asks.ask(books, self.settings, plan, name, who) for name in names]
            return [Ask.of(self.settings, self.uid, row, books.example(row.example)) for row in rows]

        while (asked := self._write(work)) is None:
            self._catch_up()
        return asked

    def tell(self, ask: Ask | str, values: Mapping[str, Any] | None = None, y=None, *, who: str | None = None) -> int:
        """Book what was bought; the number of the event.

        Parameters
        ----------
        ask : Ask or str
            The ask, or its key.
        values : dict by attribute
            A number; None for a value that was paid for but is unavailable; ``"not bought"``, which releases its price.
            Those still to come may be left out, and told later.
        y : number or label, optional
            The target; it may come before, with or after the values.
        """
        return self.tell_many([(ask, values or {}, y)], who=who)[0]

    def tell_many(self, answers: Iterable[tuple[Ask | str, Mapping[str, Any], Any]], *, who=None) -> list[int]:
        """As :meth:`tell`, for several (ask, values, y) at once: all of them or none."""
        from sparing.study import asks

        settings = self.settings
        told = [
            (self._number(ask), asks.checked_values(settings, values), None if y is None else settings.target(y))
            for ask, values, y in answers
        ]
        actor = None if who is None else _name("who", who)

        def work(books):
            books.fetch(asks=[number for number, _, _ in told])
            rows = [books.ask(number) for number, _, _ in told]
            books.fetch(examples=[row.example for row in rows])
            answers = zip(rows, told, strict=True)
            events = [asks.tell(books, self.settings, *answer, actor or row.holder) for row, answer in answers]
            return events, books.settled, books.plan

        events, settled, plan = self._write(work)
        if self._make_plans and settled >= self._plans.due(plan):
            self._catch_up()
        return events

    def cancel(self, ask: Ask | str, *, who: str | None = None) -> None:
        """Release the money for what was not told. Whoever asks again gets the same query."""
        from sparing.study import asks

        self._write(lambda books: asks.cancel(books, self.settings, self._number(ask), who or _me()))

    def expire(self, *, who: str | None = None) -> list[str]:
        """Let others take over asks whose lease is over; the names of their examples.

        Money stays reserved for late answers, which are taken as ever; :meth:`cancel` releases it.
        """
        import sqlalchemy as sa

        from sparing.study import asks
        from sparing.study.books import now
        from sparing.study.store import ASK

        late = sa.select(ASK.c.number).where(ASK.c.study == self._id, ASK.c.state == "open", ASK.c.until < now())

        def work(books):
            numbers = list(books.connection.execute(late.order_by(ASK.c.number)).scalars())
            for number in numbers:
                asks.expire(books, number, who or _me())
            return [books.example(books.ask(number).example).name for number in numbers]

        return self._write(work)

    def correct(
        self, name: str, values: Mapping[str, Any] | None = None, y=None, *, expected: int, who=None, why: str = ""
    ) -> int:
        """Replace values or the target of an example; the number of the event. Money and earlier plans stay.

        ``expected`` is the last event of the example as :meth:`example` shows it: a correction that was made in the
        meantime is not overwritten.
        """
        from sparing.study import asks

        new = asks.checked_values(self.settings, values or {})
        target = None if y is None else self.settings.target(y)
        return self._write(
            lambda books: asks.correct(books, self.settings, name, new, target, expected, who or _me(), why)
        )

    def withdraw(self, name: str, *, who: str | None = None, why: str = "") -> int:
        """Keep an example out of the model from now on; the number of the event. What was spent stays spent."""
        from sparing.study import asks

        return self._write(lambda books: asks.withdraw(books, name, who or _me(), why))

    def work(self) -> None:
        """Do what no call should wait for: expire leases, make plans that are due, store a snapshot of the cells."""
        import sqlalchemy as sa

        from sparing.study.store import SNAPSHOT

        self.expire(who="sparing")
        self._catch_up()
        settled = self._at_head()
        stored = self._store.read(lambda connection: self._snapshot(connection))
        if settled.cells.n_examples * (1 - REFIT_SHARE) <= (stored.cells.n_examples if stored else 0):
            return

        def store(connection):
            of_study = sa.and_(SNAPSHOT.c.study == self._id, SNAPSHOT.c.kind == "cells")
            connection.execute(sa.delete(SNAPSHOT).where(of_study))
            row = {"study": self._id, "event": settled.event, "kind": "cells", "content": settled.to_bytes()}
            connection.execute(sa.insert(SNAPSHOT), row)

        self._store.write(store)

    # What is known ---------------------------------------------------------------------------------------------------

    def cells(self, *, at: int | None = None) -> Cells:
        """The cells of all settled examples, now or as of an event."""
        from sparing.study.settled import cells_as_of

        if at is None:
            return self._at_head().cells
        return self._store.read(lambda connection: cells_as_of(connection, self._id, self._plans, at))

    def model(self, *, at: int | None = None):
        """The fitted estimator, now or as of an event; the same object until settled cells change."""
        if at is not None:
            return self.settings.fitted(self.cells(at=at))
        changed = self._state().changed
        if self._model is None or self._model[0] != changed:
            self._model = changed, self.settings.fitted(self.cells())
        return self._model[1]

    def money(self) -> dict[str, str]:
        """Total, spent, reserved and left, exactly; a study without a total has no such lines."""
        row, decimals = self._state(), self.settings.decimals
        units = {"spent": row.spent, "reserved": row.committed - row.spent}
        if row.total is not None:
            units = {"total": row.total, **units, "left": row.total - row.committed}
        return {what: money.text(amount, decimals) for what, amount in units.items()}

    def example(self, name: str) -> Example:
        """What is known of an example."""
        from sparing.study import asks
        from sparing.study.books import Books

        def look(connection):
            return asks.known_example(Books(connection, self._id, lock=False), name)

        return Example.of(self.settings, self._store.read(look))

    def asks(self, *, state: str = "open", who: str | None = None) -> list[Ask]:
        """Asks in this state, in the order in which they were made; of all holders, or of one."""
        import sqlalchemy as sa

        from sparing.study.books import ASKS, AskRow, Books
        from sparing.study.store import ASK

        wanted = ASKS.where(ASK.c.state == state, sa.true() if who is None else ASK.c.holder == who)

        def look(connection):
            rows = [AskRow(*row) for row in connection.execute(wanted.order_by(ASK.c.number), {"of": self._id})]
            books = Books(connection, self._id, lock=False)
            books.fetch(examples=[row.example for row in rows])
            return [Ask.of(self.settings, self.uid, row, books.example(row.example)) for row in rows]

        return self._store.read(look)

    def report(self, *, forecast: bool = False) -> "Report":
        """Money, examples, looks by attribute, estimated error; with ``forecast``, what more money would bring."""
        from sparing.study.report import report

        return report(self, forecast=forecast)

    def table(self) -> "pd.DataFrame":
        """One row for each example, with a column for each attribute; NaN where there is no value."""
        from sparing.study.report import table

        return table(self)

    def check(self, *, replay: bool = False) -> "Findings":
        """Compare the books with sums over the tables; with ``replay``, with all events, and draw every query again.

        Raises ``StudyError`` where they differ.
        """
        from sparing.study.checking import check

        return check(self, replay=replay)

    # Within ----------------------------------------------------------------------------------------------------------

    def _write(self, work: "Callable[[Books], T]") -> T:
        """One transaction on this study."""
        from sparing.study.books import Books

        def locked(connection):
            books = Books(connection, self._id)
            done = work(books)
            books.close()
            return done

        return self._store.write(locked)

    @cached_property
    def _state_statement(self):
        import sqlalchemy as sa

        from sparing.study.store import STUDY

        return sa.select(STUDY).where(STUDY.c.id == self._id)

    def _state(self):
        return self._store.read(lambda connection: connection.execute(self._state_statement).one())

    def _catch_up(self) -> None:
        self._plans.catch_up(lambda event: self.cells(at=event))

    def _snapshot(self, connection):
        from sparing.study.settled import Settled

        return Settled.from_snapshot(connection, self._id)

    def _at_head(self) -> "Settled":
        """The settled cells of now: what was known before, and what has changed since."""
        from sparing.study.settled import Settled

        def look(connection):
            head = connection.execute(self._state_statement).one().head
            known = self._settled or self._snapshot(connection) or Settled.none(self.settings)
            return known.at_head(connection, self._id, self._plans, head)

        self._settled = self._store.read(look)
        return self._settled

    def _number(self, ask: Ask | str) -> int:
        key = ask.key if isinstance(ask, Ask) else ask
        uid, _, number = str(key).rpartition("-")
        if uid != self.uid or not number.isdecimal():
            raise ValueError(f"{key!r} is not the key of an ask of this study, such as '{self.uid}-0'; check it.")
        return int(number)


def _store(address):
    try:
        from sparing.study.store import Store
    except ImportError as error:
        raise ImportError('a study needs SQLAlchemy; run: pip install "sparing[sql]"') from error
    return Store(address)


def _name(what: str, text) -> str:
    if isinstance(text, str) and text.strip() == text != "" and text.isprintable():
        return text
    raise ValueError(f"{what} must be a word or several, without spaces at the ends; got {text!r}.")


def _me() -> str:
    return getpass.getuser()
