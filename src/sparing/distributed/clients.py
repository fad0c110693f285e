"""The Dask client in use."""

from distributed import Client, default_client


def client_in_use(client: Client | None) -> Client:
    """The client that was passed or, by default, the one in use."""
    if client is not None:
        return client
    try:
        return default_client()
    except ValueError as error:
        raise ValueError("there is no Dask client; start one with distributed.Client(), or pass client=.") from error
