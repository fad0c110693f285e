"""Values from a web service that is paid per call: no purchase is paid for twice, and none is lost from the books."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from time import sleep
from typing import Any

import numpy as np

from sparing import checks
from sparing.types import RefusedPurchase, UnknownPurchase

LONGEST_PAUSE = 60.0  # seconds between two attempts
UNDER_WAY = 409  # an earlier request with the same key is being answered
TOO_BUSY = (408, 425, 429)  # nothing was bought, and another attempt may succeed


class HTTPSource(AbstractContextManager):
    """Asks a server for the values of an example by POST, with an idempotency key.

    The body is ``{"example": id, "attributes": [names]}``, the answer ``{"values": {name: number or null}}``; null is
    an unavailable value. The header ``Idempotency-Key`` is a pure function of study, example and attributes. A server
    that honours it gives the same answer to a repeated request, and charges once. So a fit that was interrupted can be
    started again with the same ``random_state``: it asks for the same values, and pays only for new ones.

    If there is no answer, or its status is 409 (a request with this key is in progress) or at least 500, it is unknown
    whether the purchase was made. It is tried again with the same key, after pauses that double. If it remains unknown,
    :class:`~sparing.types.UnknownPurchase` is raised: the purchase counts as made in the ledger that ``run`` was given.
    :class:`~sparing.types.RefusedPurchase` means that nothing was bought.

    Connections are kept for further requests; ``close``, or the end of a ``with`` block, closes them.

    Parameters
    ----------
    url : str
    examples : int or sequence
        The number of examples, numbered from 0, or the server's names of the examples.
    names : sequence of str
        The server's names of the attributes.
    study : str
        Purchases for different studies have different keys.
    headers : dict, optional
        Sent with each request, such as an access token.
    timeout : float
        Seconds to wait for an answer.
    attempts : int
        The maximum number of requests for one purchase.
    pause : float
        Seconds before the second attempt.
    workers : int
        The number of simultaneous requests of keeping learners.
    """

    def __init__(
        self,
        url: str,
        *,
        examples: int | Sequence,
        names: Sequence[str],
        study: str,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        attempts: int = 5,
        pause: float = 0.5,
        workers: int = 4,
    ):
        self.url, self.names, self.study = url, list(names), study
        numbered = isinstance(examples, int | float | np.number)
        ids: Any = range(checks.whole("examples", examples)) if numbered else examples
        self.ids = [each.item() if isinstance(each, np.generic) else each for each in ids]  # JSON knows no NumPy
        self.n_examples, self.n_attributes = len(self.ids), len(self.names)
        self.attempts = checks.whole("attempts", attempts)
        self.pause = checks.positive("pause", pause, zero=True)
        self.workers = checks.whole("workers", workers)
        self._httpx = _httpx()
        self._client = self._httpx.Client(headers=headers, timeout=checks.positive("timeout", timeout))

    def close(self) -> None:
        """Close all connections; after that, nothing can be read."""
        self._client.close()

    def __exit__(self, *raised) -> None:
        self.close()

    def key(self, example: int, attributes: np.ndarray) -> str:
        """The idempotency key of a purchase; it does not depend on the order of the attributes."""
        asked = json.dumps([self.study, self.ids[example], sorted(self.names[at] for at in attributes)])
        return hashlib.sha256(asked.encode()).hexdigest()

    def read(self, example: int, attributes: np.ndarray) -> np.ndarray:
        """The values of these attributes, bought once even if the request is repeated."""
        names = [self.names[at] for at in attributes]
        key, question = self.key(example, attributes), {"example": self.ids[example], "attributes": sorted(names)}
        maybe_bought, problem = False, ""
        for attempt in range(self.attempts):
            if attempt:
                sleep(min(self.pause * 2.0 ** (attempt - 1), LONGEST_PAUSE))
            try:
                answer = self._client.post(self.url, json=question, headers={"Idempotency-Key": key})
            except (self._httpx.ConnectError, self._httpx.ConnectTimeout, self._httpx.UnsupportedProtocol) as error:
                problem = str(error)  # nothing was sent
                continue
            except self._httpx.TransportError as error:
                maybe_bought, problem = True, str(error) or type(error).__name__
                continue
            if answer.is_success:
                return _values(answer, names, example)
            problem = f"the answer was {answer.status_code}: {answer.text[:200]}"
            if answer.status_code >= 500 or answer.status_code == UNDER_WAY:
                maybe_bought = True
            elif answer.status_code not in TOO_BUSY:
                break
        what = f"{', '.join(names)} of example {self.ids[example]!r}"
        if maybe_bought:
            raise UnknownPurchase(f"whether {what} were bought is unknown ({problem}); ask again with key {key}.", key)
        raise RefusedPurchase(f"{what} were not bought ({problem}).")

    def read_batch(self, examples: np.ndarray, queries: list[np.ndarray]) -> list[np.ndarray]:
        """The values of many examples, requested several at a time.

        After an error no new request is sent, and the error is raised when all open requests are done.
        """
        pool = ThreadPoolExecutor(self.workers)
        try:
            purchases = [pool.submit(self.read, int(of), query) for of, query in zip(examples, queries, strict=True)]
            wait(purchases, return_when=FIRST_EXCEPTION)
        finally:
            pool.shutdown(cancel_futures=True)
        unsent = RefusedPurchase("not sent, since an earlier purchase failed.")
        problems = [unsent if made.cancelled() else made.exception() for made in purchases]
        error = next(filter(None, problems), None)  # never an unsent one: requests are sent in order
        if error is None:
            return [made.result() for made in purchases]
        error.not_bought = [at for at, of in enumerate(problems) if isinstance(of, RefusedPurchase)]  # type: ignore[attr-defined]
        raise error


def _values(answer, names: list[str], example: int) -> np.ndarray:
    """The values that were bought, in the order asked for."""
    try:
        values: dict[str, Any] = answer.json()["values"]
        return np.array([np.nan if values[name] is None else float(values[name]) for name in names])
    except (ValueError, KeyError, TypeError):
        raise ValueError(
            f"the answer for {', '.join(names)} of example {example} was {answer.text[:200]!r}; it should be "
            '{"values": {name: number or null}} with every name that was asked for.'
        ) from None


def _httpx():
    try:
        import httpx
    except ImportError:
        raise ImportError('sources behind HTTP need httpx; run: pip install "sparing[http]"') from None
    return httpx
