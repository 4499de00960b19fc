"""The Edit tab as HTML: every change can be chosen, hostile answers stay text, a wrong answer is told at its place."""

import hashlib
import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

import explorer
from explorer.core.protocol.actions import Protocol
from explorer.page.act.form import ActDesk, ask_desk, redrawn_parts
from explorer.page.address import Address
from explorer.page.pages import Rendered, table_page
from explorer.page.tab_spec import Document
from explorer.page.tabs import export_named
from explorer.views.act.intent_form import offered_kinds
from explorer.views.act.receipt import ReceiptDocument
from explorer.web.served_tables import Catalog
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.idle_windows import idle_work, work_at
from tests.support.pages.page_elements import assert_harmless

ANSWERS = (
    "name",
    "expression",
    "column",
    "to",
    "feature",
    "mode",
    "version",
    "timestamp",
    "key.0",
    "value.0",
    "keys.0",
    "type",
    "comment",
    "at",
    "from",
    "olderThan",
)
WIDE = 2_000


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    root = tmp_path_factory.mktemp("served") / "w"
    hostile_tables.hostile_table(root / "hostile")
    small_logs.write_log(root / "plain", [hostile_tables.created({"id": "long", "other": "string"})])
    columns = {f"column_{number}": "long" for number in range(WIDE)}
    small_logs.write_log(root / "wide", [hostile_tables.created(columns)])
    return Catalog([str(root)])


def page(catalog: Catalog, table: str, change: str = "") -> Rendered:
    desk = ActDesk(catalog, hostile_tables.HOSTILE, signed_in=False, changed=list)
    address = Address.parse(f"?t=w/{table}&tab=act{change}")
    return table_page(catalog, address, "light", work_at(desk))


def checked(catalog: Catalog, desk: ActDesk, address: Address, pairs: int) -> dict[str, str]:
    """What is drawn again while answers are typed."""
    facts, typed = catalog.facts(address.table), replace(address, step="fill")
    ask_desk(desk, facts, typed, by_person=True)
    return redrawn_parts(facts, typed, desk.sheet, pairs)


def hostile(kind: str, step: str) -> Address:
    answers = tuple((name, hostile_tables.HOSTILE) for name in sorted(ANSWERS))
    return Address(table="w/hostile", tab="act", act=kind, step=step, answers=answers)


@pytest.mark.parametrize("kind", offered_kinds())
@pytest.mark.parametrize("step", ["fill", "plan"])
def test_hostile_answers_and_names_become_no_element_and_no_handler(catalog: Catalog, kind: str, step: str) -> None:
    desk = ActDesk(catalog, hostile_tables.HOSTILE, signed_in=False, changed=list)
    address = hostile(kind, step)
    shown = table_page(catalog, address, "light", work_at(desk))
    assert shown.view is not None
    regions = shown.regions | checked(catalog, desk, address, 1)
    assert_harmless("".join(regions.values()))
    assert "act" in shown.regions["lead"]


def test_a_hostile_plan_is_shown_as_text(catalog: Catalog) -> None:
    address = Address(
        table="w/hostile",
        tab="act",
        act="set-description",
        step="plan",
        answers=(("description", hostile_tables.HOSTILE),),
    )
    desk = ActDesk(catalog, hostile_tables.HOSTILE, signed_in=False, changed=list)
    shown = table_page(catalog, address, "light", work_at(desk))
    html = "".join(shown.regions.values())
    assert_harmless(html)
    assert "Actions" in html


def test_every_change_is_offered_with_how_the_table_stands(catalog: Catalog) -> None:
    lead = page(catalog, "plain").regions["lead"]
    impossible = {
        "drop-constraint", "rename-column", "drop-columns", "drop-not-null", "drop-feature", "restore", "compact-log",
        "unset-properties", "delete", "purge", "update", "optimize",
        "recompute-statistics",
    }  # fmt: skip
    for kind in set(offered_kinds()) - impossible:
        assert f"act={kind}" in lead
    assert "The table has no constraints." in lead
    assert "Set it to name first" in lead
    assert "This server is read-only." in lead
    plan = page(catalog, "plain", "&act=set-description&f.description=x&step=plan").regions["lead"]
    assert "This server is read-only, so commit it elsewhere." in plan


@pytest.mark.parametrize(
    ("change", "place", "told"),
    [
        ("&act=add-constraint&f.name=x&f.expression=idd+%3E+0", "expression", "Did you mean id?"),
        (
            "&act=set-properties&f.key.0=mine&f.value.0=1&f.key.1=delta.appendOnly&f.value.1=maybe",
            "key.1",
            "true or false",
        ),
        ("&act=set-properties&f.key.0=delta.apendOnly&f.value.0=true", "key.0", "delta.appendOnly"),
        ("&act=vacuum&f.olderThan=soon", "olderThan", "neither an interval"),
        ("&act=widen-type&f.column=id&f.type=lang", "type", "not a type that a column can be widened to"),
        ("&act=move-column&f.column=id&f.at=behind", "at", "behind"),
    ],
)
def test_a_wrong_answer_is_told_at_its_place(catalog: Catalog, change: str, place: str, told: str) -> None:
    address = Address.parse(f"?t=w/plain&tab=act{change}")
    desk = ActDesk(catalog, "", signed_in=False, changed=list)
    regions = checked(catalog, desk, address, 2)
    assert told in regions[f"act-note-{place}"]
    lead = page(catalog, "plain", f"{change}&step=plan").regions["lead"]
    assert told in lead
    assert f'act-note-{place}"' in "".join(re.findall(r'aria-describedby="[^"]*"', lead)), "who hears the form hears it"


def test_what_is_wrong_with_no_answer_alone_is_told_below_the_form(catalog: Catalog) -> None:
    desk = ActDesk(catalog, "", signed_in=False, changed=list)
    address = Address.parse("?t=w/hostile&tab=act&act=restore&f.version=7")
    regions = checked(catalog, desk, address, 0)
    assert "Versions 0 to 1 can be read." in regions["act-note-version"]
    assert "No such version" in regions["act-check"]
    address = Address.parse("?t=w/plain&tab=act&act=add-columns&f.name=x&f.type=lang")
    assert "is not known to the protocol" in checked(catalog, desk, address, 0)["act-check"]


def test_what_is_no_version_is_told_in_words(catalog: Catalog) -> None:
    desk = ActDesk(catalog, "", signed_in=False, changed=list)
    regions = checked(catalog, desk, Address.parse("?t=w/hostile&tab=act&act=restore&f.version=last"), 0)
    assert "\u201clast\u201d is not a time. Write one such as yesterday" in regions["act-check"]
    regions = checked(catalog, desk, Address.parse("?t=w/hostile&tab=act&act=compact-log&f.from=0&f.to=last"), 0)
    assert "is not a version. Enter a number" in regions["act-note-to"]


@pytest.mark.parametrize("kind", ["vacuum", "clean-log"])
def test_an_age_in_words_is_told_as_the_time_that_it_is(catalog: Catalog, kind: str) -> None:
    desk = ActDesk(catalog, "", signed_in=False, changed=list)
    written = f"?t=w/plain&tab=act&act={kind}&f.olderThan="
    assert (
        "Older than Fri 20 Nov 2026 17:00:00 UTC."
        in checked(catalog, desk, Address.parse(f"{written}20+Nov+2026+6pm+Europe/Berlin"), 0)["act-note-olderThan"]
    )
    assert "two dates" in checked(catalog, desk, Address.parse(f"{written}3/4/2026"), 0)["act-note-olderThan"]
    assert not checked(catalog, desk, Address.parse(f"{written}40+days"), 0)["act-note-olderThan"]


def test_what_deletes_files_is_planned_when_asked_and_says_what_would_go(catalog: Catalog) -> None:
    address = Address.parse("?t=w/plain&tab=act&act=vacuum&step=plan")
    desk = ActDesk(catalog, "", signed_in=False, changed=list)
    regions = checked(catalog, desk, address, 0)
    assert "Planning lists all files in the" in regions["act-check"]
    shown = page(catalog, "plain", "&act=vacuum&step=plan").regions
    assert "Nothing to commit." in shown["lead"]
    assert "no commit:" in shown["side"]
    assert "Committing as" in shown["side"], "the journal records who does it"
    assert "Ready." in page(catalog, "plain", "&act=checkpoint").regions["lead"]


def test_what_is_still_to_fill_in_is_no_error(catalog: Catalog) -> None:
    desk = ActDesk(catalog, "", signed_in=False, changed=list)
    address = Address.parse("?t=w/plain&tab=act&act=add-constraint&f.name=x")
    regions = checked(catalog, desk, address, 0)
    assert "Still to fill in: expression." in regions["act-check"]
    assert "note-error" not in "".join(regions.values())


def test_a_filled_in_pair_asks_for_another(catalog: Catalog) -> None:
    desk = ActDesk(catalog, "", signed_in=False, changed=list)
    address = Address.parse("?t=w/plain&tab=act&act=set-properties&f.key.0=delta.appendOnly&f.value.0=true")
    regions = checked(catalog, desk, address, 1)
    assert 'name="f.key.1"' in regions["act-pair-1"]
    assert "Rows may be added" in regions["act-note-key.0"]
    assert "act-pair-2" not in checked(catalog, desk, address, 2)
    assert page(catalog, "plain", address.to()[1:].partition("tab=act")[2]).regions["lead"].count('name="f.key.') == 2


def test_a_plan_says_that_a_reason_is_needed_before_it_can_be_committed(tmp_path: Path) -> None:
    small_logs.write_log(tmp_path / "w" / "t", [hostile_tables.created({"id": "long"})])
    catalog = Catalog([str(tmp_path / "w")], allow_commits=True)
    lead = page(catalog, "t", "&act=set-description&f.description=new&step=plan").regions["lead"]
    ((help_text, field),) = re.findall(r'<p class="help" id="help-reason">(.*?)</p><input([^>]*)>', lead)
    assert help_text.startswith("Required. ")
    assert 'aria-required="true"' in field


def test_two_thousand_columns_are_suggested_by_what_is_typed(catalog: Catalog) -> None:
    shown = page(catalog, "wide", "&act=add-constraint")
    assert len("".join(shown.regions.values())) < 60_000
    assert "1,940 more" in shown.regions["side"]
    desk = ActDesk(catalog, "", signed_in=False, changed=list)
    address = Address.parse("?t=w/wide&tab=act&act=rename-column&f.column=column_199")
    regions = checked(catalog, desk, address, 0)
    assert regions["act-columns"].count("<option") == 11
    assert "long" in regions["act-note-column"]


def test_the_receipt_of_a_version_comes_from_the_log_with_its_digests(tmp_path: Path) -> None:
    table = hostile_tables.empty_table(tmp_path / "w" / "ledger")
    writer = explorer.open_table(table)
    plan = writer.plan({"kind": "set-description", "description": "x"}, user="ana")
    assert writer.commit(plan, reason="Ana <b>", user="ana").outcome == "committed"
    catalog = Catalog([str(tmp_path / "w")])
    shown = page(catalog, "ledger", "&v=1&step=receipt").regions["lead"]
    assert_harmless(shown)
    assert 'data-outcome="committed"' in shown
    for text in ("Committed v1.", "Ana &lt;b&gt;", "ana", plan.txn_id, f"{1:020}.json", "UTC"):
        assert text in shown, text
    assert hashlib.sha256((table / "_delta_log" / f"{1:020}.json").read_bytes()).hexdigest() in shown
    assert str(writer.verify().chain_head) in shown
    assert "Committed v0." in page(catalog, "ledger", "&v=0&step=receipt").regions["lead"]


def test_a_receipt_is_saved_under_its_table_and_version(tmp_path: Path) -> None:
    table = hostile_tables.empty_table(tmp_path / "w" / "ledger")
    writer = explorer.open_table(table)
    assert writer.commit(writer.plan({"kind": "set-description", "description": "x"}), reason="why").version == 1
    catalog = Catalog([str(tmp_path / "w")])
    work, address = idle_work(catalog), Address.parse("?t=w/ledger&tab=act&v=1&step=receipt")
    view = table_page(catalog, address, "light", work).view
    assert view is not None
    document = export_named("receipt")(view, address, work)
    assert isinstance(document, Document)
    assert (document.name, document.what) == ("ledger-v1-receipt", "receipt")
    assert isinstance(document.content, ReceiptDocument)
    assert (document.content.version, document.content.reason) == (1, "why")
    assert document.content.chain_head == writer.verify().chain_head


def test_an_old_version_proposes_itself_to_be_restored(tmp_path: Path) -> None:
    created = hostile_tables.created({"id": "long"})
    small_logs.write_log(
        tmp_path / "w" / "two", [created, [small_logs.commit_info("WRITE"), small_logs.add("a.parquet", 3)]]
    )
    catalog = Catalog([str(tmp_path / "w")])
    assert 'value="0"' in page(catalog, "two", "&v=0&act=restore").regions["lead"]
    assert "Restore" in page(catalog, "two", "&act=restore&f.version=0&step=plan").regions["lead"]


def test_a_commit_leads_to_the_restore_of_what_was_before_it_and_an_old_version_to_its_own(tmp_path: Path) -> None:
    created = hostile_tables.created({"id": "long"})
    loads = [[small_logs.commit_info("WRITE"), small_logs.add(f"{name}.parquet", 3)] for name in "ab"]
    small_logs.write_log(tmp_path / "w" / "three", [created, *loads])
    catalog = Catalog([str(tmp_path / "w")])

    def ways(version: int) -> list[tuple[str, str]]:
        address = Address.parse(f"?t=w/three&v={version}")
        side = table_page(catalog, address, "light", idle_work(catalog)).regions["side"]
        return re.findall(r"act=restore&amp;f.version=(\d)[^>]*>([^<]*)", side)

    assert ways(2) == [("1", "Restore v1, before this commit\u2026")]
    assert ways(1) == [("0", "Restore v0, before this commit\u2026"), ("1", "Restore v1\u2026")]
    assert ways(0) == [("0", "Restore v0\u2026")]


def test_a_plan_that_was_shown_stays_and_says_that_the_table_has_moved_on(tmp_path: Path) -> None:
    created = hostile_tables.created({"id": "long"})
    small_logs.write_log(tmp_path / "w" / "moving", [created])
    catalog = Catalog([str(tmp_path / "w")], allow_commits=True)
    desk = ActDesk(catalog, "ana", signed_in=False, changed=list)
    address = Address.parse("?t=w/moving&tab=act&act=set-description&f.description=x&step=plan")
    before = table_page(catalog, address, "light", work_at(desk)).regions["lead"]
    assert "Commit v1" in before
    other = explorer.open_table(tmp_path / "w" / "moving")
    other.commit(other.plan({"kind": "set-transaction", "appId": "other", "version": 1}), reason="first")
    catalog.check_again("w/moving")
    after = table_page(catalog, address, "light", work_at(desk)).regions["lead"]
    assert "The table has a newer version." in after
    assert "data-confirm" in before
    assert "data-confirm" not in after
    desk.forget()
    again = table_page(catalog, address, "light", work_at(desk)).regions["lead"]
    assert "Commit v2" in again
    assert "data-confirm" in again


def test_a_change_of_a_table_whose_old_version_is_shown_says_which_one_it_is_made_on(catalog: Catalog) -> None:
    for change in ("", "&act=set-description", "&act=set-description&f.description=x&step=plan"):
        old = page(catalog, "hostile", f"{change}&v=0").regions["lead"]
        assert "v0 is shown above, and the table is at v1." in old, change
        assert "other-version" in old
        assert "is shown above" not in page(catalog, "hostile", change).regions["lead"]


def test_a_plan_that_cannot_be_committed_leads_with_the_guard_that_failed(tmp_path: Path) -> None:
    rows = [small_logs.commit_info("WRITE"), small_logs.add("a.parquet", 3)]
    small_logs.write_log(tmp_path / "w" / "plain", [hostile_tables.created({"id": "long"}), rows])
    served = Catalog([str(tmp_path / "w")])
    lead = page(served, "plain", "&act=set-column-mapping&f.mode=id&step=plan").regions["lead"]
    told = [
        "This must not be committed: 1 guard failed.",
        '<li class="fail">',
        '<p class="remedy">',
        "Worst consequence",
    ]
    places = [lead.index(text) for text in told]
    assert places == sorted(places)
    assert [lead.count(text) for text in told[:2]] == [1, 1]
    possible = page(served, "plain", "&act=enable-feature&f.feature=deletionVectors&step=plan").regions["lead"]
    assert possible.index("Worst consequence") < possible.index("Guards</h2>") < possible.index("This can be committed")


def test_a_remedy_is_a_link_and_leads_back_to_the_plan(catalog: Catalog) -> None:
    asked = "&act=rename-column&f.column=id&f.to=key&step=plan"
    lead = page(catalog, "plain", asked).regions["lead"]
    (link,) = re.findall(r'href="([^"]*act=set-column-mapping[^"]*)"', lead)
    step = Address.parse(html.unescape(link))
    assert (step.act, step.step, step.answers) == ("set-column-mapping", "fill", (("mode", "name"),))
    desk = ActDesk(catalog, "ana", signed_in=False, changed=list)
    lead = table_page(catalog, step, "light", work_at(desk)).regions["lead"]
    assert "Back to the plan: rename a column" in lead
    resumed = step.resumed()
    assert resumed is not None
    assert (resumed.act, resumed.step, dict(resumed.answers)) == (
        "rename-column",
        "plan",
        {"column": "id", "to": "key"},
    )
    # It outlives the commit in between: the receipt leads back too.
    assert Address.parse(step.receipt_of(1)).resumed() is not None
    assert Address.parse(step.chosen("restore")).back == ""


@pytest.mark.parametrize("back", ["act=nonsense", hostile_tables.HOSTILE, "act=vacuum&f.x=%00"])
def test_a_way_back_made_by_hand_does_no_harm(catalog: Catalog, back: str) -> None:
    address = Address(table="w/plain", tab="act", act="set-description", step="plan", back=back)
    desk = ActDesk(catalog, "ana", signed_in=False, changed=list)
    shown = table_page(catalog, address, "light", work_at(desk))
    assert_harmless("".join(shown.regions.values()))
    assert ("Back to the plan" in shown.regions["lead"]) == back.startswith("act=vacuum")


def test_what_the_protocol_has_already_is_said_in_plain_words(tmp_path: Path) -> None:
    legacy = [
        small_logs.commit_info("CREATE TABLE"),
        Protocol(min_reader_version=1, min_writer_version=3),
        small_logs.metadata({"id": "long"}),
    ]
    named = [
        small_logs.commit_info("CREATE TABLE"),
        Protocol(min_reader_version=1, min_writer_version=7, writer_features=("appendOnly",)),
        small_logs.metadata({"id": "long"}),
    ]
    small_logs.write_log(tmp_path / "w" / "legacy", [legacy])
    small_logs.write_log(tmp_path / "w" / "named", [named])
    served = Catalog([str(tmp_path / "w")])
    lead = page(served, "legacy", "&act=enable-feature").regions["lead"]
    assert "appendOnly, part of writer version 3 already" in lead
    assert "appendOnly, in the protocol already" in page(served, "named", "&act=enable-feature").regions["lead"]
    assert "listed already" not in lead
