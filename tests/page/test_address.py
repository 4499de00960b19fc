"""The address holds the state, and one state has one address."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.errors import RequestError
from explorer.page.address import _KEYS, Address
from explorer.page.tabs import TABS, tab_named
from explorer.views.act.intent_form import offered_kinds


def test_defaults_are_left_out() -> None:
    assert Address(table="sales/orders").to(tab="overview", page=1) == "?t=sales/orders"


def test_state_is_read_back() -> None:
    address = Address.parse("?t=sales/orders&v=12&c=9&tab=diff&q=eu&sort=-size&page=3&unknown=1")
    assert (address.version, address.compared, address.tab, address.find, address.page_number) == (
        "12",
        "9",
        "diff",
        "eu",
        3,
    )
    assert Address.parse(address.to()) == address


def test_no_two_fields_share_a_key() -> None:
    """Grouping of the list of tables once had the key of the coloring of files, and was refused."""
    grouped = Address.parse("?by=owner")
    assert (grouped.grouping, grouped.files_by, grouped.to()) == ("owner", "writer", "?by=owner")
    assert len({*_KEYS.values()}) == len(_KEYS)


def test_none_puts_a_field_back() -> None:
    assert Address.parse("?t=a&v=3&c=1").to(version=4, compared=None) == "?t=a&v=4"


@pytest.mark.parametrize("query", ["?t=a&act=drop-table", "?t=a&metric=cost", "?t=a&change=x", "?t=a&view=3d"])
def test_a_choice_that_does_not_exist_names_those_that_do(query: str) -> None:
    with pytest.raises(RequestError, match="It can be: ") as caught:
        Address.parse(query)
    assert "" not in caught.value.facts()["allowed"]


@pytest.mark.parametrize("table", ["a/b/", "a//b", "a/b"])
def test_a_table_has_one_name(table: str) -> None:
    assert Address.parse(f"?t={table}").table == Address.of_table(f"?t={table}").table == "a/b"
    assert Address.parse(f"?t=/{table}").table == f"/{table}"


def test_a_tab_that_does_not_exist_names_those_that_do() -> None:
    with pytest.raises(RequestError, match="overview, diff, files, columns, "):
        tab_named(Address.parse("?t=a&tab=acts").tab)


def test_answers_to_a_form_stay_over_tabs_and_go_with_another_change() -> None:
    address = Address.parse("?t=a&tab=act&act=add-constraint&f.name=x&f.expression=a+%3E+0&f.empty=")
    assert address.answers == (("expression", "a > 0"), ("name", "x"))
    assert Address.parse(address.to(tab="columns")).answers == address.answers
    assert Address.parse(address.to(act=None)).answers == ()
    assert Address.parse(address.chosen("restore")) == Address(table="a", tab="act", act="restore")
    assert ("f.name", "x") in address.pairs([])
    assert ("f.name", "x") not in address.pairs(["answers"])


@pytest.mark.parametrize("page", ["0", "-1", "x", "1e9", "99999999999999999999", ""])
def test_a_page_that_is_none_is_the_first(page: str) -> None:
    assert Address(page=page).page_number == 1


@given(
    st.builds(
        Address,
        table=st.text(),
        version=st.text(),
        tab=st.sampled_from([tab.key for tab in TABS]),
        column=st.text(),
        file=st.text(),
        find=st.text(),
        act=st.sampled_from(offered_kinds()),
        step=st.sampled_from(["fill", "plan"]),
        answers=st.dictionaries(st.text(), st.text(min_size=1)).map(lambda found: tuple(sorted(found.items()))),
    )
)
def test_any_text_survives_the_way_through_the_address(address: Address) -> None:
    try:
        query = address.to()
    except UnicodeEncodeError:
        return
    # A slash that names no folder is left out.
    table = address.table if address.table.startswith("/") else "/".join(filter(None, address.table.split("/")))
    assert Address.parse(query) == replace(address, table=table)


@pytest.mark.parametrize("old", ["0", "1"])
def test_addresses_of_an_earlier_zoom_show_all_versions(old: str) -> None:
    address = Address.parse(f"?t=a/b&zoom={old}&v=3")
    assert (address.window, address.to()) == (None, "?t=a/b&v=3")
