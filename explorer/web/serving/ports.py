"""Ports that browsers refuse to open, so that pages cannot be served there.

The list is that of the Fetch standard, "port blocking" (https://fetch.spec.whatwg.org/#port-blocking).
"""

from __future__ import annotations

from typing import Final

from explorer.core.errors import RequestError

__all__ = ["BLOCKED_PORTS", "check_port"]

BLOCKED_PORTS: Final = frozenset(
    (
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
        110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530,
        531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190,
        5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    )
)  # fmt: skip


def check_port(port: int) -> None:
    """Refuse a port that no browser opens.

    Raises:
        RequestError: If browsers block it; the message names the nearest higher port that they open.
    """
    if port not in BLOCKED_PORTS:
        return
    nearest = next(number for number in range(max(port, 1024), 65536) if number not in BLOCKED_PORTS)
    raise RequestError(
        f"Browsers refuse to open port {port}: it belongs to another protocol. Choose another port, such as {nearest}.",
        field="port",
    )
