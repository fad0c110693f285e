"""
One patient at a time, and a crash
==================================

There are 20 tests, and we may make four of them per patient. A learner never sees a whole row: it asks for some tests
(``ask``), somebody makes them, and the learner receives the results (``tell``). The laboratory here is simulated; it
reveals only what is asked for. Halfway through, the machine is switched off.
"""

# %%
# Patients whose values stay hidden
# ---------------------------------
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from sparing.compare import ALGORITHMS
from sparing.learners import PairwiseMoments, TwoPhasedDDAERR
from sparing.types import Ledger

rng = np.random.default_rng(0)
TESTS, PATIENTS = 20, 4_000
hidden = rng.standard_normal((PATIENTS, TESTS)) * np.linspace(2.0, 0.2, TESTS)
risk = hidden @ np.where(np.arange(TESTS) < 5, 1.0, 0.1) + rng.standard_normal(PATIENTS)

# %%
# Ask, pay, measure, tell
# -----------------------
# The ledger books every purchase before anything is read, and refuses what exceeds the budget. The complete state of a
# learner fits into one file of arrays. A learner that is restored from it continues as if nothing had happened.


def explained(learner):
    """The fraction of the risk's variance that the model explains, on all patients and with all values."""
    return 1 - np.var(risk - hidden @ learner.coef) / np.var(risk)


def treat(learner):
    """Buy four tests per patient; return (values bought, fraction explained) after every hundred patients."""
    ledger, curve = Ledger(per_example=4), []
    for patient in range(PATIENTS):
        if patient == PATIENTS // 2:  # the machine is switched off, and on again
            with tempfile.TemporaryDirectory() as folder:
                np.savez(Path(folder) / "learner.npz", **learner.state())
                with np.load(Path(folder) / "learner.npz") as saved:
                    learner = type(learner).from_state(saved)
        query = learner.ask()
        ledger.book(query.attributes)
        learner.tell(query, hidden[patient, query.attributes], risk[patient])
        if patient % 100 == 99:
            curve.append((ledger.cells, explained(learner)))
    print(f"{type(learner).__name__}: {ledger.cells:,} of {hidden.size:,} values explain {curve[-1][1]:.0%}")
    return np.array(curve)


online = TwoPhasedDDAERR(
    TESTS, budget=4, radius=3.0, n_examples=PATIENTS, step_size="adaptive", split="even", inner="improved"
)
keeping = PairwiseMoments(TESTS, budget=4, n_examples=PATIENTS)
curves = {type(learner).__name__: treat(learner) for learner in (online, keeping)}

# %%
# An online learner and a keeping learner
# ---------------------------------------
# The online learner makes one step per patient and needs almost no memory. The dip in its curve is the end of its
# pilot, a tenth of the patients. The keeping learner stores every value it paid for, and explains about 80 % of the
# variance after 400 patients.
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, (cells, part) in ((name, curve.T) for name, curve in curves.items()):
    look = ALGORITHMS[name]
    axes.plot(cells, part, label=look.label, color=look.colour, marker=look.marker, markevery=4, markersize=7)
best = 1 - 1 / np.var(risk)  # the noise has variance one
axes.axhline(best, color="0.6", linestyle=":", linewidth=1)
axes.annotate("all there is to explain", (0, best), xytext=(0, 4), textcoords="offset points", fontsize=8, color="0.4")
axes.axvline(4 * PATIENTS // 2, color="0.6", linewidth=1)
axes.annotate("the crash", (4 * PATIENTS // 2, 0.05), xytext=(4, 0), textcoords="offset points", color="0.4")
axes.set(xlabel=f"values bought, of {hidden.size:,}", ylabel="fraction of variance explained", ylim=(0, 1))
axes.grid(alpha=0.25)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="center right")
assert min(curve[-1, 1] for curve in curves.values()) > 0.7
