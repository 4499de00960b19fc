"""Two tables side by side, in a sentence."""

from __future__ import annotations

from pathlib import Path

import explorer
from explorer.views.pair_view import pair_view
from tests.support.logs.small_logs import PROTOCOL, add, metadata, write_log


def test_the_verdict_counts_what_differs_in_plain_words(tmp_path: Path) -> None:
    own = {"delta.appendOnly": "true", "delta.logRetentionDuration": "interval 60 days"}
    first = write_log(tmp_path / "first", [[PROTOCOL, metadata({"id": "long"}, configuration=own), add("a", 5)]])
    second = write_log(tmp_path / "second", [[PROTOCOL, metadata({"id": "long"})]])
    shown = pair_view(explorer.open_table(first).compare(explorer.open_table(second)), ())
    assert "2 properties" in shown.verdict
    assert "They differ in live rows, files and size." in shown.verdict
    assert [row.name for row in shown.amounts if row.differs] == ["live rows", "files", "size"]
