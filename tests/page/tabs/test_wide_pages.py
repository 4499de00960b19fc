"""Pages of wide tables: their bytes and elements follow from what is shown, and not from the number of columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Metadata
from explorer.page.act.form import redrawn_parts
from explorer.page.address import Address
from explorer.page.pages import Rendered, table_page
from explorer.page.tab_spec import export_files, narrowed
from explorer.page.tabs import TABS, export_named
from explorer.views.act.intent_form import offered_kinds
from explorer.views.listing import Listing, ListingColumn
from explorer.web.served_tables import Catalog
from tests.support.at_least_one import at_least_one
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, write_log
from tests.support.logs.wide_tables import column_name, wide_table
from tests.support.pages.idle_windows import idle_work
from tests.support.pages.page_elements import Elements

_FEW, _MANY = 2_000, 20_000
# What may differ: a number that is a digit longer, wherever it is shown.
_BYTES, _ELEMENTS = 1_500, 8
_LISTED = "delta.dataSkippingStatsColumns"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    root = tmp_path_factory.mktemp("wide") / "w"
    for name, columns in (("few", _FEW), ("many", _MANY)):
        wide_table(root / name, columns)
        listed = ",".join(column_name(number) for number in range(columns // 2))
        wide_table(root / f"{name}-listed", columns, {_LISTED: listed})
        _nested(root / f"{name}-nested", columns)
    wide_table(root / "narrow", 200)
    return Catalog([str(root)])


def _nested(place: Path, columns: int) -> None:
    """A table of one struct with many fields, which the second version widens."""
    write_log(place, [[PROTOCOL, _struct(columns // 2), add("0.parquet", 1)], [_struct(columns)]])


def _struct(columns: int) -> Metadata:
    fields = [{"name": column_name(n), "type": "long", "nullable": True, "metadata": {}} for n in range(columns)]
    outer = {"name": "s", "type": {"type": "struct", "fields": fields}, "nullable": True, "metadata": {}}
    return Metadata(id=METADATA.id, schema_string=json.dumps({"type": "struct", "fields": [outer]}))


def _page(catalog: Catalog, table: str, **address: Any) -> Rendered:
    page = table_page(catalog, Address(table=f"w/{table}", **address), "light", idle_work(catalog))
    assert page.view is not None, page.regions["lead"]
    return page


def _measured(page: Rendered) -> tuple[int, int, int]:
    """Bytes, elements, and bytes of the chart."""
    html = "".join(page.regions.values())
    return len(html.encode()), len(Elements(html).names), len(json.dumps(page.chart, default=str))


def _asked(catalog: Catalog, table: str) -> dict[str, Rendered]:
    found = {tab.key: _page(catalog, table, tab=tab.key, version="1") for tab in TABS}
    found["unknown column"] = _page(catalog, table, tab="statistics", column="measure_00")
    kinds = offered_kinds() if table in {"few", "many"} else ("update", "merge", "drop-columns")
    return found | {kind: _page(catalog, table, tab="act", act=kind) for kind in kinds}


@pytest.mark.whole("the other tests of this file, and tests/core/test_wide_tables.py")
@pytest.mark.parametrize("kind", ["", "-listed", "-nested"] if WHOLE_DOSE else [""])
def test_ten_times_the_columns_make_no_page_larger(catalog: Catalog, kind: str) -> None:
    few, many = (_asked(catalog, f"{name}{kind}") for name in ("few", "many"))
    grown = {}
    for name, page in at_least_one(many.items()):
        pairs = zip(_measured(page), _measured(few[name]), (_BYTES, _ELEMENTS, _BYTES), strict=True)
        if any(now - before > most for now, before, most in pairs):
            grown[name] = (_measured(few[name]), _measured(page))
    assert grown == {}


def test_up_to_two_hundred_columns_are_a_list_to_choose_from(catalog: Catalog) -> None:
    html = _page(catalog, "narrow", tab="statistics").regions["charthead"]
    assert Elements(html).names.count("option") == 200
    assert f'<option value="{column_name(0)}" selected>' in html
    assert "find-column" not in html


def test_more_columns_are_searched_and_the_chosen_one_is_named(catalog: Catalog) -> None:
    html = _page(catalog, "many", tab="statistics", column=column_name(19)).regions["charthead"]
    assert "option" not in Elements(html).names
    assert 'data-suggest="find-column"' in html
    assert "one of 20,000 columns" in html
    assert column_name(19) in Elements(html).text


def test_a_part_of_a_name_in_the_address_lists_the_columns_that_have_it(catalog: Catalog) -> None:
    page = _page(catalog, "many", tab="statistics", column="19999")
    assert "No statistics for \u201c19999\u201d" in page.regions["lead"]
    assert f"col={column_name(19_999)}" in page.regions["lead"]


def test_coverage_says_that_it_shows_the_first_columns(catalog: Catalog) -> None:
    assert "The first 300 of 20,000 columns." in _page(catalog, "many", tab="statistics").regions["side"]


@pytest.mark.whole("the other tests of this file")
def test_a_value_too_long_for_the_form_leaves_the_value_to_the_person(catalog: Catalog) -> None:
    side = _page(catalog, "many-listed", tab="statistics").regions["side"]
    assert f"f.key.0={_LISTED}" in side
    assert "f.value.0=&" in side or 'f.value.0="' in side


def test_the_schema_is_exported_as_the_log_has_it(catalog: Catalog) -> None:
    page = _page(catalog, "many")
    assert 'data-list="schema" data-format="copy"' in page.regions["rest"]
    assert page.view is not None
    view = page.view
    parts = list(export_files(export_named("schema")(view, Address(), idle_work(catalog)), "1", "copy"))
    assert len(parts) > 1
    assert all(part["copy"] for part in at_least_one(parts))
    assert "".join(part["text"] for part in parts) == view.facts.snapshot(view.version).metadata.schema_string


def test_changes_beyond_the_first_are_exported(catalog: Catalog) -> None:
    page = _page(catalog, "many", tab="diff", version="1", compared="0")
    side = page.regions["side"]
    assert "The first 60 of 10,000." in side
    assert page.view is not None
    listing = export_named("form-changes")(page.view, Address(), idle_work(catalog))
    assert isinstance(listing, Listing)
    assert listing.total == 10_000


def test_columns_to_set_are_suggested_by_what_was_typed(catalog: Catalog) -> None:
    page = _page(catalog, "many", tab="act", act="update")
    assert Elements(page.regions["lead"]).names.count("option") == 40
    assert page.view is not None
    typed = Address(table="w/many", tab="act", act="update", answers=(("key.0", "_019999"), ("value.0", "1")))
    sheet = idle_work(catalog)
    from explorer.page.act.form import ActDesk

    regions = redrawn_parts(page.view.facts, typed, sheet.of(ActDesk).sheet, 2)
    assert Elements(regions["act-keys"]).attributes == [("value", column_name(19_999))]


def test_rows_show_the_first_columns_the_chosen_one_and_their_marks() -> None:
    names = [*(column_name(number) for number in range(1_000)), "file", "row"]
    rows = Listing(
        "rows", tuple(ListingColumn(name, name) for name in names), pa.table({name: ["x"] for name in names})
    )
    shown = narrowed(rows, column_name(700))
    keys = [column.key for column in shown["listing"].columns]
    assert keys == [*names[:100], column_name(700), "file", "row"]
    assert shown["more_columns"] == 1_002 - 103
    assert list(shown["page"].rows[0]) == keys


def test_an_unknown_column_is_answered_with_the_nearest_and_the_first(catalog: Catalog) -> None:
    page = _page(catalog, "many")
    assert page.view is not None
    with pytest.raises(InvalidIntent) as raised:
        page.view.facts.log.plan({"kind": "drop-not-null", "column": "measure_01999"})  # type: ignore[attr-defined]
    message = str(raised.value)
    assert len(message) < 1_500
    assert "Did you mean" in message
    assert "and 19,960 more" in message
