"""Names of many tables: what matches, in which order, and of which tables nothing is said."""

import re
import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.views.palette.name_index import KINDS, Name, NameIndex, table_names
from explorer.views.palette.ranking import marked, name_scores, spread_scores, words_of
from tests.support.logs.small_logs import PROTOCOL, metadata
from tests.support.logs.small_logs import table as small_table

TABLES = ("sales/orders", "sales/order_lines", "crm/customers", "odd/<b>x</b>")


def _index(*extra: tuple[str, dict[str, str]]) -> NameIndex:
    index = NameIndex()
    schemas = {
        "sales/orders": {"id": "long", "amount": "double", "customer_id": "long"},
        "sales/order_lines": {"order_id": "long", "net_amount": "double", "amount_net": "double", "amount": "double"},
        "crm/customers": {"id": "long", "email": "string", "paramount": "string"},
    } | dict(extra)
    for name, columns in schemas.items():
        snapshot = small_table(
            {0: [PROTOCOL, metadata(columns, configuration={"delta.appendOnly": "true"})]}
        ).snapshot()
        people = {"ana@shop": 3} if name == "crm/customers" else {}
        index.put(table_names(name, snapshot, people, [("3 names were reused", "name-hazards")]))
    return index


def _found(text: str, **more: object) -> list[tuple[str, str, str]]:
    matches = _index().search(text, TABLES, **more)  # type: ignore[arg-type]
    return [(match.name.kind, match.name.table, match.name.text) for match in matches.best]


def test_the_name_itself_comes_before_its_beginning_a_word_in_it_and_letters_somewhere() -> None:
    names = [text for _, _, text in _found("amount")]
    assert names == ["amount", "amount", "net_amount", "amount_net", "paramount"]


def test_a_table_is_found_by_its_last_word_and_comes_before_its_columns() -> None:
    assert _found("orders")[0] == ("table", "sales/orders", "sales/orders")
    assert _found("Order")[0][0] == "table"


def test_each_word_is_in_the_name_or_in_its_table_and_one_is_in_the_name() -> None:
    assert _found("customers email") == [("column", "crm/customers", "email")]
    assert _found("sales orders") == [("table", "sales/orders", "sales/orders")]
    assert _found("orders email") == []


def test_people_properties_and_findings_are_found_with_their_table() -> None:
    assert _found("ana") == [("person", "crm/customers", "ana@shop")]
    assert [(kind, text) for kind, _, text in _found("appendonly")] == [("property", "delta.appendOnly = true")] * 3
    assert [kind for kind, _, _ in _found("reused")] == ["finding"] * 3
    assert {kind for kind, _, _ in _found("property delta")} == {"property"}


def test_the_table_on_show_and_what_was_used_come_first_among_equals() -> None:
    assert _found("amount")[0][1] == "sales/order_lines"
    assert _found("amount", here="sales/orders")[0][1] == "sales/orders"
    assert _found("amount", recent=[Name("table", "sales/orders", "sales/orders")])[0][1] == "sales/orders"


def test_a_table_that_is_not_served_is_in_no_answer_and_one_that_was_not_read_is_found_by_name() -> None:
    index = _index()
    hidden = index.search("amount", ("sales/orders", "new/amounts"))
    assert {match.name.table for match in hidden.best} == {"sales/orders", "new/amounts"}
    assert index.search("email", ("sales/orders",)).total == 0


def test_letters_with_others_between_them_are_found_where_nothing_else_is() -> None:
    index = _index()
    spread = index.search("cstmr", TABLES)
    assert spread.spread
    assert spread.best[0].name.text in ("crm/customers", "customer_id")
    assert index.search("zq", TABLES).total == 0


def test_a_thousand_matches_are_counted_and_the_first_are_shown() -> None:
    index = NameIndex()
    snapshot = small_table({0: [PROTOCOL, metadata({"amount": "long", "other": "long"})]}).snapshot()
    tables = [f"t{number:04}" for number in range(1_000)]
    for name in tables:
        index.put(table_names(name, snapshot, {}))
    matches = index.search("amount", tables, here="t0500")
    assert (matches.total, len(matches.best), matches.by_kind["column"]) == (1_000, 50, 1_000)
    assert matches.best[0].name.table == "t0500"
    assert [match.name.table for match in matches.best[1:4]] == ["t0000", "t0001", "t0002"]


def test_what_is_remembered_is_known_as_long_as_its_table_is_the_same() -> None:
    index = _index()
    known = index.known("crm/customers")
    assert known is not None
    column = Name("column", "crm/customers", "email", "", known.table_id)
    assert index.holds(column) == Name("column", "crm/customers", "email", "string", known.table_id)
    assert index.holds(Name("column", "crm/customers", "email", "", "another table")) is None
    assert index.holds(Name("column", "crm/customers", "gone", "", known.table_id)) is None
    assert index.holds(Name("table", "not/read", "not/read")) is not None


def test_names_that_hide_or_reorder_text_are_shown_without_that() -> None:
    index = _index(("odd/<b>x</b>", {"a\u202eb": "string", "<i>c</i>": "string"}))
    found = [match.name.text for match in index.search("odd", TABLES).best]
    assert found == ["odd/<b>x</b>"]
    texts = {match.name.text for match in index.search("column odd", TABLES).best if match.name.kind == "column"}
    assert not any(unicodedata.category(letter) == "Cf" for text in texts for letter in text)


NAMES = st.lists(st.text("abc_./\u00e9\u4e2d ", max_size=8), min_size=1, max_size=8)


@given(NAMES, st.text("abc_.\u00e9\u4e2d", min_size=1, max_size=3))
def test_a_score_says_where_the_word_is(names: list[str], word: str) -> None:
    (scores,) = name_scores(pa.array(names, pa.string()), (word,))
    for name, score in zip(names, scores.tolist(), strict=True):
        assert (score > 0) == (word in name)
        if name == word:
            assert score == 100
        elif name.startswith(word):
            assert score in (80, 90) if name.endswith(word) else score == 80
    spread = spread_scores(pa.array(names, pa.string()), "abc")
    assert [score > 0 for score in spread] == [re.search("a.*?b.*?c", name) is not None for name in names]


@given(st.text(max_size=20), st.text(max_size=12))
def test_marked_pieces_are_the_name(name: str, text: str) -> None:
    assert "".join(piece for piece, _ in marked(name, words_of(text))) == name


@pytest.mark.parametrize("text", ["", "   ", "(", "\\", "%", ".*", "a" * 300, "\x00", "\ud800"])
def test_any_text_is_an_answer(text: str) -> None:
    assert _index().search(text.encode(errors="replace").decode(), TABLES, kinds=KINDS).total >= 0
