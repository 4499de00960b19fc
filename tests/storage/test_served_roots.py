"""Only what lies under a served root is served."""

import os
from pathlib import Path

import pytest

from explorer.core.errors import NotAllowed, TableNotFound
from explorer.storage.served_roots import ServedRoots
from tests.support.logs.hostile_tables import empty_table


@pytest.fixture
def root(tmp_path: Path) -> Path:
    empty_table(tmp_path / "served" / "sales" / "orders")
    empty_table(tmp_path / "outside" / "secret")
    (tmp_path / "served" / "escape").symlink_to(tmp_path / "outside")
    (tmp_path / "served" / "inside").symlink_to(tmp_path / "served" / "sales")
    return tmp_path / "served"


def test_tables_are_listed_by_root_and_path_and_escaping_links_are_not_followed(root: Path) -> None:
    assert [ref.name for ref in ServedRoots([str(root)]).tables()] == ["served/inside/orders", "served/sales/orders"]


def test_a_root_with_more_tables_than_are_listed_is_named(root: Path) -> None:
    few, all_, any_ = (ServedRoots([str(root)], most=most) for most in (1, 2, None))
    assert [len(list(roots.tables())) for roots in (few, all_, any_)] == [1, 2, 2]
    assert (few.cut, all_.cut, any_.cut) == ((str(root),), (), ())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_cannot_be_read_is_named_with_the_reason(root: Path) -> None:
    closed = root / "closed"
    closed.mkdir(mode=0)
    roots = ServedRoots([str(root)])
    assert len(list(roots.tables())) == 2
    (folder,) = roots.unlisted
    assert folder.location == str(closed)
    assert folder.why.startswith(f"The folder {closed} cannot be listed: Permission denied. Tables below it")


def test_no_table_is_looked_for_inside_a_table(root: Path) -> None:
    empty_table(root / "sales" / "orders" / "nested")
    assert "served/sales/orders/nested" not in [ref.name for ref in ServedRoots([str(root)]).tables()]


@pytest.mark.parametrize(
    "name",
    [
        "served/../outside/secret",
        "served/sales/../../outside/secret",
        "served/escape/secret",
        "served//etc",
        "/etc",
        "..",
        "other/table",
        "served/sales\x00",
        "served/sales\\..\\..\\outside",
        "",
    ],
)
def test_a_name_that_leads_out_is_refused(root: Path, name: str) -> None:
    with pytest.raises(NotAllowed, match=r"starts with the name of its served folder: served\.$"):
        ServedRoots([str(root)]).locate(name)


def test_a_refusal_names_a_few_roots(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / name).mkdir()
    for roots, named in (("abc", "a, b, c"), ("abcd", "a, b, c and others")):
        with pytest.raises(NotAllowed) as caught:
            ServedRoots([str(tmp_path / name) for name in roots]).locate("orders")
        assert str(caught.value) == (
            f"'orders' is not in a served folder. A table's name starts with the name of its served folder: {named}."
        )


def test_a_name_inside_is_located_whether_there_is_a_table_or_not(root: Path) -> None:
    roots = ServedRoots([str(root)])
    assert roots.locate("served/sales/orders").location == str(root / "sales" / "orders")
    assert roots.locate("served/nothing").location == str(root / "nothing")


def test_roots_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for parent in ("a", "b"):
        empty_table(tmp_path / parent / "data" / "t")
    roots = ServedRoots([str(tmp_path / "a" / "data"), str(tmp_path / "b" / "data")])
    assert [ref.name for ref in roots.tables()] == ["data/t", "data~2/t"]


def test_a_root_may_be_a_table(root: Path) -> None:
    assert [ref.name for ref in ServedRoots([str(root / "sales" / "orders")]).tables()] == ["orders"]


def test_a_root_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TableNotFound, match="not a folder"):
        ServedRoots([str(tmp_path / "nothing")])
