"""Messages that a page would not send: on a server that only reads, and by one person as another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError

from explorer.web.serving.people.password_file import remove_user, write_user
from tests.support.logs import hostile_tables, small_logs
from tests.support.own_loop import run_apart
from tests.support.pages.raw_pages import Pages, Talk, served_here

ACT = "?t=w/orders&tab=act&act=set-description&f.description="


@pytest.fixture
def root(tmp_path: Path) -> Path:
    created = hostile_tables.created({"id": "long"})
    small_logs.write_log(tmp_path / "w" / "orders", [created, [small_logs.add("1.parquet", 3)]])
    return tmp_path / "w"


@pytest.fixture
def users(tmp_path: Path) -> Path:
    for name in ("ana", "ben"):
        write_user(tmp_path / "users.json", name, f"secret-of-{name}")
    return tmp_path / "users.json"


@pytest.fixture
def guarded(root: Path, users: Path) -> Iterator[Pages]:
    with served_here(root, allow_commits=True, basic_auth=users) as pages:
        yield pages


def commits(root: Path) -> list[dict[str, Any]]:
    """The commits that were made after the table's own."""
    files = sorted((root / "orders" / "_delta_log").glob("*.json"))[2:]
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [line["commitInfo"] for line in lines if "commitInfo" in line]


async def planned(pages: Pages, description: str, **headers: str) -> tuple[Talk, str]:
    """The page of a plan that a person asked for, and the plan's digest."""
    query = f"{ACT}{description}"
    talk = await Talk.begin(pages, pages.ask(f"/{query}", **headers).token, **headers)
    await talk.ask("hello", 1, query=query)
    assert await talk.hears('"patch"')
    await talk.ask("person", 2, name="ana")
    await talk.ask("go", 3, query=f"{query}&step=plan", asked=True)
    assert await talk.hears("data-plan=")
    found = re.search(r'data-plan=\\"([0-9a-f]+)', " ".join(talk.heard))
    assert found is not None
    return talk, found[1]


def test_a_server_that_only_reads_commits_nothing_whatever_it_is_sent(root: Path) -> None:
    async def talk(pages: Pages) -> None:
        opened, digest = await planned(pages, "forged")
        for number, kind in enumerate(("accept", "commit", "try-again", "commit"), 4):
            await opened.ask(kind, number, name="orders", reason="forged", digest=digest, may_commit=True)
        assert await opened.hears("delta-explorer serve --allow-commits")
        await opened.close()

    with served_here(root) as pages:
        run_apart(talk(pages))
    assert commits(root) == []


def test_a_commit_is_of_the_login_and_of_the_plan_that_it_was_shown(root: Path, guarded: Pages) -> None:
    ana, ben = (guarded.signed_in(name, f"secret-of-{name}") for name in ("ana", "ben"))

    async def talk() -> None:
        of_ana, her_plan = await planned(guarded, "hers", Cookie=ana)
        of_ben, his_plan = await planned(guarded, "his", Cookie=ben)
        await of_ben.ask("commit", 4, name="orders", reason="as ana", digest=her_plan)
        await of_ben.ask("commit", 5, name="orders", reason="as ana", digest=his_plan, person="ana", user="ana")
        for _ in range(100):
            if commits(root) or await of_ben.hears("never", 0.2):
                break
        for opened in (of_ana, of_ben):
            await opened.close()

    run_apart(talk())
    (made,) = commits(root)
    assert (made["userName"], made["operationParameters"].get("comment", "his")) == ("ben", "his")


def test_a_page_of_another_login_opens_no_socket(guarded: Pages) -> None:
    ana, ben = (guarded.signed_in(name, f"secret-of-{name}") for name in ("ana", "ben"))
    token = guarded.ask(f"/{ACT}x", Cookie=ana).token

    async def refused(cookie: str) -> int:
        with pytest.raises(HTTPClientError) as raised:
            await Talk.begin(guarded, token, Cookie=cookie)
        return raised.value.code

    assert [run_apart(refused(cookie)) for cookie in (ben, f"{ana}; {ben}", "")] == [403, 403, 403]


@pytest.mark.parametrize("end", ["removed", "signed out"])
def test_a_plan_that_was_shown_before_the_login_ended_is_not_committed(
    root: Path, users: Path, guarded: Pages, end: str
) -> None:
    cookie = guarded.signed_in("ben", "secret-of-ben")

    async def talk() -> int | None:
        opened, digest = await planned(guarded, "late", Cookie=cookie)
        if end == "removed":
            remove_user(users, "ben")
        else:
            assert guarded.ask("/logout", "POST", "", Origin=guarded.origin, Cookie=cookie).status == 303
        await opened.ask("commit", 4, name="orders", reason="late", digest=digest)
        code = await opened.close_code()
        await opened.close()
        return code

    assert run_apart(talk()) == 4401
    assert commits(root) == []
