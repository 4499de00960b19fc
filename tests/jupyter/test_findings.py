"""The widget's line of findings: the worst one, all of them when it is opened, and hostile names as text."""

import time

from explorer.auditing import Subject, audit
from explorer.jupyter.findings import FindingsLine, findings_line
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
    assert "1,000 rows went in one commit" in html
    assert "kept until 29 Nov 2026" in html
    assert_harmless(html)


def test_a_clean_table_has_no_line() -> None:
    assert findings_line(TableFacts(clean()).audit()) == ""


def test_of_a_long_log_the_line_is_drawn_when_the_rules_have_read_it() -> None:
    table = written(loaded("0.parquet"), [*loaded("1.parquet"), small_logs.remove("2.parquet")])
    at_once, later = FindingsLine(), FindingsLine(long=1)
    at_once.ask(TableFacts(table))
    later.ask(TableFacts(table))
    end = time.monotonic() + 60
    while "The rules read the log" in later.value:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert later.value == at_once.value
    assert "dte-findings" in later.value
