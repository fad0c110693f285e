"""The report of a study: purchases, money, the quality of its model, and a forecast for more money."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from sparing import planning
from sparing.progress import Progress
from sparing.study import money
from sparing.study.rows import EXAMPLES, TOLD, UNAVAILABLE, VISITS, ExampleRow, VisitRow
from sparing.study.store import ASK, EXAMPLE
from sparing.study.values import shown_values

if TYPE_CHECKING:
    import pandas as pd

LEAST_JUDGED = 10  # settled examples from which an error is estimated
SPENDS = (1.5, 2.0, 4.0)  # multiples of the money spent that a study without a total is forecast for


@dataclass(frozen=True)
class Looked:
    """One attribute: the number of values told, how many of them were unavailable, and the money spent."""

    attribute: str
    looks: int
    unavailable: int
    spent: str


@dataclass(frozen=True)
class Report:
    """A study in numbers; ``model`` is None while too few examples are settled to judge one."""

    name: str
    money: dict[str, str]
    examples: dict[str, int]
    asks: dict[str, int]
    on_visits: str  # money spent
    attributes: list[Looked]
    model: dict[str, Any] | None
    forecast: list[planning.Prospect]

    def lines(self) -> list[str]:
        """The report in sentences."""
        books = ", ".join(f"{amount} {what}" for what, amount in self.money.items())
        counts = ", ".join(f"{n:,} {state}" for state, n in sorted(self.examples.items())) or "none yet"
        said = [f"Study {self.name!r}: {books}.", f"Examples: {counts}."]
        waiting = self.asks.get("open", 0) + self.asks.get("lapsed", 0)
        if visits := self.examples.get("visiting", 0) + self.examples.get("predicted", 0):
            said.append(f"{visits:,} visits, for {self.on_visits} of what was spent.")
        if waiting:
            said.append(f"Asks: {self.asks.get('open', 0):,} open, {self.asks.get('lapsed', 0):,} lapsed.")
        if self.model is not None and "risk" in self.model:
            r2, error = 1.0 - self.model["risk"], self.model["risk_error"]
            said.append(f"Estimated R² on whole rows {r2:z.2f} ± {error:.2f}, from bought values that were held out.")
        if self.model is not None:
            said.append(f"Model: {self.model['setting']}.")
        said += [
            f"For {each.spend:,.6g} in all, expect {each.few:.3f} ± {each.few_deviation:.3f} of the error of the mean."
            for each in self.forecast
        ]
        return said


def report(study, *, forecast: bool, progress: Progress | None = None) -> Report:
    """The report of a study."""
    enough = study.cells().n_examples >= LEAST_JUDGED
    facts = study.model().report_ if enough else None
    chosen = ("setting", "why", "risk", "risk_error")
    return Report(
        name=study.name,
        money=study.money(),
        examples=_counts(study, EXAMPLE),
        asks=_counts(study, ASK),
        on_visits=_spent_on_visits(study),
        attributes=_looked(study),
        model=None if facts is None else {name: facts[name] for name in chosen if name in facts},
        forecast=_forecast(study, progress) if forecast else [],
    )


def _counts(study, table: sa.TableClause) -> dict[str, int]:
    states = sa.select(table.c.state, sa.func.count()).where(table.c.study == study.id).group_by(table.c.state)
    return dict(study.store.read(lambda connection: [tuple(row) for row in connection.execute(states)]))


def _spent_on_visits(study) -> str:
    spent = sa.select(sa.func.coalesce(sa.func.sum(ASK.c.paid), 0)).where(ASK.c.study == study.id, ASK.c.example < 0)
    units = study.store.read(lambda connection: int(connection.execute(spent).scalar_one()))
    return money.text(units, study.settings.decimals)


def _looked(study) -> list[Looked]:
    """Looks and money by attribute, over all asks."""
    asks = sa.select(ASK.c.attributes, ASK.c.told).where(ASK.c.study == study.id)
    rows = study.store.read(lambda connection: connection.execute(asks).all())
    attributes = np.frombuffer(b"".join(row.attributes for row in rows), "<i4")
    told = np.frombuffer(b"".join(row.told for row in rows), np.uint8)
    settings, d = study.settings, len(study.settings.attributes)
    numbers = [np.bincount(attributes[told == code], minlength=d) for code in (TOLD, UNAVAILABLE)]
    return [
        Looked(name, int(looks), int(unavailable), money.text(int(looks + unavailable) * price, settings.decimals))
        for name, looks, unavailable, price in zip(settings.attributes, *numbers, settings.units, strict=True)
    ]


def _forecast(study, progress: Progress | None) -> list[planning.Prospect]:
    """The expected error for the rest of the money; without a total, for multiples of the money spent."""
    settings, row = study.settings, study._state()
    unit = 10**settings.decimals
    if row.total is None:
        spends = [row.spent * times / unit for times in SPENDS]
    else:
        spends = [amount / unit for amount in np.linspace(row.spent, row.total, 4)[1:] if amount]
    estimator = settings.estimator()
    prices = {"budget": estimator.budget, "costs": estimator.costs, "groups": estimator.groups}
    return planning.plan(study.cells(), **prices, levels=settings.learner.levels, spends=spends, progress=progress)


def table(study) -> "pd.DataFrame":
    """One row per example, followed by one row per visit, whose plan is -1."""
    import pandas as pd

    settings = study.settings
    first = sa.case((EXAMPLE.c.number < 0, 1), else_=0)  # examples before visits, whose numbers are negative
    wanted = EXAMPLES.order_by(first, sa.func.abs(EXAMPLE.c.number))

    def look(connection):
        rows = [ExampleRow(*row) for row in connection.execute(wanted, {"of": study.id})]
        visits = [VisitRow(*row) for row in connection.execute(VISITS, {"of": study.id})]
        return rows, {visit.number: json.loads(visit.said)["prediction"] for visit in visits if visit.said}

    rows, predictions = study.store.read(look)
    lines = [
        {"example": row.name, "state": row.state, "plan": row.plan, "event": row.event, "y": settings.label(row.y)}
        | {"prediction": predictions.get(row.number)}
        | shown_values(settings, row)
        for row in rows
    ]
    columns = ["example", "state", "plan", "event", "y", "prediction", *settings.attributes]
    return pd.DataFrame(lines, columns=columns).set_index("example")
