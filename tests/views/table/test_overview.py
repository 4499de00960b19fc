"""The overview's totals are those of the rows that the reference read, also where a checkpoint left the counts out."""

from __future__ import annotations

import pytest

import explorer
from explorer import formatting as fmt
from explorer.views import TableFacts
from explorer.views.table.overview import overview_of
from tests.support.at_least_one import at_least_one
from tests.support.clients.golden_expectations import expected
from tests.support.shared_tables import reference_root

pytestmark = pytest.mark.reference

ROOT = reference_root()
EXPECTED = expected(ROOT)


@pytest.mark.parametrize("name", [name for name in ("checkpoint-no-stats", "change-feed") if name in EXPECTED])
def test_live_rows_are_those_that_the_reference_read(name: str) -> None:
    facts = TableFacts(explorer.open_table(str(ROOT / "tables" / name)))
    for version in at_least_one(EXPECTED[name]["versions"]):
        overview = overview_of(facts, version["version"])
        assert overview.figures[0].value == fmt.count(version["row_count"])
        if version["row_count"]:
            assert fmt.plural(version["row_count"], "live row") in overview.verdict
