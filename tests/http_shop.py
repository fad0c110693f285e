"""A shop behind HTTP that keeps books of its own and injects faults, on a free loopback port."""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

FAULTS = ("lost reply", "error before", "error after", "slow")
SLOW = 0.4  # seconds; sources in these tests wait for half of it


class Shop:
    """Sells values of a matrix, at one each; a purchase is known by its key, and charged once.

    ``fault(key, attempt)`` names what goes wrong with a request, or None.
    """

    def __init__(self, X, names, fault=lambda key, attempt: None):
        self.X, self.names, self.fault = X, names, fault
        self.sold: dict[str, dict] = {}  # by key: the answer
        self.paid = self.conflicts = 0
        self.attempts: dict[str, int] = {}
        self.lock = threading.Lock()

    def buy(self, key: str, asked: dict) -> dict:
        """The answer, the same for the same key."""
        with self.lock:
            row = self.X[asked["example"]]
            values = {name: row[self.names.index(name)] for name in asked["attributes"]}
            values = {name: None if np.isnan(value) else float(value) for name, value in values.items()}
            if key not in self.sold:
                self.sold[key] = values
                self.paid += len(values)
            self.conflicts += self.sold[key].keys() != values.keys()
            return {"values": self.sold[key]}


class Handler(BaseHTTPRequestHandler):
    """Answers POST as the shop does, unless something goes wrong."""

    protocol_version = "HTTP/1.1"
    shop: Shop

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers["Idempotency-Key"]
        with self.shop.lock:
            attempt = self.shop.attempts[key] = self.shop.attempts.get(key, 0) + 1
        fault = self.shop.fault(key, attempt)
        if fault == "error before":
            return self.answer(500, {"error": "out of order"})
        if isinstance(fault, int):
            return self.answer(fault, {"error": "no"})
        answer = self.shop.buy(key, asked)
        if fault == "lost reply":
            self.close_connection = True
            return self.connection.close()
        if fault == "slow":
            time.sleep(SLOW)
        return self.answer(500, {"error": "crashed"}) if fault == "error after" else self.answer(200, answer)

    def answer(self, status: int, body: dict) -> None:
        text = json.dumps(body).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
        except OSError:  # the client did not wait
            self.close_connection = True

    def log_message(self, *_):
        """Nothing is printed."""


@contextmanager
def running(shop: Shop):
    """The address of a server that sells for this shop."""
    handler = type("ShopHandler", (Handler,), {"shop": shop})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # connections that were closed on purpose
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/values"
    finally:
        server.shutdown()
        server.server_close()
