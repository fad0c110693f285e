"""A real PostgreSQL server for tests and benchmarks: of its own, on a free loopback port, ended by its own id."""

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from glob import glob
from pathlib import Path


def programs() -> tuple[str, str] | None:
    """``initdb`` and ``pg_ctl``, where PostgreSQL is installed."""
    beside = ":".join(sorted(glob("/usr/lib/postgresql/*/bin"), reverse=True))
    found = [shutil.which(name, path=f"{beside}:{os.environ['PATH']}") for name in ("initdb", "pg_ctl")]
    return None if None in found else (found[0], found[1])


@contextmanager
def server(**settings):
    """The address of a fresh server, without the name of a database; ``settings`` are those of postgresql.conf."""
    initdb, pg_ctl = programs()
    folder = Path(tempfile.mkdtemp(prefix="sparing-postgres-"))
    as_user = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        shutil.chown(folder, "postgres", "postgres")
        as_user = {"user": "postgres", "group": "postgres", "extra_groups": []}
    data, log = folder / "data", folder / "log"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c max_connections=200"
    options += "".join(f" -c {name}={value}" for name, value in settings.items())

    def run(*command):
        subprocess.run([*map(str, command)], check=True, cwd=folder, stdout=subprocess.DEVNULL, **as_user)

    try:
        run(initdb, "-D", data, "-U", "tester", "-A", "trust", "--no-sync", "--locale", "C.UTF-8", "-E", "UTF8")
        run(pg_ctl, "-D", data, "-l", log, "-w", "-o", options, "start")
        try:
            yield f"postgresql://tester@127.0.0.1:{port}"
        finally:
            run(pg_ctl, "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
