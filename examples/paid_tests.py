"""Learn from medical tests that are bought one patient at a time, and survive a crash in between.

Every patient has 20 possible tests; we may make four of them. The laboratory here is simulated: it keeps the values and
gives out only what is asked for.
"""

import numpy as np

from sparing.learners import TwoPhasedDDAERR
from sparing.types import Ledger

rng = np.random.default_rng(0)
TESTS, PATIENTS = 20, 4_000
hidden = rng.standard_normal((PATIENTS, TESTS)) * np.linspace(2.0, 0.2, TESTS)
risk = hidden @ np.where(np.arange(TESTS) < 5, 1.0, 0.1) + rng.standard_normal(PATIENTS)

learner = TwoPhasedDDAERR(
    TESTS, budget=4, radius=3.0, n_examples=PATIENTS, step_size="adaptive", split="even", inner="improved"
)
ledger = Ledger(per_example=4)

for patient in range(PATIENTS):
    if patient == PATIENTS // 2:  # the machine is switched off; all that is needed fits into one file
        np.savez("learner.npz", **learner.state())
        with np.load("learner.npz") as saved:
            learner = TwoPhasedDDAERR.from_state(saved)
    query = learner.ask()
    ledger.book(query.attributes)  # pays, or refuses before anything is read
    learner.tell(query, hidden[patient, query.attributes], risk[patient])

explained = 1 - np.var(risk - hidden @ learner.coef) / np.var(risk)
print(f"bought {ledger.cells:,} of {PATIENTS * TESTS:,} values; they explain {explained:.0%} of the risk")
assert explained > 0.7
