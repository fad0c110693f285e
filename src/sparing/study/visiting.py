"""A visit within a study: values of a new case are bought one by one, each by an ask of the study."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from math import nan
from typing import TYPE_CHECKING, Any

from sparing.prediction.visit import Offer, Visit
from sparing.study import calls, money, visits
from sparing.study.asks import known_example
from sparing.study.books import Books
from sparing.study.errors import Conflict
from sparing.study.rows import AWAITED, NOT_BOUGHT, TOLD, ExampleRow
from sparing.study.values import Values, checked_values, readings_of, shown_values
from sparing.study.views import Ask

if TYPE_CHECKING:
    from sparing.study.study import Study

OPTIONS = ("price_of_error", "target_std", "budget")


class StudyVisit:
    """Asks for the values of one new case that are worth their price, in the books of a study; see ``study.visit``.

    The next purchase is a pure function of the model with which the visit began, of its options and of what is known of
    the case, so anybody can continue the visit. Its values never enter the model, even if its target is told later,
    since they were chosen by the values of the case.
    """

    def __init__(self, study: "Study", name: str, model, who: str):
        self.name, self.who = name, who
        self._study, self._model = study, model
        self._row, self.model_visit = self._look()

    # Asking and telling ----------------------------------------------------------------------------------------------

    def ask(self) -> Ask | None:
        """What to buy next, or None if nothing is worth its price; the same until it is told. Its price is reserved.

        Refused with ``Taken`` while somebody else buys, and with ``OverBudget`` if the money left does not pay for it.
        """
        while True:
            query = self.model_visit.ask()
            wanted = [] if query is None else query.attributes.tolist()
            is_current, asked = calls.write(self._study, partial(self._ask, wanted=wanted))
            self._row, self.model_visit = self._look(self._row)
            if is_current:
                return asked

    def _ask(self, books: Books, wanted: list[int]) -> tuple[bool, Ask | None]:
        """Whether the decision is still valid, because nothing was told since; and the ask."""
        example = books.example(self._row.number)
        if example.event != self._row.event:
            return False, None
        if wanted or visits.is_awaited(example) or example.state == "withdrawn":
            made = visits.ask_next(books, self._study.settings, example, wanted, self.who)
            return True, Ask.of(self._study.settings, books.uid, made, example)
        visits.stop(books, example, self._said(), self.who)
        return True, None

    def tell(self, ask: Ask | str, values: Mapping[str, Any] | Sequence, y=None) -> int:
        """Book what was bought, as :meth:`Study.tell` does; a sequence is in the order of ``ask.names``.

        ``y`` is the target, which may also be told later or never.
        """
        if isinstance(ask, Ask) and not isinstance(values, Mapping):
            values = dict(zip(ask.names, values, strict=True))
        event = self._study.tell(ask, values, y, who=self.who)  # type: ignore[arg-type]  # a mapping now
        self._row, self.model_visit = self._look(self._row)
        return event

    # What is known now -----------------------------------------------------------------------------------------------

    @property
    def prediction(self):
        """The predicted target or label, given what is known."""
        return self.model_visit.prediction

    @property
    def edge(self) -> str:
        """As :attr:`sparing.prediction.Visit.edge`."""
        return self.model_visit.edge

    @property
    def std(self):
        """The standard deviation of the target given what is known; None for classes."""
        return self.model_visit.std

    @property
    def proba(self):
        """The probabilities of the classes; None for regressors."""
        return self.model_visit.proba

    @property
    def known(self) -> dict[str, Any]:
        """The values that are known, by name."""
        return shown_values(self._study.settings, self._row)

    @property
    def spent(self) -> float:
        """What was paid for them so far."""
        return self.model_visit.spent

    @property
    def why(self) -> str:
        """Why ``ask`` returned None; "" if it did not."""
        return "" if visits.is_awaited(self._row) else self.model_visit.why

    @property
    def offer(self) -> Offer | None:
        """The price of the purchase that ``ask`` returned, and what it is worth; None if it returned None."""
        return self.model_visit.offer

    def _said(self) -> dict[str, Any]:
        """The prediction in the form that the books store."""
        label, proba = self.prediction, self.proba
        chances = None if proba is None else [float(chance) for chance in proba]
        plain = label.item() if hasattr(label, "item") else label
        return {"prediction": plain, "std": self.std, "proba": chances, "why": self.model_visit.why}

    # From the books to the model's question --------------------------------------------------------------------------

    def _look(self, before: ExampleRow | None = None) -> tuple[ExampleRow, Visit]:
        """The row of the visit, and the model's visit in the same state."""
        row, options = self._study.store.read(lambda connection: _read(connection, self._study, self.name))
        if before is not None and before.event == row.event:
            return row, self.model_visit
        visit = self._resumed(row, options)
        visit.ask()
        return row, visit

    def _resumed(self, row: ExampleRow, options: dict[str, Any]) -> Visit:
        """The model's visit, told all known values and purchases; awaited values count as not bought."""
        settings, n_known = self._study.settings, len(options["known"])
        known, bought, declined = {}, {}, []
        for place, (attribute, code, reading) in enumerate(readings_of(row)):
            value = settings.shown(attribute, reading) if code == TOLD else nan
            if place < n_known and code == TOLD:
                known[settings.attributes[attribute]] = value
            elif place < n_known or code == NOT_BOUGHT:
                declined.append(attribute)
            elif code != AWAITED:
                bought[attribute] = value
        visit = self._model.visit(known, **{option: options[option] for option in OPTIONS})
        visit.recall(list(bought), bought.values(), declined=declined)
        return visit


def _read(connection, study: "Study", name: str) -> tuple[ExampleRow, dict[str, Any]]:
    books = Books(connection, study.id, lock=False)
    row = known_example(books, name)
    return row, json.loads(books.visit(row.number).options)


def visit(study: "Study", name: str, known, options: dict[str, Any], who: str | None) -> StudyVisit:
    """Begin or continue a visit. What the model refuses is refused before anything is stored."""
    name, who, settings = calls.checked_name("name", name), calls.actor(who), study.settings
    options = {option: _number(option, value) for option, value in options.items()}
    checked = checked_values(settings, known or {})
    values: Values = {attribute: value for attribute, value in checked.items() if isinstance(value, float)}
    event = study.store.read(lambda connection: _model_event(Books(connection, study.id, lock=False), name))
    if event is None:
        event, model = study._newest_model()
        if not model.learner_.n_rounds:
            raise Conflict("a visit needs a model, and no example is settled yet; tell some first.")
        model.visit({settings.attributes[at]: settings.shown(at, value) for at, value in values.items()}, **options)

    def begin(books: Books) -> int:
        return books.visit(visits.begin(books, name, values, options, event, who).number).model

    return StudyVisit(study, name, study.model(at=calls.write(study, begin)), who)


def _number(option: str, value) -> float | None:
    """An option as a number; money may be given as text."""
    return None if value is None else float(money.amount(option, value))


def _model_event(books: Books, name: str) -> int | None:
    """The event whose model the visit uses, or None if it has not begun."""
    example = books.named(name)
    return books.visit(example.number).model if example is not None and example.is_visit else None
