"""The sizes of new files as commitInfo tells them."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.core.protocol.actions import Add

__all__ = ["size_metrics"]


def size_metrics(adds: Sequence[Add]) -> dict[str, int]:
    """Least, greatest and quartile sizes in bytes, as the reference writer names them; nothing without files."""
    sizes = sorted(add.size for add in adds)
    places = {"minFileSize": 0, "p25FileSize": 1, "p50FileSize": 2, "p75FileSize": 3, "maxFileSize": 4}
    return {name: sizes[min(len(sizes) * part // 4, len(sizes) - 1)] for name, part in places.items()} if sizes else {}
