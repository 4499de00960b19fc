"""The card of a column: by what it is used, its history through renames, and the clients that it stops."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import msgspec

import explorer
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.views import TableFacts
from explorer.views.columns.card import ColumnCard, column_card
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, commit_info, metadata, write_log

FEATURES = (
    "columnMapping",
    "checkConstraints",
    "generatedColumns",
    "identityColumns",
    "invariants",
    "allowColumnDefaults",
)

_ids = itertools.count(1)


def field(name: str, kind: object = "long", physical: str = "", **more: object) -> dict[str, object]:
    """A mapped field."""
    mapping = {"delta.columnMapping.physicalName": physical or f"col-{name}", "delta.columnMapping.id": next(_ids)}
    return {"name": name, "type": kind, "nullable": True, "metadata": mapping | more}


def table(folder: Path, *schemas: list[dict[str, object]], **configuration: str) -> TableFacts:
    """A table whose versions have these columns."""
    protocol = Protocol(
        min_reader_version=3, min_writer_version=7, reader_features=("columnMapping",), writer_features=FEATURES
    )
    properties = {"delta.columnMapping.mode": "name", **configuration}
    states: list[Metadata] = [
        msgspec.structs.replace(
            METADATA, schema_string=json.dumps({"type": "struct", "fields": fields}), configuration=properties
        )
        for fields in schemas
    ]
    first, *later = states
    commits = [[commit_info("CREATE TABLE", user_name="ana"), protocol, first]]
    commits += [[commit_info("RENAME COLUMN", user_name="ben"), state] for state in later]
    return TableFacts(explorer.open_table(write_log(folder / "t", commits)))


def card(facts: TableFacts, name: str, version: int | None = None) -> ColumnCard:
    """The card of a column."""
    return column_card(facts, facts.last if version is None else version, name)


def test_uses_name_constraints_generated_columns_identity_and_default(tmp_path: Path) -> None:
    made = field("made", "date", **{"delta.generationExpression": "CAST(at AS DATE)"})
    key = field("key", **{"delta.identity.start": 5, "delta.identity.step": 2, "delta.identity.highWaterMark": 11})
    price = field("price", "double", CURRENT_DEFAULT="1.0") | {"nullable": False}
    fields = [field("at", "timestamp"), made, key, price, field("other")]
    facts = table(tmp_path, fields, **{"delta.constraints.cheap": "price < 100 OR other IS NULL"})
    assert card(facts, "at").uses == (("generates", "made: CAST(at AS DATE)"),)
    assert card(facts, "made").uses == (("generated as", "CAST(at AS DATE)"),)
    assert card(facts, "key").uses == (("identity", "starts at 5, step 2, last value 11"),)
    cheap = ("constraint", "cheap: price < 100 OR other IS NULL")
    assert card(facts, "price").uses == (("default", "1.0"), ("constraint", "NOT NULL"), cheap)
    assert card(facts, "other").uses == (cheap,)
    because = {name for client in card(facts, "key").affected for name in client.because.split(", ")}
    assert because <= {"columnMapping", "identityColumns"}
    assert because


def test_an_older_name_has_the_card_of_its_column(tmp_path: Path) -> None:
    facts = table(tmp_path, [field("a", physical="p")], [field("b", physical="p"), field("a", physical="q")])
    old, new = card(facts, "a", 0), card(facts, "a", 1)
    assert old.story is not None
    assert new.story is not None
    assert "renamed to b" in dict(old.story.facts)["v1"]
    assert dict(new.story.facts)["physical name"] == "q"
    gone = card(facts, "b", 0)
    assert gone.column is None
    assert gone.story is not None
    assert card(facts, "never").story is None


def test_partitioning_structs_and_odd_names(tmp_path: Path) -> None:
    inner = {"type": "struct", "fields": [field("x y"), field("z", "string")]}
    facts = table(tmp_path, [field("s", inner), field("<b>'`\u202e")])
    assert card(facts, "s").fields == ("s.`x y`", "s.z")
    assert not card(facts, "s").can_be_profiled
    assert card(facts, "s.`x y`").type == "long"
    assert card(facts, "`<b>'``\u202e`").column is not None
    parts = TableFacts(
        explorer.open_table(
            write_log(
                tmp_path / "p",
                [[PROTOCOL, metadata({"p": "string", "q": "long", "v": "long"}, ["p", "q"]),
                  add("f", 3, partition_values={"p": "x", "q": "1"})]],
            )
        )
    )  # fmt: skip
    made = column_card(parts, 0, "p")
    assert made.uses == (("partitioning", "The table is partitioned by it and 1 other column."),)
    assert made.glance is not None
    assert made.glance.range == "only x"
