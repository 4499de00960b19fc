"""The Case tab: pins from every place that has something to pin, as a file, in a report, and what holds no longer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import explorer
from explorer.core.errors import RequestError
from explorer.page.address import Address
from explorer.page.host import Identity, KnownBy
from explorer.page.pages import Rendered, table_page
from explorer.page.tab_spec import export_files
from explorer.page.tabs import export_named, handlers
from explorer.page.window import Message, WindowWork
from explorer.report import verify_report
from explorer.report.case_desk import CaseDesk
from explorer.report.case_file import CommitPin, read_case
from explorer.report.pins import report_findings
from explorer.report.signature import SigningKey
from explorer.views import TableView
from explorer.web.served_tables import Catalog
from tests.support.at_least_one import at_least_one
from tests.support.comparison.audited_tables import loaded
from tests.support.logs import small_logs
from tests.support.logs.hostile_tables import HOSTILE
from tests.support.pages.idle_windows import idle_work
from tests.support.pages.open_windows import Window as OpenWindow
from tests.support.pages.page_elements import assert_harmless


class _Window:
    """A window without a browser: messages are handled at once, as `explorer.page.window.Window` has it."""

    def __init__(self, catalog: Catalog, query: str) -> None:
        self.query, self.catalog = query, catalog
        self.work: WindowWork = idle_work(catalog)
        self.answered = 0

    @property
    def view(self) -> TableView | None:
        return self.page().view

    def page(self) -> Rendered:
        return table_page(self.catalog, Address.parse(self.query), "light", self.work)

    def answer(self, message: Message, regions: Mapping[str, str] | None = None, *, query: str = "") -> None:
        self.answered += 1

    def redraw(self) -> None:
        self.page()

    def begin(self, work: Callable[[], object]) -> None:
        work()

    def compute(self, message: Message, work: Callable[[], object], then: Callable[[object], None]) -> None:
        then(work())

    def send(self, kind: str, **fields: object) -> None:
        handlers(self)[kind](Message(kind, 1, fields))

    def export(self, name: str) -> str:
        (text,) = self.exported(name).values()
        return text

    def exported(self, name: str) -> dict[str, str]:
        """The texts of the files that a download gives, by their names."""
        view = self.view
        assert view is not None
        found = export_named(name)(view, Address.parse(self.query), self.work)
        files: dict[str, str] = {}
        for part in export_files(found, "1", "json"):
            files[part["name"]] = files.get(part["name"], "") + part["text"]
        return files


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    root = tmp_path_factory.mktemp("served") / "w"
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    gone = [small_logs.commit_info("DELETE", user_name=HOSTILE), small_logs.remove("0.parquet")]
    small_logs.write_log(root / "t", [created, loaded("0.parquet"), loaded("1.parquet"), gone])
    small_logs.write_log(root / "other", [created, loaded("0.parquet")])
    return Catalog([str(root)])


@pytest.fixture
def window(catalog: Catalog) -> _Window:
    return _Window(catalog, "?t=w/t&v=3")


def _case(window: _Window) -> str:
    window.query = "?t=w/t&v=3&tab=case"
    page = window.page()
    for html in page.regions.values():
        assert_harmless(html)
    return page.regions["lead"]


def _kept(window: _Window) -> str:
    return window.work.of(CaseDesk).text


def test_what_is_shown_can_be_pinned_where_it_is_shown(window: _Window) -> None:
    for tab, what in (("overview", "commit"), ("diff", "diff"), ("files&file=1.parquet", "file"), ("audit", "finding")):
        window.query = f"?t=w/t&v=3&tab={tab}"
        html = "".join(window.page().regions.values())
        found = re.search(rf'data-do="pin" data-pin="{what}"([^>]*)', html)
        assert found, (tab, what)
        named = dict(re.findall(r'data-(rule|subject|path)="([^"]*)"', found[1]))
        window.send("pin", pin=what, **named)
    assert window.answered == 4
    lead = _case(window)
    assert re.findall(r"<h3>(\w+) ", lead)[:3] == ["commit", "diff", "file"]
    # A finding is headed by its claim, and its rule stands beside it.
    (claim, rule) = re.findall(r"<h3>([^<]+) <small class=.muted.>finding ([\w-]+)", lead)[0]
    assert window.view is not None
    assert (rule, claim) in {(each.id, each.title) for each in report_findings(window.view.facts.audit())}
    assert "no longer holds" not in lead
    assert "Remove" in lead
    assert '<sup class="count">4</sup>' in window.page().regions["tabs"]


def test_the_same_is_pinned_once_and_taken_out_again(window: _Window) -> None:
    for _ in range(2):
        window.send("pin", pin="commit")
    assert len(window.work.of(CaseDesk).file.pins) == 1
    (name,) = re.findall(r'data-do="unpin" data-pin="([^"]*)"', _case(window))
    window.send("case-note", pin=name, note="the loss")
    window.send("pin", pin="commit")
    assert [pin.note for pin in window.work.of(CaseDesk).file.pins] == ["the loss"]
    window.send("unpin", pin=name)
    assert (window.work.of(CaseDesk).file.pins, _kept(window)) == ((), "")
    with pytest.raises(RequestError, match="no longer in the case"):
        window.send("unpin", pin=name)


def test_what_is_downloaded_is_signed_with_the_key_of_the_server_and_verifies(catalog: Catalog) -> None:
    key = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(range(32))), "steward")
    signing = Catalog(catalog.roots.locations, key=key)
    window = _Window(signing, "?t=w/t&v=3&tab=audit")
    window.send("pin", pin="commit")
    for name in at_least_one(["report", "case-report"]):
        files = window.exported(name)
        (file, signature) = sorted(files)
        assert signature == f"{file}.sig"
        found = verify_report(files[file].encode(), files[signature].encode())
        assert (found.valid, found.signer) == (True, key.signer.fingerprint)
    assert key.signer.fingerprint in _case(window)
    plain = _Window(catalog, "?t=w/t&v=3&tab=audit")
    assert [name.rpartition(".")[2] for name in plain.exported("report")] == ["html"]


def test_a_case_file_is_the_whole_of_a_case(window: _Window, catalog: Catalog) -> None:
    window.send("case-describe", title=HOSTILE, author="ana", notes="why")
    window.send("pin", pin="commit")
    text = window.export("case-file")
    file = read_case(text.encode(), "case.json")
    assert (file.title, file.author, file.notes) == (HOSTILE, "ana", "why")
    (pin,) = file.pins
    assert isinstance(pin, CommitPin)
    assert (pin.version, pin.table, len(pin.digest or "")) == (3, window.view and window.view.facts.location, 64)
    for kept in (text, _kept(window)):
        other = _Window(catalog, "?t=w/t&v=3")
        other.send("case-load", text=kept, name="case.json")
        assert other.work.of(CaseDesk).file == file
        assert "commit v3" in _case(other)
    with pytest.raises(RequestError, match="is not a case file"):
        window.send("case-load", text="{", name="case.json")
    assert window.work.of(CaseDesk).file == file


def test_the_report_gains_the_case_and_verifies(window: _Window) -> None:
    window.send("case-describe", title="The loss", author="ana", notes="")
    window.send("pin", pin="commit")
    html = window.export("case-report")
    assert "Case: The loss" in html
    assert "SHA-256 of its file" in html
    assert verify_report(html.encode()).valid


def test_pins_of_another_table_are_counted_and_those_that_hold_no_longer_are_marked(window: _Window) -> None:
    window.query = "?t=w/other&v=1"
    window.send("pin", pin="commit")
    window.query = "?t=w/t&v=3"
    window.send("pin", pin="commit")
    changed = json.loads(window.export("case-file"))
    changed["pins"][1]["digest"] = "0" * 64
    window.send("case-load", text=json.dumps(changed), name="case.json")
    lead = _case(window)
    assert "1 pin belongs to another table" in lead
    assert re.search(r"<h3>commit v1 <small class=.muted.>other · pinned \d{4}-", lead)
    assert "no longer holds" in lead


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"pin": "secret"}, "is not known"),
        ({"pin": "finding", "rule": "bulk-loss", "subject": "x"}, "Nothing to pin"),
        ({"pin": "file", "path": "../0.parquet"}, "Nothing to pin"),
        ({"pin": "rows"}, "No rows have been read"),
    ],
)
def test_what_is_not_there_is_not_pinned(window: _Window, fields: dict[str, str], said: str) -> None:
    with pytest.raises(RequestError, match=said):
        window.send("pin", **fields)
    assert _kept(window) == ""


def test_a_case_goes_into_the_report_of_the_command(window: _Window, tmp_path: Path) -> None:
    window.send("pin", pin="commit")
    (tmp_path / "case.json").write_text(window.export("case-file"))
    view = window.view
    assert view is not None
    case = read_case((tmp_path / "case.json").read_bytes(), "case.json")
    report = explorer.open_table(view.facts.location).report(case=case)
    assert report.case is not None
    assert [(pin.what, pin.holds) for pin in report.case.pins] == [("v3", True)]


def test_the_author_of_a_case_is_the_login_whatever_a_message_or_a_file_says(catalog: Catalog) -> None:
    window = signed_in(catalog, "ben")
    window.ask("go", query="?t=w/t&v=3&tab=case")
    desk = window.session.work.of(CaseDesk)
    window.ask("case-describe", title="Loss", author="ana", notes="")
    assert desk.file.author == "ben"
    window.ask("case-load", name="c.json", text=json.dumps({"title": "Loss", "author": "ana", "pins": []}))
    assert (desk.file.title, desk.file.author) == ("Loss", "ben")
    window.ask("pin", pin="commit")
    window.ask("go", query="?t=w/t&v=3&tab=case")
    side = window.session.shown.regions["side"]
    assert re.search(r'<input id="case-author"[^>]* value="ben"[^>]* readonly', side)


def test_where_nobody_signs_in_the_author_is_what_was_entered(catalog: Catalog) -> None:
    window = signed_in(catalog, "")
    window.ask("go", query="?t=w/t&v=3&tab=case")
    window.ask("case-describe", title="Loss", author="ana", notes="")
    assert window.session.work.of(CaseDesk).file.author == "ana"


def signed_in(catalog: Catalog, name: str) -> OpenWindow:
    """The window of a person that the server knows; of anyone, if there is no name."""
    return OpenWindow(catalog, "?t=w/t&v=3", identity=Identity("s", name, KnownBy.LOGIN) if name else None)
