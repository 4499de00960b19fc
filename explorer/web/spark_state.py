"""What Spark is at, for the pages, without starting it."""

from __future__ import annotations

__all__ = ["engine_state"]


def engine_state() -> dict[str, str]:
    """Return the engine's state and a sentence on it."""
    try:
        from explorer.spark.session import engine
    except ImportError:
        return {"state": "off", "detail": "PySpark is not installed."}
    current = engine()
    return {"state": current.state, "detail": current.detail}
