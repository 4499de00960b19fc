"""Every setting that a commit may change is one change of its kind, with its name and how it was before and after."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.core.protocol.actions import CommitInfo, DomainMetadata, Metadata, Protocol
from explorer.core.versions.settings_history import KINDS, SettingChange, setting_changes, settings_table
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import begun_late
from tests.support.logs.small_schemas import MAPPED, NAME, array, field, mapped, mapping, struct

RULES = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("domainMetadata", "clustering"))
CLUSTERING, ROWS, APP = "delta.clustering", "delta.rowTracking", "app"
VARCHAR, DEFAULT, GENERATION = "__CHAR_VARCHAR_TYPE_STRING", "CURRENT_DEFAULT", "delta.generationExpression"
Told = tuple[int, str, str, str | None, str | None]


def meta(*fields: dict[str, Any], properties: dict[str, str] | None = None, **more: Any) -> Metadata:
    schema = json.dumps(struct(*fields or (field("id", "long"),)))
    return Metadata(**{"id": "t", "schema_string": schema, "configuration": properties or {}, **more})


def domain(name: str, text: str = "", *, removed: bool = False) -> DomainMetadata:
    return DomainMetadata(domain=name, configuration=text, removed=removed)


def clustered(*columns: list[str]) -> DomainMetadata:
    return domain(CLUSTERING, json.dumps({"clusteringColumns": columns}))


def table(*commits: list[Any]) -> explorer.Table:
    return small_logs.table(dict(enumerate(commits)))


def changes(*commits: list[Any]) -> tuple[SettingChange, ...]:
    return setting_changes(table(*commits).provenance_record())


def told(found: tuple[SettingChange, ...]) -> list[Told]:
    """Those after the first version."""
    return [(each.version, each.kind, each.name, each.before, each.after) for each in found if not each.initial]


def later(*commits: list[Any]) -> list[Told]:
    return told(changes(*commits))


def test_a_table_comes_with_all_its_settings() -> None:
    fields = (
        field("id", "long", nullable=False, comment="the key"),
        field("v", "string", metadata={VARCHAR: "char(3)", DEFAULT: "'x'"}),
        field("g", "date", metadata={GENERATION: "CAST(x AS DATE)", "comment": 7, VARCHAR: 7}),
        field("s", struct(field("x y"))),
        field("l", array(struct(field("q")))),
        field("m", mapping("string", struct(field("k", comment="inner"))), nullable=False),
    )
    properties = {"a": "b", "delta.columnMapping.maxColumnId": "9", "delta.constraints.Pos": "id > 0"}
    created = meta(*fields, properties=properties, name="N", description="D", partition_columns=("g",))
    rows = domain(ROWS, '{"rowIdHighWaterMark":4,"more":1}')
    found = changes([RULES, created, domain(APP, "{}"), clustered(["id"], ["s", "x y"]), rows])
    types = {"id": "long not null", "v": "char(3)", "g": "date", "s": "struct", "s.`x y`": "integer"}
    types |= {"l": "array<struct>", "l.element.q": "integer", "m": "map<string,struct> not null"}
    types |= {"m.value.k": "integer"}
    assert found == tuple(
        SettingChange(0, kind, name, None, after, column, True, True)
        for kind, name, after, column in (
            *(("column", name, after, name) for name, after in types.items()),
            *(("comment", "id", "the key", "id"), ("comment", "g", "7", "g")),
            ("comment", "m.value.k", "inner", "m.value.k"),
            *(("default", "v", "'x'", "v"), ("generation", "g", "CAST(x AS DATE)", "g")),
            *(("partitioning", "partitioning", "g", None), ("clustering", "clustering", "id, s.`x y`", None)),
            *(("property", "a", "b", None), ("constraint", "Pos", "id > 0", None)),
            *(("feature", "domainMetadata", "supported", None), ("feature", "clustering", "supported", None)),
            ("protocol", "protocol", "reader 1, writer 7", None),
            *(("description", "description", "D", None), ("description", "name", "N", None)),
            *(("domain", APP, "{}", None), ("domain", ROWS, '{"more":1}', None)),
        )
    )
    assert [KINDS.index(each.kind) for each in found] == sorted(KINDS.index(each.kind) for each in found)


ID = field("id", "long")
OF_COLUMNS = ("column", "name", "type", "nullability", "comment", "default", "generation")


def checked(text: str) -> Metadata:
    return meta(properties={"delta.constraints.A": text})


def spelt(**metadata: Any) -> Metadata:
    return meta(field("id", "string", **metadata))


def columns(*names: str, **more: Any) -> Metadata:
    return meta(*map(field, names), **more)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (meta(), meta(id="other"), [("table", "table", "t", "other")]),
        (meta(), meta(), []),
        (meta(properties={"a": "1"}), meta(properties={"a": "2"}), [("property", "a", "1", "2")]),
        (
            *(meta(properties={"a": "1"}), meta(properties={"b": "1"})),
            [("property", "a", "1", None), ("property", "b", None, "1")],
        ),
        (meta(), meta(properties={"delta.columnMapping.maxColumnId": "4"}), []),
        (checked("x"), meta(), [("constraint", "A", "x", None)]),
        (checked("x"), checked("y"), [("constraint", "A", "x", "y")]),
        (meta(name="x"), meta(name="y"), [("description", "name", "x", "y")]),
        (meta(description="x"), meta(description=""), [("description", "description", "x", None)]),
        (meta(ID), meta(field("id", "string")), [("type", "id", "long", "string")]),
        (meta(ID), meta(field("id", "long", nullable=False)), [("nullability", "id", "nullable", "not null")]),
        (meta(field("id", "long", nullable=False)), meta(ID), [("nullability", "id", "not null", "nullable")]),
        (spelt(comment="x"), spelt(comment="y"), [("comment", "id", "x", "y")]),
        (spelt(comment="x"), spelt(), [("comment", "id", "x", None)]),
        (spelt(), spelt(**{DEFAULT: "1"}), [("default", "id", None, "1")]),
        (spelt(**{GENERATION: "a"}), spelt(**{GENERATION: "b"}), [("generation", "id", "a", "b")]),
        (spelt(), spelt(**{VARCHAR: "char(2)"}), [("type", "id", "string", "char(2)")]),
        (meta(ID), meta(ID, field("v", nullable=False)), [("column", "v", None, "integer not null")]),
        (meta(ID, field("v", nullable=False)), meta(ID), [("column", "v", "integer not null", None)]),
        (
            *(meta(ID), meta(ID, field("v", metadata={"comment": "c", DEFAULT: "1", GENERATION: "g"}))),
            [
                *(("column", "v", None, "integer"), ("comment", "v", None, "c")),
                *(("default", "v", None, "1"), ("generation", "v", None, "g")),
            ],
        ),
        (columns("p", "q"), columns("p", "q", partition_columns=("p",)), [(*["partitioning"] * 2, None, "p")]),
        (
            *(columns("p", partition_columns=("gone",)), columns("p", partition_columns=("lost",))),
            [("partitioning", "partitioning", "gone", "lost")],
        ),
        (
            *(columns("p", "q", partition_columns=("p", "q")), columns("p", "q", partition_columns=("q", "p"))),
            [("partitioning", "partitioning", "p, q", "q, p")],
        ),
        (columns("a", "b"), columns("b", "a"), [("order", "columns", "a, b", "b, a")]),
        (columns("a", "b"), columns("c", "a", "b"), [("column", "c", None, "integer")]),
        (columns("a", "x", "b"), columns("a", "b"), [("column", "x", "integer", None)]),
        (
            meta(ID, field("s t", struct(field("a b"), field("c")))),
            meta(ID, field("s t", struct(field("c"), field("a b")))),
            [("order", "`s t`", "`a b`, c", "c, `a b`")],
        ),
        (
            meta(field("l", array(struct(field("a"), field("b"))))),
            meta(field("l", array(struct(field("b"), field("n"), field("a"))))),
            [("column", "l.element.n", None, "integer"), ("order", "l.element", "a, b", "b, a")],
        ),
        (meta(schema_string=None), meta(ID), [("column", "id", None, "long")]),
        (meta(ID), meta(schema_string=None), [("column", "id", "long", None)]),
    ],
)
def test_a_change_of_the_metadata_is_told(before: Metadata, after: Metadata, said: list[tuple[str, ...]]) -> None:
    found = changes([RULES, before], [small_logs.add("a")], [after])
    assert told(found) == [(2, *each) for each in said]
    names = [name if kind in OF_COLUMNS else None for kind, name, *_ in said]
    assert [each.column for each in found if not each.initial] == names


def test_a_change_of_the_protocol_is_told_with_the_features_that_came_and_went() -> None:
    newer = Protocol(min_reader_version=3, min_writer_version=7, reader_features=("zeta",), writer_features=("zeta",))
    assert later([small_logs.PROTOCOL, meta()], [RULES], [newer]) == [
        *((1, "feature", "appendOnly", "supported", None), (1, "feature", "invariants", "supported", None)),
        *((1, "feature", "domainMetadata", None, "supported"), (1, "feature", "clustering", None, "supported")),
        (1, "protocol", "protocol", "reader 1, writer 2", "reader 1, writer 7"),
        *((2, "feature", "domainMetadata", "supported", None), (2, "feature", "clustering", "supported", None)),
        (2, "feature", "zeta", None, "supported"),
        (2, "protocol", "protocol", "reader 1, writer 7", "reader 3, writer 7"),
    ]


def test_a_domain_is_followed_but_for_the_counter_of_row_ids() -> None:
    mark = '{"rowIdHighWaterMark":%d}'
    assert later(
        [RULES, meta(), domain(APP, "1"), domain(ROWS, mark % 1)],
        [domain(ROWS, mark % 2)],
        [domain(APP, "2"), domain(ROWS, mark % 3)],
        [domain(APP, removed=True), domain("none", removed=True)],
        [domain(ROWS, removed=True)],
        [domain(ROWS, mark % 9)],
        [domain(ROWS, "[1]"), domain(APP, "3")],
        [domain(ROWS, "odd"), domain(APP, "3")],
    ) == [
        (2, "domain", APP, "1", "2"),
        (3, "domain", APP, "2", None),
        (4, "domain", ROWS, "{}", None),
        (5, "domain", ROWS, None, "{}"),
        *((6, "domain", ROWS, "{}", "[1]"), (6, "domain", APP, None, "3")),
        (7, "domain", ROWS, "[1]", "odd"),
    ]


def test_rows_get_ids_in_the_version_that_wrote_the_first_counter() -> None:
    mark = domain(ROWS, '{"rowIdHighWaterMark":1}')
    commits: dict[int, list[Any]] = {
        0: [RULES, meta(), mark],
        1: [],
        2: [mark],
        3: [domain(ROWS, removed=True)],
        4: [mark],
    }
    late = begun_late(commits, 1, [RULES, meta(), mark], gone=1)
    assert told(setting_changes(late.provenance_record())) == [
        *((3, "domain", ROWS, "{}", None), (4, "domain", ROWS, None, "{}")),
    ]
    assert later([RULES, meta()], [mark], [mark]) == [(1, "domain", ROWS, None, "{}")]


def test_clustering_is_told_by_the_names_of_now_and_changes_with_what_was_recorded() -> None:
    assert later(
        [RULES, meta(ID, field("v"))],
        [clustered(["id"])],
        [clustered(["v"], ["id"])],
        [clustered(["gone"])],
        [clustered()],
        [clustered(["v"])],
        [domain(CLUSTERING, removed=True)],
    ) == [
        (1, "clustering", "clustering", None, "id"),
        (2, "clustering", "clustering", "id", "v, id"),
        (3, "clustering", "clustering", "v, id", '{"clusteringColumns": [["gone"]]}'),
        (4, "clustering", "clustering", '{"clusteringColumns": [["gone"]]}', None),
        (5, "clustering", "clustering", None, "v"),
        (6, "clustering", "clustering", "v", None),
    ]


def test_names_of_columns_that_are_not_mapped_mean_nothing_to_the_clustering() -> None:
    unmapped = Metadata(id="t", schema_string=json.dumps(MAPPED_SCHEMA), configuration={})
    assert later([RULES, unmapped], [clustered(["s", "x"])]) == [(1, "clustering", "clustering", None, "s.x")]
    named = Metadata(id="t", schema_string=json.dumps(MAPPED_SCHEMA), configuration=NAME)
    rules = Protocol(min_reader_version=2, min_writer_version=7, writer_features=("columnMapping", "clustering"))
    assert later([rules, named], [clustered(["col-2", "col-3"])]) == [(1, "clustering", "clustering", None, "s.x")]


def renamed(kind: dict[str, Any], **names: str) -> dict[str, Any]:
    """The same schema with other logical names."""
    text = json.dumps(kind)
    for old, new in names.items():
        text = text.replace(f'"name": "{old}"', f'"name": "{new}"')
    found: dict[str, Any] = json.loads(text)
    return found


MAPPED_SCHEMA = mapped(struct(ID, field("s", struct(field("x"), field("y"))), field("p", "date")))


def test_a_column_is_the_same_by_another_name_and_what_is_inside_of_it_was_not_renamed() -> None:
    def now(**names: str) -> Metadata:
        schema = json.dumps(renamed(MAPPED_SCHEMA, **names))
        partition = (names.get("p", "p"),)
        return Metadata(id="t", schema_string=schema, configuration=NAME, partition_columns=partition)

    found = changes([MAPPED, now()], [now(s="t")], [now(s="t", x="u v")], [now(s="t", x="u v", p="day")])
    assert told(found) == [
        (1, "name", "t", "s", "t"),
        (2, "name", "t.`u v`", "t.x", "t.`u v`"),
        (3, "name", "day", "p", "day"),
    ]
    assert [each.column for each in found if not each.initial] == ["`col-2`", "`col-2`.`col-3`", "`col-5`"]
    assert all(each.known for each in found)


def test_a_mapping_that_is_removed_leaves_columns_what_they_were() -> None:
    names = renamed(MAPPED_SCHEMA, s="t")
    first = Metadata(id="t", schema_string=json.dumps(MAPPED_SCHEMA), configuration=NAME)
    second = Metadata(id="t", schema_string=json.dumps(names), configuration=NAME)
    plain = struct(ID, field("t", struct(field("x"), field("y"))), field("p", "date"))
    third = Metadata(id="t", schema_string=json.dumps(plain), configuration={})
    assert later([MAPPED, first], [second], [third]) == [
        (1, "name", "t", "s", "t"),
        (2, "property", "delta.columnMapping.mode", "name", None),
    ]


def test_nobody_is_known_of_what_a_record_begins_with_unless_it_begins_with_the_table() -> None:
    live: list[Any] = [RULES, meta(properties={"a": "1"}), domain(APP, "x"), domain("old", removed=True)]
    commits: dict[int, list[Any]] = {0: live, 1: [], 2: [meta(properties={"a": "2"})], 3: []}
    for gone in (1, 2):
        found = setting_changes(begun_late(commits, 1, live, gone=gone).provenance_record())
        assert told(found) == [(2, "property", "a", "1", "2")]
        first = [each for each in found if each.initial]
        assert {(each.version, each.known) for each in first} == {(1, False)}
        assert [(each.kind, each.after) for each in first if each.kind in ("domain", "property")] == [
            *(("property", "1"), ("domain", "x")),
        ]
    late = changes([small_logs.add("a")], [RULES, meta()])
    assert {(each.version, each.known, each.initial) for each in late} == {(1, False, True)}
    assert changes([small_logs.add("a")]) == ()
    assert changes([RULES]) == ()
    assert [each.name for each in changes([meta()])] == ["id"]


def test_changes_are_put_beside_who_made_them_newest_first() -> None:
    def info(**more: Any) -> CommitInfo:
        return small_logs.commit_info(**{"operation": "SET", "user_name": "ana", "engine_info": "E/1", **more})

    reasons = ['"because of \\"x\\""', "plain", '"open', "", '"7"', "7", None]
    commits = [[info(user_metadata=text), meta(properties={"a": str(place)})] for place, text in enumerate(reasons, 1)]
    found = table([info(), RULES, meta()], *commits, [meta(properties={"b": "1", "a": "7"})])
    history = found.provenance_record()
    rows = settings_table(history, setting_changes(history)).to_pylist()
    assert [row["version"] for row in rows] == [8, 7, 6, 5, 4, 3, 2, 1, *[0] * (len(rows) - 8)]
    words = ['because of "x"', "plain", '"open', None, "7", "7", None]
    assert [row["reason"] for row in rows[1:8]] == words[::-1]
    assert [row["user_name"] for row in rows[:3]] == [None, "ana", "ana"]
    times = {row.version: datetime.fromtimestamp(row.timestamp / 1000, UTC) for row in history.commits}
    assert {key: value for key, value in rows[7].items() if key not in ("timestamp", "reason")} == {
        "version": 1,
        "kind": "property",
        "name": "a",
        "before": None,
        "after": "1",
        "column": None,
        "initial": False,
        "known": True,
        "user_name": "ana",
        "operation": "SET",
        "engine_info": "E/1",
    }
    assert [row["timestamp"] for row in rows] == [times[row["version"]] for row in rows]
    assert [(row["name"], row["initial"]) for row in rows[8:]] == [
        *(("id", True), ("domainMetadata", True), ("clustering", True), ("protocol", True)),
    ]
    unknown = SettingChange(1, "column", "a", "x", None, "col", True, False)
    gone = SettingChange(77, "property", "b", None, "y")
    shown = settings_table(history, [unknown, gone])
    assert [list(row.values()) for row in shown.drop_columns("timestamp").to_pylist()] == [
        [77, "property", "b", None, "y", None, False, True, None, None, None, None],
        [1, "column", "a", "x", None, "col", True, False, None, None, None, None],
    ]
    assert [time is None for time in shown.column("timestamp").to_pylist()] == [True, False]
    texts = ("user_name", "operation", "reason", "engine_info")
    assert shown.schema == pa.schema(
        [
            *(("version", pa.int64()), ("timestamp", pa.timestamp("ms", "UTC"))),
            *((name, pa.string()) for name in ("kind", "name", "before", "after", "column")),
            *(("initial", pa.bool_()), ("known", pa.bool_()), *((name, pa.string()) for name in texts)),
        ]
    )
