"""The widget's line of findings: the worst one, all of them when it is opened, and hostile names as text."""

from explorer.auditing import Subject, audit
from explorer.jupyter.findings import findings_line
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
