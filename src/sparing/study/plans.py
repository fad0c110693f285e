"""The plans of a study: they are made outside any transaction, and each comes into force exactly once."""

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from sparing import __version__
from sparing.buying.plan import Plan
from sparing.study.books import Books
from sparing.study.settings import Settings
from sparing.study.store import EXAMPLE, PLAN, STUDY, Store

FLOATS = np.dtype("<f8")  # stored as bytes, since the last bits of computed numbers may differ between machines


class Plans:
    """All plans of one study, by version. Plans never change, so those that were read are cached."""

    def __init__(self, store: Store, study: int, settings: Settings):
        self.store, self.study, self.settings = store, study, settings
        self._known: dict[int, tuple[Plan, np.ndarray]] = {}

    # Reading ---------------------------------------------------------------------------------------------------------

    @property
    def are_warm(self) -> bool:
        """Whether kernels are compiled, which must not happen while the row of the study is locked."""
        return bool(self._known)

    def plan(self, connection: Connection, version: int) -> Plan:
        """The plan of this version."""
        return self._get(connection, version)[0]

    def chances(self, connection: Connection, version: int) -> np.ndarray:
        """The probability with which each attribute is asked for under the plan of this version."""
        return self._get(connection, version)[1]

    def _get(self, connection: Connection, version: int) -> tuple[Plan, np.ndarray]:
        if version not in self._known:
            found = sa.select(PLAN.c.shares, PLAN.c.chances).where(
                PLAN.c.study == self.study, PLAN.c.version == version
            )
            shares, chances = (np.frombuffer(stored, FLOATS) for stored in connection.execute(found).one())
            plan = Plan(self.settings.shop, shares)
            plan.query(self.settings.seed, 0)  # compiles
            self._known[version] = plan, chances
        return self._known[version]

    # Making ----------------------------------------------------------------------------------------------------------

    def due(self, version: int) -> int:
        """The number of settled examples at which the plan after this one is due."""
        return self.settings.learner.next_plan << version

    def catch_up(self, cells_at) -> None:
        """Make all plans that are due, unless another client does. ``cells_at(event)`` are the cells as of an event."""
        while True:
            version, event = self.store.read(self._next)
            if event is None:
                return
            with self.store.planning(self.study) as alone:
                if not alone:
                    return
                self.put_into_force(
                    version + 1, event, self.due(version), self.settings.learner.plan_after(cells_at(event))
                )

    def _next(self, connection: Connection) -> tuple[int, int | None]:
        """The version in force, and the event from whose cells the next plan is made, or None if none is due."""
        state = sa.select(STUDY.c.settled, STUDY.c.plan).where(STUDY.c.id == self.study)
        settled, version = connection.execute(state).one()
        self._get(connection, version)
        return version, None if settled < self.due(version) else self.event_of(connection, self.due(version))

    def event_of(self, connection: Connection, n_settled: int) -> int:
        """The event at which this number of examples had been settled."""
        settled = EXAMPLE.c.settled
        found = sa.select(settled).where(EXAMPLE.c.study == self.study, settled.is_not(None)).order_by(settled)
        return int(connection.execute(found.limit(1).offset(n_settled - 1)).scalar_one())

    def put_into_force(self, version: int, event: int, n_settled: int, plan: Plan) -> None:
        """Put a plan into force, unless another client has done so."""

        def insert(connection):
            books = Books(connection, self.study)
            if books.plan == version - 1:
                connection.execute(sa.insert(PLAN), plan_row(self.study, version, event, n_settled, plan))
                books.event("plan", "sparing", {"version": version, "as_of": event, "n_settled": n_settled})
                books.plan = version
                books.close()

        self.store.write(insert)


def plan_row(study: int, version: int, event: int, n_settled: int, plan: Plan) -> dict:
    """The row of a plan in the database."""
    return {
        "study": study,
        "version": version,
        "event": event,
        "n_settled": n_settled,
        "shares": plan.shares.astype(FLOATS).tobytes(),
        "chances": plan.inclusion.astype(FLOATS).tobytes(),
        "sparing": __version__,
    }
