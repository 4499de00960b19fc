"""The widget's line of findings: the worst one, all of them when it is opened, and hostile names as text."""

import time
from pathlib import Path

import explorer
from explorer import Table
from explorer.auditing import Subject, audit
from explorer.jupyter.findings import FindingsLine, findings_line
from explorer.storage import open_store
from explorer.storage.kept_indexes import KeptFolder
from explorer.views import TableFacts
from tests.support import small_logs
from tests.support.audited_tables import HOUR, NOW, ago, clean, loaded, written
from tests.support.hostile_tables import HOSTILE
from tests.support.page_elements import assert_harmless


def test_the_worst_finding_is_named_with_its_evidence_and_effect_below() -> None:
    gone = [
        small_logs.commit_info("DELETE", user_name=HOSTILE),
        small_logs.remove("1.parquet", deletion_timestamp=ago(HOUR)),
    ]
    html = findings_line(audit(Subject(written(loaded("0.parquet"), loaded("1.parquet"), gone), NOW)))
    assert '<span class="dte-chip dte-warning">bulk loss, v3</span>' in html
    assert "1,000 rows fewer after one commit" in html
    assert "kept until 29 Nov 2026" in html
    assert_harmless(html)


def test_a_clean_table_has_no_line() -> None:
    assert findings_line(TableFacts(clean()).audit()) == ""


def test_what_the_log_has_to_be_read_again_for_comes_later(tmp_path: Path) -> None:
    commits = [
        [small_logs.PROTOCOL, small_logs.METADATA],
        loaded("0.parquet"),
        [*loaded("1.parquet"), small_logs.remove("1.parquet")],
    ]
    small_logs.write_log(tmp_path / "table", commits)
    kept = KeptFolder(tmp_path / "kept", "test", worth=(1, 0), settled=0)
    read, again = (Table(open_store(tmp_path / "table"), indexes=lambda: kept) for _ in range(2))
    read.history()
    meant = findings_line(TableFacts(read).audit())
    assert "added and removed" in meant
    line = FindingsLine()
    said: list[str] = []
    line.observe(lambda change: said.append(change["new"]), "value")
    line.ask(TableFacts(again))
    end = time.monotonic() + 60
    while said[-1] != meant:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert "Some rules read the log" in said[-2]
    assert not any("added and removed" in earlier for earlier in said[:-1])


def test_the_rules_of_a_large_table_are_asked_beside_the_widget(tmp_path: Path) -> None:
    first = [small_logs.PROTOCOL, small_logs.METADATA, *(small_logs.add(f"{n}.parquet") for n in range(20_001))]
    later = [small_logs.add("again.parquet"), small_logs.remove("again.parquet")]
    table = explorer.open_table(small_logs.write_log(tmp_path / "table", [first, later]))
    meant = findings_line(TableFacts(table).audit())
    assert "added and removed" in meant
    line = FindingsLine()
    said: list[str] = []
    line.observe(lambda change: said.append(change["new"]), "value")
    line.ask(TableFacts(table))
    end = time.monotonic() + 60
    while said[-1] != meant:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert "The rules look at the table" in said[0]
