"""What a request for a page may begin: nothing that plans, reads rows or starts Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from explorer.views.act.desk.desk import Desk
from explorer.views.rows.spark_work import SparkStart
from explorer.web.served_tables import Catalog
from tests.support.own_loop import run_apart
from tests.support.pages.open_windows import Window
from tests.support.pages.raw_pages import Pages, Talk

PLANS = (
    "act=add-constraint&f.name=positive&f.expression=" + quote("id > 0"),
    "act=set-description&f.description=new",
    "act=delete&f.where=" + quote("id > 0"),
    "act=vacuum&f.olderThan=" + quote("8 days"),
)
QUESTIONS = (
    *(f"?t=w/orders&tab=act&{plan}&step={step}" for plan in PLANS for step in ("plan", "fill")),
    "?t=w/orders&tab=data&where=" + quote("id > 0"),
    "?t=w/orders&tab=changes&c=0&v=1&feed=inferred&keys=id",
    "?t=w/orders&tab=erasure&where=" + quote("id > 0"),
    "?t=w/orders&tab=statistics&where=" + quote("id > 0"),
    "?t=w/orders&tab=diff&c=0&v=1",
)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is planned or started, watched where all of it passes."""
    seen: list[str] = []
    for name in ("_plan", "_begin_plan"):
        real = getattr(Desk, name)
        monkeypatch.setattr(Desk, name, lambda self, question, real=real: seen.append("plan") or real(self, question))
    monkeypatch.setattr(SparkStart, "begin", lambda _self: seen.append("spark"))
    return seen


@pytest.mark.sampled(cases=6)
@pytest.mark.parametrize("query", QUESTIONS)
def test_a_page_that_is_opened_begins_nothing(tables: Path, query: str, begun: list[str]) -> None:
    opened = Window(Catalog([str(tables)], allow_commits=True), "?t=w/orders", early_spark=True)
    begun.clear()
    # As its script says hello, and as the browser goes back to it.
    for kind, fields in (
        ("hello", {"width": 900, "height": 900}),
        ("go", {"asked": False}),
        ("screen", {"width": 700}),
    ):
        opened.ask(kind, query=query, **fields)
    assert begun == []


def test_what_a_person_asks_for_on_the_page_is_planned(tables: Path, begun: list[str]) -> None:
    window = Window(Catalog([str(tables)], allow_commits=True), "?t=w/orders&tab=act", early_spark=True)
    begun.clear()
    query = f"?t=w/orders&tab=act&{PLANS[1]}&step=plan"
    window.ask("hello", query=query)
    assert begun == []
    shown = window.ask("go", query=query, asked=True)
    assert begun == ["plan"]
    assert "data-confirm" in shown["regions"]["lead"]
    # The plan is there when the person comes back to it.
    window.ask("go", query="?t=w/orders&tab=files", asked=True)
    again = window.ask("go", query=query, asked=False)
    assert begun == ["plan"]
    assert "data-confirm" in again["regions"]["lead"]


@pytest.mark.sampled(cases=6)
@pytest.mark.parametrize("query", QUESTIONS)
def test_a_request_for_a_page_begins_nothing_on_the_server(committing: Pages, query: str, begun: list[str]) -> None:
    cookie = committing.entered()

    async def talk() -> Any:
        opened = await Talk.begin(committing, committing.ask(f"/{query}", Cookie=cookie).token, Cookie=cookie)
        await opened.ask("hello", query=query)
        assert await opened.hears('"patch"')
        await opened.close()

    run_apart(talk())
    assert begun == []
