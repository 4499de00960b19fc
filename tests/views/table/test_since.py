"""Since when a column is as it is, in the words of the inspector."""

import json
from typing import Any

from explorer import Table
from explorer.views.table.columns import column_story
from explorer.views.table.facts import TableFacts
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import write_checkpoint


def _metadata(*, nullable: bool) -> dict[str, Any]:
    field = {"name": "phone", "type": "string", "nullable": nullable, "metadata": {}}
    schema = json.dumps({"type": "struct", "fields": [field]})
    known = {"id": "t", "format": {"provider": "parquet"}, "partitionColumns": [], "configuration": {}}
    return {"metaData": known | {"schemaString": schema}}


def test_the_inspector_says_since_when_by_whom_and_why() -> None:
    info = small_logs.commit_info("CHANGE COLUMN", user_name="ana", user_metadata="import of <legacy>")
    table = small_logs.table({0: [small_logs.PROTOCOL, _metadata(nullable=False)], 1: [info, _metadata(nullable=True)]})
    story = column_story(TableFacts(table), "phone")
    assert story is not None
    newest, first = story.since
    assert newest.startswith("nullable since v1, by ana, ")
    assert newest.endswith(" UTC: import of <legacy>")
    assert first.startswith("string not null since v0, ")
    # The knot of the river says it too.
    assert any(text.endswith("import of <legacy>)") for key, text in story.facts if key == "v1")


def test_where_the_log_begins_later_the_inspector_names_nobody() -> None:
    store = small_logs.new_store()
    small_logs.write(store, {3: [small_logs.add("a")], 4: [small_logs.add("b")]})
    write_checkpoint(store, 3, [small_logs.PROTOCOL, small_logs.METADATA, small_logs.add("a")], "classic")
    story = column_story(TableFacts(Table(store)), "id")
    assert story is not None
    assert story.since == ("long set at or before v3; the log entries before that were deleted",)
