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

    Open one with :meth:`create` or :meth:`open`. Every call is one transaction, and can be repeated after a lost
    connection: what has been done is not done twice. A query depends on the seed, the number of its example and the
    plan in force when the example was first asked for, never on who asks or how often.

    Parameters
    ----------
    store, row : the database and the row of this study in it, as :meth:`create` and :meth:`open` pass them
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
        self.store, self.id, self.uid, self.name = store, row.id, row.uid, row.name
        self._make_plans = make_plans
        self.settings = Settings.from_json(row.settings)
        self.plans = Plans(store, row.id, self.settings)
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
            The names of the attributes; by default, those of ``prices``.
        prices, groups : dict by attribute, or list in their order, optional
            The price and the panel of each attribute. Free attributes are part of every ask.
        total : str or number, optional
            Money for the whole study, which is never exceeded.
        categories : dict of lists by attribute, optional
            The categories of categorical attributes, whose values are told by name.
        classes : list, optional
            Labels, if targets are labels; without them targets are numbers.
        learner, penalty, features, design, second_moments, n_examples
            As for :class:`sparing.BudgetRidge`; ``penalty="lasso"`` is :class:`sparing.BudgetLasso`.
        seed : int
            The seed of the queries.
        lease : float, optional
            Seconds after which :meth:`expire` lets others take over an ask; by default never.
        name : str
            The name of the study; several studies can share a database.
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
        """Open a study; without ``name``, the only one of the database.

        With ``make_plans=False``, only :meth:`work` makes plans, so that no other call waits for one.
        """
        store = store_at(address)
        from sparing.study import opening

        return cls(store, opening.find(store, name), make_plans=make_plans)

    def close(self) -> None:
        """Close the connections; all data are already stored."""
        self.store.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    # The verbs -------------------------------------------------------------------------------------------------------

    def ask(self, name: str, *, who: str | None = None) -> Ask:
        """What to buy of the example of this name; its price is reserved.

        The same person gets the same ask again; anybody else is refused (``Taken``) until it is cancelled or expires.
        If the money left does not pay for the whole query, the ask is refused with ``OverBudget``.
        """
        return self._calls.ask_many(self, [name], who)[0]

    def ask_many(self, names: Iterable[str], *, who: str | None = None) -> list[Ask]:
        """As :meth:`ask`, for several examples at once: all of them or none."""
        return self._calls.ask_many(self, names, who)

    def tell(self, ask: Ask | str, values: Mapping[str, Any] | None = None, y=None, *, who: str | None = None) -> int:
        """Book what was bought, and return the number of the event.

        Parameters
        ----------
        ask : Ask or str
            The ask, or its key.
        values : dict by attribute
            A number, the name of a category, None for a value that was paid for but is unavailable, or
            ``"not bought"``, which releases its price. Values that are left out can be told later.
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

        Rows may come in any order, partly filled in, and repeatedly. Returns the number of rows with values, and how
        many of them were new.
        """
        return self._calls.tell_sheet(self, path, who)

    def cancel(self, ask: Ask | str, *, who: str | None = None) -> None:
        """Release the money for values that were not told. A later ask for the example has the same query."""
        calls = self._calls
        calls.write(self, lambda books: calls.asks.cancel(books, calls.number_of(self, ask), calls.actor(who)))

    def expire(self, *, who: str | None = None) -> list[str]:
        """Let others take over asks whose lease has ended; return the names of their examples.

        Money stays reserved, and late answers are still accepted; :meth:`cancel` releases it.
        """
        return self._calls.expire(self, who)

    def correct(
        self, name: str, values: Mapping[str, Any] | None = None, y=None, *, expected: int, who=None, why: str = ""
    ) -> int:
        """Replace values or the target of an example, and return the number of the event.

        Money and earlier plans do not change. ``expected`` is the last event of the example as :meth:`example` shows
        it, so that a correction made in the meantime is not overwritten.
        """
        return self._calls.correct(self, name, values or {}, y, expected, who, why)

    def withdraw(self, name: str, *, who: str | None = None, why: str = "") -> int:
        """Leave an example out of the model from now on, and return the number of the event. Money is not refunded."""
        return self._calls.withdraw(self, name, who, why)

    def visit(
        self, name: str, known: Mapping[str, Any] | None = None, *, price_of_error=None, target_std=None, budget=None,
        who: str | None = None,
    ) -> "StudyVisit":  # fmt: skip
        """Begin or continue a visit: predict for a new case, and buy the values that are worth their price.

        Each purchase is an ask of this study. A visit keeps the model with which it began. What it buys depends on the
        values of the case, so these values never enter the model.

        Parameters
        ----------
        name : str
            The name of the case, which must not be an example.
        known : dict by attribute, optional
            Values that are known anyway.
        price_of_error, target_std, budget
            When to stop, as for :meth:`sparing.BudgetRidge.visit`; they can be left out to continue a visit.

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
        """Do background work: expire leases, make plans that are due, store a snapshot of the cells."""
        self._calls.work(self)

    # What is known ---------------------------------------------------------------------------------------------------

    def cells(self, *, at: int | None = None, also: Iterable = ()) -> Cells:
        """The cells of settled examples, now or as of an event, and ``also`` those in files from other studies."""
        return self._calls.cells(self, at, also)

    def model(self, *, at: int | None = None, also: Iterable = ()) -> Any:
        """The estimator fitted to :meth:`cells` with the same arguments.

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
        """The number of examples that were asked for."""
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
        """Asks in this state, in the order in which they were made, of all holders or of one."""
        return self._calls.asks_in(self, state, who)

    def report(self, *, forecast: bool = False, progress: Progress | None = None) -> "Report":
        """Money, examples, looks by attribute, estimated error; with ``forecast``, what more money would bring.

        A forecast takes a while: ``progress`` is called with the part of it that was just done.
        """
        from sparing.study.report import report

        return report(self, forecast=forecast, progress=progress)

    def table(self) -> "pd.DataFrame":
        """One row per example and one column per attribute; NaN for missing values."""
        from sparing.study.report import table

        return table(self)

    def check(self, *, replay: bool = False, progress: Progress | None = None) -> "Findings":
        """Compare the books with sums over the tables; with ``replay``, replay all events and draw every query again.

        Raises ``StudyError`` if they differ. ``progress`` is called with the part of the replay that was just done.
        """
        from sparing.study.checking import check

        return check(self, replay=replay, progress=progress)

    # Files -----------------------------------------------------------------------------------------------------------

    def write_sheet(self, asks: Iterable[Ask], path) -> None:
        """Write asks to a CSV file, to be filled in by those who measure."""
        self._calls.sheets.write_sheet(self, asks, path)

    def export(self, path) -> None:
        """Write the cells of settled examples, with the plan and probability of each, to a .csv, .parquet or .npz file.

        :meth:`sparing.cells.Cells.load` reads an .npz file, which also has the names of attributes and categories.
        """
        self._calls.transfer.export(self, path)

    def backup(self, path, *, force: bool = False) -> None:
        """Copy an SQLite study safely while others write to it; do not copy its file by other means."""
        self._calls.transfer.backup(self.store, path, force=force)

    # Within ----------------------------------------------------------------------------------------------------------

    def _state(self) -> "StudyRow":
        return self._calls.state(self)

    def _newest_model(self) -> tuple[int, Any]:
        """The current model, and the last event that changed its cells."""
        if self._model is None or self._model[0] != self._state().changed:
            settled = self._calls.at_head(self)
            self._model = settled.changed, self.settings.fitted(settled.cells)
        return self._model
