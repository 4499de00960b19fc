"""Tables of a catalog on the command line, in pages and in cards."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from explorer.cli.app import run
from explorer.page.address import Address
from explorer.page.pages import table_page
from explorer.views.cards import card_of
from explorer.web.served_tables import Catalog
from tests.support.catalogs.managed_tables import stage_rows
from tests.support.catalogs.unity_server import UnityServer, refused
from tests.support.pages.idle_windows import idle_work

Make = Callable[..., Any]


@pytest.fixture
def made(make_managed: Make) -> Any:
    made = make_managed()
    stage_rows(made.client, made.name, [1, 2], 1)
    return made


def ran(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    code = run(arguments)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_commands_take_the_name_of_a_table(made: Any, capsys: Any) -> None:
    code, out, _ = ran(capsys, "snapshot", made.address, "--json")
    assert (code, json.loads(out)["version"]) == (0, 1)
    code, out, _ = ran(capsys, "verify", made.address, "--json")
    assert (code, json.loads(out)["lastVersion"], json.loads(out)["problems"]) == (0, 1, [])
    code, out, _ = ran(capsys, "head", made.address, "--json")
    assert [json.loads(line)["id"] for line in out.splitlines()] == [1, 2]
    code, out, _ = ran(capsys, "history", made.address, "--json")
    assert code == 0
    plan = json.dumps({"kind": "set-properties", "properties": {"a": "1"}})
    code, out, _ = ran(capsys, "commit", made.address, plan, "--reason", "why", "--yes", "--json")
    assert (code, json.loads(out)["version"]) == (0, 2)
    code, _, err = ran(capsys, "snapshot", str(made.folder))
    assert (code, "uc://CATALOG.SCHEMA.TABLE" in err) == (4, True)


def test_a_table_is_created_under_its_name(server: UnityServer, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    field = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    create = json.dumps({"kind": "create-table", "schema": {"type": "struct", "fields": [field]}})
    code, out, _ = ran(capsys, "plan", "uc://main.shop.new", create, "--json")
    assert (code, json.loads(out)["committable"]) == (0, True)
    assert "new" not in server.state.catalogs["main"]["shop"], "a plan takes no name"
    monkeypatch.setattr("sys.stdin", io.StringIO("new\n"))
    code, out, err = ran(capsys, "commit", "uc://main.shop.new", create, "--reason", "why", "--json")
    assert (code, json.loads(out)["outcome"]) == (0, "committed"), err
    assert "uc://main.shop.new" in json.loads(out)["notes"][0]
    code, out, _ = ran(capsys, "snapshot", "uc://main.shop.new", "--json")
    assert (code, json.loads(out)["version"]) == (0, 0)
    code, _, err = ran(capsys, "plan", "uc://main.shop.new", create)
    assert (code, "already a table uc://main.shop.new" in err) == (2, True)
    code, _, err = ran(capsys, "plan", "glue://shop.new", create)
    assert (code, "cannot create tables in AWS Glue" in err) == (2, True)


def test_errors_of_the_catalog_have_their_exit_code(server: UnityServer, capsys: Any) -> None:
    server.faults.append(lambda _: refused(403, "PermissionDeniedException", "no"))
    assert ran(capsys, "snapshot", "uc://main.shop.new")[0] == 3
    server.faults.clear()
    assert ran(capsys, "snapshot", "uc://main.shop.new")[0] == 3
    assert ran(capsys, "snapshot", "uc://main.shop")[0] == 2


def test_pages_and_cards_say_what_the_catalog_says(make_own: Make, server: UnityServer) -> None:
    made = make_own()
    entry = server.state.table("main", "shop", made.name)
    entry.comment, entry.owner = "Orders <script>", "ada"
    entry.properties["team"] = "shop"
    page = table_page(catalog := Catalog([made.address]), Address(table=made.address[5:]), "light", idle_work(catalog))
    side = page.regions["side"]
    for text in (made.address, "ratified by the catalog", "Orders &lt;script&gt;", "ada", "team", server.url):
        assert text in side
    assert ("catalog", made.address) in card_of(made.open()).facts
