"""Workers that die at a moment of one's choice."""

import os
import signal
from contextlib import contextmanager

from distributed.diagnostics.plugin import SchedulerPlugin


class Killer(SchedulerPlugin):
    """Kills the worker that finishes the first task of each of these kinds: each of the workers once."""

    name = "killer"

    def __init__(self, steps, pids):
        self.steps, self.pids = list(steps), pids

    def transition(self, key, start, finish, *args, worker=None, **kwargs):
        kind = next((step for step in self.steps if str(key).strip("_").startswith(step)), None)
        if kind is not None and finish == "memory" and worker in self.pids:
            self.steps.remove(kind)
            os.kill(self.pids.pop(worker), signal.SIGKILL)


@contextmanager
def killed_after(client, *steps):
    """Inside, workers die after these steps: all of them must have come."""
    client.wait_for_workers(2)
    scheduler, killer = client.cluster.scheduler, Killer(steps, client.run(os.getpid))
    scheduler.add_plugin(killer)
    try:
        yield
    finally:
        scheduler.remove_plugin(killer.name)
    assert not killer.steps
