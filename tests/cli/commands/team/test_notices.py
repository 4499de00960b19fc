"""``notices``: what is open, what a person does about it, and whether it can be sent."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from explorer.activity.reading import entries
from explorer.activity.record import ActivityRecord
from explorer.core.errors import RequestError
from explorer.notices.book import NoticeBook
from explorer.notices.notice import Notice
from explorer.variables import ACTIVITY_VARIABLE, MAIL_PASSWORD_VARIABLE, NOTICES_VARIABLE, WEBHOOK_SECRET_VARIABLE
from tests.cli.conftest import Call
from tests.support.at_least_one import at_least_one
from tests.support.notices.books import book_at, notice
from tests.support.notices.receiver import SECRET, receiving, status


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NoticeBook:
    monkeypatch.setenv(NOTICES_VARIABLE, str(tmp_path / "notices"))
    monkeypatch.setenv(ACTIVITY_VARIABLE, str(tmp_path / "activity.jsonl"))
    monkeypatch.delenv(MAIL_PASSWORD_VARIABLE, raising=False)
    return book_at(tmp_path / "notices", lambda: time.time_ns() // 1_000_000)  # type: ignore[arg-type]


def test_a_person_lists_acknowledges_and_snoozes(cli: Call, book: NoticeBook, tmp_path: Path) -> None:
    nothing = cli("notices", "--json")
    assert (nothing.code, nothing.out) == (0, "")
    for key in ("first", "second"):
        book.post(notice(key, title=key))
    first, second = book.find("first"), book.find("second")
    assert {line["id"] for line in cli("notices", "--json").lines()} == {first.id, second.id}
    done = cli("notices", "acknowledge", first.id[:8], "--reason", "known", "--json").document()
    assert (done["state"], done["reason"]) == ("acknowledged", "known")
    later = cli("notices", "snooze", second.id, "--until", "tomorrow 9:00 Europe/Berlin", "--reason", "x", "--json")
    assert later.document()["state"] == "snoozed"
    assert later.document()["until"].endswith(":00:00Z")
    assert [line["state"] for line in cli("notices", "--json").lines()] == ["snoozed"]
    assert len(cli("notices", "--all", "--json").lines()) == 2
    shown = cli("notices")
    assert "second" in shown.out
    assert "snoozed until" in shown.out
    lines = [each.event for each in entries(ActivityRecord(tmp_path / "activity.jsonl", program="x").files)]
    assert [(each.kind, each.what, each.table) for each in lines] == [
        ("notice", "snooze", "lake/orders"), ("notice", "acknowledge", "lake/orders"),
    ]  # fmt: skip
    assert all("known" not in json.dumps(each.detail) for each in lines)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("acknowledge", "first"), "A reason is missing"),
        (("acknowledge", "nope", "--reason", "x"), "There is no notice 'nope'"),
        (("snooze", "first", "--reason", "x"), "Until when?"),
        (("snooze", "first", "--reason", "x", "--until", "soon"), "neither a time such as 'tomorrow 9:00'"),
        (("snooze", "first", "--reason", "x", "--until", "yesterday"), "is not in the next year"),
        (("snooze", "first", "--reason", "x", "--until", "900 weeks"), "is not in the next year"),
        (("acknowledge", "first", "--reason", "x", "--until", "3 hours"), "--until is for snooze"),
        (("test",), "No channel is configured"),
    ],
)
def test_what_cannot_be_done_is_said(cli: Call, book: NoticeBook, arguments: tuple[str, ...], said: str) -> None:
    book.post(notice("first"))
    result = cli("notices", *arguments, "--json")
    assert result.code == 2
    assert said in result.error()["message"]
    assert book.find("first").state == "open"


def test_a_resolved_notice_is_over(book: NoticeBook) -> None:
    book.resolve(notice("first"))
    with pytest.raises(RequestError, match="is resolved"):
        book.acknowledge("first", by="ana", reason="x")


def test_a_test_notice_goes_to_each_channel_and_what_came_back_is_said(
    cli: Call, book: NoticeBook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WEBHOOK_SECRET_VARIABLE, SECRET)
    file = tmp_path / "explorer.toml"
    with receiving() as good, receiving(status(500)) as bad:
        file.write_text(
            f'[[webhooks]]\nname = "good"\nurl = "{good.url}"\n[[webhooks]]\nname = "bad"\nurl = "{bad.url}"\n'
            '[notices]\nquiet = "00:00-23:59"\n'
        )
        tested = cli("notices", "test", "--json", "--config", file)
    lines = [json.loads(line) for line in tested.out.splitlines()]
    assert tested.code == 1
    assert [(line["channel"], line["accepted"]) for line in lines] == [("good", True), ("bad", False)]
    assert "answered 500" in lines[1]["answer"]
    assert "secret" not in tested.out + tested.err
    assert len(good.verified) == 1


def test_texts_of_a_configuration_hold_no_address_of_a_webhook(
    cli: Call, book: NoticeBook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WEBHOOK_SECRET_VARIABLE, SECRET)
    file = tmp_path / "explorer.toml"
    for url in at_least_one(("https://example.org/hooks/secret-path", "http://example.org/secret-path", "secret-path")):
        file.write_text(f'[[webhooks]]\nname = "chat"\nurl = "{url}"\n')
        for arguments in at_least_one((("config", "check"), ("notices", "test"), ("config", "check", "--json"))):
            if url.startswith("https") and arguments[0] == "notices":
                continue
            result = cli(*arguments, "--config", file)
            assert "secret-path" not in result.out + result.err
            assert SECRET not in result.out + result.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[notices]\nquiet = "night"', "notices.quiet is 'night', not hours"),
        ('[notices]\nquiet = "22:00-07:00"\nzone = "Europe/Berln"', "Unknown time zone 'Europe/Berln'"),
        ('[notices]\nevery = "often"', "notices.every is 'often', not an interval"),
        ('[notices]\nremind = "0 days"', "it must be longer than 0"),
        ('[notices]\nurgent = "eror"', "Did you mean error?"),
        ('[mail]\nhost = "smtp.example.org"\nsender = "a@example.org"', "mail.to names nobody"),
        ('[[webhooks]]\nurl = "https://example.org/"', "line 1: webhooks[1]: The webhook 'webhook 1' cannot be used"),
        (
            "\n".join('[[webhooks]]\nname = "a"\nurl = "https://a.example"\nsecret_file = "s"' for _ in range(2)),
            "line 5: webhooks[2]: The name 'a' is used twice",
        ),
    ],
)
def test_a_channel_or_a_rule_that_does_not_fit_is_named(
    cli: Call, book: NoticeBook, tmp_path: Path, text: str, said: str
) -> None:
    secret = tmp_path / "s"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    file = tmp_path / "explorer.toml"
    file.write_text(text)
    found = cli("config", "check", "--config", file, "--json").error()
    assert found["error"] == "InvalidConfiguration"
    assert said in found["message"]
    assert found["line"] or "zone" in said or "interval" in said


@pytest.mark.parametrize(
    ("named", "line", "said"),
    [
        ("lakes/sales", 6, "no served folder is called 'lakes'. Did you mean lake?"),
        ("lake/slaes", 6, "has no folder 'slaes'. Did you mean sales?"),
        ("lake/sales/ordrs", 6, "has no folder 'ordrs'. Did you mean orders?"),
        ("lake/../x", 6, "is not inside a served folder"),
        ("lake/sales/zzz", 6, "Correct it, or make the folder."),
    ],
)
def test_a_role_with_a_typo_in_its_tables_is_named(cli: Call, tmp_path: Path, named: str, line: int, said: str) -> None:
    (tmp_path / "lake" / "sales" / "orders").mkdir(parents=True)
    file = tmp_path / "explorer.toml"
    text = '[[roots]]\nplace = "lake"\n[[roles]]\nrole = "viewer"\npeople = ["ana"]\ntables = ["lake/sales", "{}"]\n'
    file.write_text(text.format(named))
    found = cli("config", "check", "--config", file, "--json").error()
    assert said in found["message"]
    assert (found["line"], found["field"]) == (line, "roles[1].tables")
    if "Did you mean" in said:
        assert found["nearest"]
    file.write_text(text.format("lake/sales/orders"))
    assert cli("config", "check", "--config", file, "--json").code == 0


def test_the_document_of_a_message_holds_every_field() -> None:
    assert set(Notice.__struct_fields__) == {
        *("key", "kind", "severity", "title", "text", "table", "name", "version", "address", "when", "state", "id"),
    }
