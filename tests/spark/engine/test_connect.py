"""The same tests of rows against a Spark Connect server on the loopback.

Here a few of them, so that a change which only classic Spark understands is noticed at once; `make prove` runs all.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.connect_server import connect_server
from tests.support.tests_elsewhere import FEWEST, run_tests

pytestmark = pytest.mark.spark


def test_a_connect_server_gives_the_same_rows(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs the packages of pyspark[connect]")
    with connect_server(tmp_path) as address:
        run_tests(address, *FEWEST)
