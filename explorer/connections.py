"""Connections for requests that end within a time limit, however slowly the answer comes.

Invariants: the proxy of the environment is used where one is set for a host; a request that takes too long is broken
off, so no server holds a thread as long as it likes.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

if TYPE_CHECKING:
    from http.client import HTTPConnection

    import urllib3

_CONNECTIONS: Final = 16
ASKING: Final = threading.local()
"""For each thread that sends a request: ``connections``, those that it used."""


def break_off(connection: HTTPConnection) -> None:
    """End a request on another thread: a server that drips would hold the thread as long as it likes."""
    if (opened := connection.sock) is not None:
        with suppress(OSError):
            opened.shutdown(socket.SHUT_RDWR)


def connections_to(scheme: str, host: str) -> urllib3.PoolManager:
    """Return connections to a host, through the proxy of the environment where one is set for it."""
    import urllib3

    proxy = "" if proxy_bypass(host) else getproxies().get(scheme, "")
    if not proxy:
        return _noting(urllib3.PoolManager(maxsize=_CONNECTIONS))
    parts = urlsplit(proxy)
    signed = urllib3.make_headers(proxy_basic_auth=f"{parts.username}:{parts.password}") if parts.username else None
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    return _noting(urllib3.ProxyManager(bare, maxsize=_CONNECTIONS, proxy_headers=signed))


def _noting(manager: urllib3.PoolManager) -> urllib3.PoolManager:
    """Let connections note themselves where the thread that asks with them says: until an answer begins, none has them.

    They are those of urllib3 otherwise.
    """
    pools: dict[str, Any] = manager.pool_classes_by_scheme
    manager.pool_classes_by_scheme = {name: _noting_pool(pool) for name, pool in pools.items()}
    return manager


@cache
def _noting_pool(pool: Any) -> Any:
    class Noting(pool.ConnectionCls):  # type: ignore[misc]  # the class of the scheme is known at run time
        def request(self, *arguments: Any, **options: Any) -> None:
            ASKING.connections.append(self)
            super().request(*arguments, **options)

    return type("NotingPool", (pool,), {"ConnectionCls": Noting})
