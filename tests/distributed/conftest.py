"""One cluster of two processes for the tests of this folder; it is ended when they are done."""

import dask
import pytest
from distributed import Client, LocalCluster


@pytest.fixture(scope="package")
def client():
    """Workers wait for a dead one for some seconds only.

    The cluster gives up a worker that is dead when this timeout ends, though it was restarted since and killed again:
    tests that kill one after the other would wait for ever for their workers.
    """
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "3s", "distributed.deploy.lost-worker-timeout": "1h"}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        yield client
