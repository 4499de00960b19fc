"""Forms: the answers of each make an intent, and the intent reads as its entry says."""

import pytest

from explorer.core.transaction.intents import records
from explorer.core.transaction.intents.documents import intent_kind, intent_kinds, parse_intent
from explorer.views.act.intent_form import answers_of, entry_of, headline, intent_of, offered_kinds


def test_every_form_makes_an_intent_with_a_headline() -> None:
    assert set(offered_kinds()) <= set(intent_kinds())
    answers = {
        "name": "n", "expression": "id > 0", "column": "id", "feature": "rowTracking", "mode": "name",
        "version": "v7", "key.0": "a", "value.0": "1", "key.10": "b", "keys.1": "k", "description": "d",
        "minReaderVersion": "3", "minWriterVersion": "7", "from": "2", "to": "9", "type": "long", "at": "first",
    }  # fmt: skip
    for kind in offered_kinds():
        intent = parse_intent(intent_of(kind, answers | ({"to": "key"} if kind == "rename-column" else {})))
        assert entry_of(kind).headline(intent) == headline(intent)
        assert headline(intent).verb
    assert intent_of("set-properties", answers)["properties"] == {"a": "1", "b": ""}
    assert intent_of("unset-properties", answers)["keys"] == ["k"]
    assert intent_of("move-column", answers) == {"kind": "move-column", "column": "id", "at": "first"}
    assert intent_of("move-column", answers | {"at": "2"})["at"] == 2
    assert intent_of("clean-log", {}) == {"kind": "clean-log"}
    source = {"source": "a.parquet", "on": "target.id = source.id"}
    assert intent_of("merge", source | {"key.0": "b", "value.0": "source.b", "notMatchedBySource": "delete"}) == {
        "kind": "merge",
        "matched": [{"update": {"b": "source.b"}}],
        "notMatched": [{"insert": "*"}],
        "notMatchedBySource": [{"delete": True}],
        **source,
    }
    left = {"matched": "keep", "notMatched": "insert", "notMatchedWhen": "source.id > 0"}
    assert intent_of("merge", source | left)["notMatched"] == [{"insert": "*", "when": "source.id > 0"}]
    assert "matched" not in intent_of("merge", source | left)
    assert intent_of("overwrite", {"source": "a.csv", "replaces": "partitions", "where": "x"}) == {
        "kind": "overwrite", "source": "a.csv", "partitions": True
    }  # fmt: skip
    assert intent_of("overwrite", {"source": "a.csv", "replaces": "where", "where": "x"})["where"] == "x"
    assert intent_of("optimize", {"mebibytes": "0.25"})["targetSize"] == 1 << 18
    assert intent_of("optimize", {"mebibytes": "1e3"})["targetSize"] == "1e3"
    assert intent_of("optimize", {"mebibytes": "2", "order": "zOrderBy", "by": "a, b"}) == {
        "kind": "optimize", "targetSize": 2_097_152, "zOrderBy": ["a", "b"]
    }  # fmt: skip
    assert intent_of("optimize", {"order": "keep", "by": "a"}) == {"kind": "optimize"}
    assert intent_of("restore", answers) == {"kind": "restore", "version": 7}


@pytest.mark.parametrize(
    "intent",
    [
        records.Restore(version=29),
        records.Checkpoint(),
        records.SetProperties(properties={"delta.appendOnly": "true", "a.b": "x=1&y"}),
        records.UnsetProperties(keys=("a", "b")),
        records.RenameColumn(column="a.b", to="c"),
        records.EnableFeature(feature="rowTracking"),
        records.Vacuum(older_than="interval 30 days"),
        records.CompactLog(from_=2, to=9),
    ],
    ids=intent_kind,
)
def test_a_form_that_is_filled_in_with_an_intent_makes_that_intent(intent: records.Intent) -> None:
    assert parse_intent(intent_of(intent_kind(intent), answers_of(intent))) == intent


@pytest.mark.parametrize(
    ("intent", "said"),
    [
        ({"kind": "drop-columns", "columns": ["a", "b"]}, ("Drop columns", '{"columns": ["a", "b"]}')),
        ({"kind": "set-transaction", "appId": "x", "version": 3}, ("Set transaction", '{"appId": "x", "version": 3}')),
    ],
)
def test_what_no_form_asks_reads_as_its_fields(intent: dict[str, object], said: tuple[str, str]) -> None:
    head = headline(parse_intent(intent))
    assert (head.verb, head.code) == said


def test_a_comma_inside_backticks_belongs_to_the_name_of_a_column() -> None:
    assert intent_of("optimize", {"order": "orderBy", "by": "`x,y`, z"})["orderBy"] == ["`x,y`", "z"]
    assert intent_of("recompute-statistics", {"columns": "`x,y`,z"})["columns"] == ["`x,y`", "z"]
