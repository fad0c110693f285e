"""A study: buying over weeks, at several sites, with nothing lost."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sparing.cells import Cells
from sparing.progress import Progress
from sparing.study import money
from sparing.study.databases import store_at
from sparing.study.settings import Settings
from sparing.study.views import Ask, Example

if TYPE_CHECKING:
    import pandas as pd

    from sparing.study.checking import Findings
    from sparing.study.report import Report
    from sparing.study.rows import StudyRow
    from sparing.study.settled import Settled
    from sparing.study.visiting import StudyVisit


class Study:
    """Examples, asks and money in a database that several people and machines share.

    Open one with :meth:`create` or :meth:`open`. Every verb is one transaction, and may be repeated after a lost
    connection: what was carried out already is not carried out twice. A query depends on the seed, the number of its
    example and the plan in force when that was first asked for, never on who asks or how often.

    Parameters
    ----------
    store, row : what :meth:`create` and :meth:`open` found: the database, and the row of this study in it
    make_plans : bool
        Whether asks and tells make the plans that are due, or leave them to ``sparing study work``.

    Examples
    --------
    >>> import tempfile
    >>> from sparing import Study
    >>> folder = tempfile.TemporaryDirectory()
    >>> prices = {"glucose": "4.50", "ecg": "20.00", "echo": "95.00", "mri": "180.00"}
    >>> study = Study.create(folder.name + "/heart.db", prices=prices, budget="280.00", total="1000.00", seed=1)
    >>> ask = study.ask("patient-17", who="site-a")
    >>> ask.names, ask.price
    (('ecg', 'glucose', 'mri'), '204.50')
    >>> answer = {"ecg": 0.7, "glucose": 5.1, "mri": None}  # None was paid for, but is unavailable
    >>> event = study.tell(ask, answer, y=1.0, who="site-a")
    >>> study.tell(ask, answer, y=1.0, who="site-a") == event  # sent twice, booked once
    True
    >>> study.money()
    {'total': '1000.00', 'spent': '204.50', 'reserved': '0.00', 'left': '795.50'}
    >>> study.close()
    """

    def __init__(self, store, row, *, make_plans: bool):
        from sparing.study import calls
        from sparing.study.plans import Plans

        self._calls = calls
        self._store, self._id, self.uid, self.name = store, row.id, row.uid, row.name
        self._make_plans = make_plans
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
        categories: Mapping[str, Iterable[str]] | None = None,
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
            What each costs, and the panel that it is bought with. What costs nothing is part of every ask.
        total : str or number, optional
            Money for the whole study; never passed, not by a cent.
        categories : dict of lists by attribute, optional
            The names of the categories of attributes that are no numbers; they are told by name.
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
        moments = None if second_moments is None else [float(moment) for moment in second_moments]
        options = {"learner": learner, "penalty": penalty, "features": features, "design": design}
        settings, units = Settings.checked(
            attributes, prices, groups, budget, total, classes, options | {"second_moments": moments},
            n_examples, seed, lease, categories,
        )  # fmt: skip
        store = store_at(address)
        from sparing.study import opening

        opening.create(store, settings, units, name)
        return cls(store, opening.find(store, name), make_plans=True)

    @classmethod
    def open(cls, address, *, name: str | None = None, make_plans: bool = True) -> "Study":
        """Open a study; without ``name``, the only one there is.

        With ``make_plans=False`` plans that are due are left to :meth:`work`, so that no call waits for one.
        """
        store = store_at(address)
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
        return self._calls.ask_many(self, [name], who)[0]

    def ask_many(self, names: Iterable[str], *, who: str | None = None) -> list[Ask]:
        """As :meth:`ask`, for several examples at once: all of them or none."""
        return self._calls.ask_many(self, names, who)

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
        who : str, optional
            Who tells; by default the holder of the ask.
        """
        return self._calls.tell_many(self, [(ask, values or {}, y)], who)[0]

    def tell_many(self, answers: Iterable[tuple[Ask | str, Mapping[str, Any], Any]], *, who=None) -> list[int]:
        """As :meth:`tell`, for several (ask, values, y) at once: all of them or none."""
        return self._calls.tell_many(self, answers, who)

    def tell_sheet(self, path, *, who: str | None = None) -> tuple[int, int]:
        """Tell the answers in a CSV file that :meth:`write_sheet` made: all of them or none.

        Rows may come in any order, filled in part, and twice. Returns how many rows say something, and how many of
        them were new.
        """
        return self._calls.tell_sheet(self, path, who)

    def cancel(self, ask: Ask | str, *, who: str | None = None) -> None:
        """Release the money for what was not told. Whoever asks again gets the same query."""
        calls = self._calls
        calls.write(self, lambda books: calls.asks.cancel(books, calls.number_of(self, ask), calls.actor(who)))

    def expire(self, *, who: str | None = None) -> list[str]:
        """Let others take over asks whose lease is over; the names of their examples.

        Money stays reserved for late answers, which are taken as ever; :meth:`cancel` releases it.
        """
        return self._calls.expire(self, who)

    def correct(
        self, name: str, values: Mapping[str, Any] | None = None, y=None, *, expected: int, who=None, why: str = ""
    ) -> int:
        """Replace values or the target of an example; the number of the event. Money and earlier plans stay.

        ``expected`` is the last event of the example as :meth:`example` shows it: a correction that was made in the
        meantime is not overwritten.
        """
        return self._calls.correct(self, name, values or {}, y, expected, who, why)

    def withdraw(self, name: str, *, who: str | None = None, why: str = "") -> int:
        """Keep an example out of the model from now on; the number of the event. What was spent stays spent."""
        return self._calls.withdraw(self, name, who, why)

    def visit(
        self, name: str, known: Mapping[str, Any] | None = None, *, price_of_error=None, target_std=None, budget=None,
        who: str | None = None,
    ) -> "StudyVisit":  # fmt: skip
        """Predict for a new case, and buy of it what is worth its price; or go on with such a visit.

        Each purchase is an ask of this study. The model is that of now, and stays the same for this visit. What is
        bought of a visit depends on its values, so it never enters the model.

        Parameters
        ----------
        name : str
            Of the case; no example that was asked for.
        known : dict by attribute, optional
            Values that are known anyway.
        price_of_error, target_std, budget
            When to stop, as of :meth:`sparing.BudgetRidge.visit`; whoever goes on with a visit may leave them out.

        Examples
        --------
        >>> import tempfile
        >>> from sklearn.datasets import load_diabetes
        >>> from sparing import Study
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> folder = tempfile.TemporaryDirectory()
        >>> study = Study.create(folder.name + "/study.db", attributes=list(X), budget=4, total=1500, seed=0)
        >>> asks = study.ask_many([f"patient-{row}" for row in range(300)])
        >>> rows = [dict(X.loc[row, list(ask.names)]) for row, ask in enumerate(asks)]
        >>> events = study.tell_many(zip(asks, rows, y))
        >>> visit = study.visit("patient-400", known=dict(X.loc[400, ["age", "sex"]]), target_std=60)
        >>> while (ask := visit.ask()) is not None:
        ...     event = visit.tell(ask, dict(X.loc[400, list(ask.names)]))
        >>> visit.why, visit.std <= 60
        ('the standard deviation is at most 60', True)
        >>> study.close()
        """
        from sparing.study.visiting import visit

        options = {"price_of_error": price_of_error, "target_std": target_std, "budget": budget}
        return visit(self, name, known, options, who)

    def work(self) -> None:
        """Do what no call should wait for: expire leases, make plans that are due, store a snapshot of the cells."""
        self._calls.work(self)

    # What is known ---------------------------------------------------------------------------------------------------

    def cells(self, *, at: int | None = None, also: Iterable = ()) -> Cells:
        """The cells of settled examples, now or as of an event; ``also`` those of files that other studies exported."""
        return self._calls.cells(self, at, also)

    def model(self, *, at: int | None = None, also: Iterable = ()) -> Any:
        """The fitted estimator, now or as of an event; ``also`` of files that other studies exported.

        It is the same object until settled cells change.
        """
        if also:
            return self.settings.fitted(self.cells(at=at, also=also))
        if at is None:
            return self._newest_model()[1]
        if self._model is not None and self._model[0] == at:
            return self._model[1]
        return self.settings.fitted(self.cells(at=at))

    @property
    def n_examples(self) -> int:
        """Examples that something was asked of."""
        return self._state().examples

    def money(self) -> dict[str, str]:
        """Total, spent, reserved and left, exactly; a study without a total has neither total nor left."""
        row, decimals = self._state(), self.settings.decimals
        units = {"spent": row.spent, "reserved": row.committed - row.spent}
        if row.total is not None:
            units = {"total": row.total, **units, "left": row.total - row.committed}
        return {what: money.text(amount, decimals) for what, amount in units.items()}

    def example(self, name: str) -> Example:
        """What is known of an example."""
        return self._calls.example(self, name)

    def asks(self, *, state: str = "open", who: str | None = None) -> list[Ask]:
        """Asks in this state, in the order in which they were made; of all holders, or of one."""
        return self._calls.asks_in(self, state, who)

    def report(self, *, forecast: bool = False, progress: Progress | None = None) -> "Report":
        """Money, examples, looks by attribute, estimated error; with ``forecast``, what more money would bring.

        A forecast takes a while: ``progress`` is called with the part of it that was just done.
        """
        from sparing.study.report import report

        return report(self, forecast=forecast, progress=progress)

    def table(self) -> "pd.DataFrame":
        """One row for each example, with a column for each attribute; NaN where there is no value."""
        from sparing.study.report import table

        return table(self)

    def check(self, *, replay: bool = False, progress: Progress | None = None) -> "Findings":
        """Compare the books with sums over the tables; with ``replay``, with all events, and draw every query again.

        Raises ``StudyError`` where they differ. ``progress`` is called with the part of the replay that was just done.
        """
        from sparing.study.checking import check

        return check(self, replay=replay, progress=progress)

    # Files -----------------------------------------------------------------------------------------------------------

    def write_sheet(self, asks: Iterable[Ask], path) -> None:
        """Write asks as a CSV file to be filled in by whoever measures."""
        self._calls.sheets.write_sheet(self, asks, path)

    def export(self, path) -> None:
        """Write the cells of settled examples, with plan and chance of each: .csv, .parquet or .npz.

        :meth:`sparing.cells.Cells.load` reads an .npz file, which has the names of attributes and of categories, too.
        """
        self._calls.transfer.export(self, path)

    def backup(self, path, *, force: bool = False) -> None:
        """Copy an SQLite study while others write to it; never copy its file by other means."""
        self._calls.transfer.backup(self, path, force=force)

    # Within ----------------------------------------------------------------------------------------------------------

    def _state(self) -> "StudyRow":
        return self._calls.state(self)

    def _newest_model(self) -> tuple[int, Any]:
        """The model of now, and the last event that changed its cells."""
        if self._model is None or self._model[0] != self._state().changed:
            settled = self._calls.at_head(self)
            self._model = settled.changed, self.settings.fitted(settled.cells)
        return self._model
