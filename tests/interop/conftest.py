"""The reference writer itself, started once for all tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.clients.reference_writer import ReferenceUnavailable, ReferenceWriter


@pytest.fixture(scope="session")
def reference_writer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReferenceWriter]:
    """The reference writer in its own JVM; skipped with the reason where its jars cannot be had, a failure in CI."""
    try:
        writer = ReferenceWriter(tmp_path_factory.mktemp("reference-writer"))
    except ReferenceUnavailable as error:
        problem = f"the reference writer is not to be had: {error}"
        if os.environ.get("CI") == "true":
            pytest.fail(problem, pytrace=False)
        pytest.skip(problem)
    yield writer
    writer.close()
