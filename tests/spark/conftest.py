"""One Spark engine for all tests of this folder that need rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from explorer.spark.engine.session import Engine, engine


@pytest.fixture(scope="session")
def spark_engine() -> Iterator[Engine]:
    """The process's engine, started once and stopped at the end."""
    started = engine()
    started.session()
    yield started
    engine().stop()
