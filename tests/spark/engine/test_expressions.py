"""The one gate for expressions: what it lets Spark evaluate, wherever the text comes from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

import explorer
from explorer.core.errors import ExpressionRefused, RequestError
from explorer.core.protocol.sql.functions import ALLOWED, CLOCK_FUNCTIONS, REFUSED
from explorer.core.protocol.sql.tokens import normalize_expression, tokens_of
from explorer.spark.engine.expression_classes import EXPRESSION_CLASSES
from explorer.spark.engine.expressions import analysed, expression, expressions
from explorer.spark.engine.session import Engine
from explorer.table import Table
from explorer.variables import WORK_VARIABLE
from tests.support.at_least_one import at_least_one
from tests.support.attacks.expression_attacks import SPELLINGS, forget_runs, was_run
from tests.support.dose import WHOLE_DOSE, some_of
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = pytest.mark.spark

FORMS = {"case", "identifier", "timestampadd", "timestampdiff", "try_cast"}
"""Forms of Spark's grammar that look like calls and are no functions of its registry."""
ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "s": ["a", "b"]})
COLUMNS = [column("id", "long"), column("s", "string")]


@pytest.fixture
def frame(spark_engine: Engine) -> DataFrame:
    return spark_engine.session().createDataFrame([(1, "a")], "id long, s string")


@pytest.fixture
def classic(spark_engine: Engine) -> Engine:
    if spark_engine.connected_remotely:
        pytest.skip("a Connect server's JVM is not at hand")
    return spark_engine


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return explorer.open_table(write_table(tmp_path / "t", COLUMNS, [DataFile("1.parquet", ROWS)]))


@pytest.fixture
def source(tmp_path: Path) -> str:
    pq.write_table(ROWS, tmp_path / "source.parquet")
    return str(tmp_path / "source.parquet")


def test_every_function_of_spark_is_judged_and_no_other(spark_engine: Engine) -> None:
    shown = {row[0] for row in spark_engine.session().sql("SHOW SYSTEM FUNCTIONS").collect()}
    known = {name for name in shown if re.fullmatch(r"\w+", name)} | FORMS
    assert known - ALLOWED - REFUSED.keys() == set(), "functions that nobody judged: judge them in functions.py"
    assert (ALLOWED | REFUSED.keys()) - known == set(), "judged functions that Spark does not have"
    assert ALLOWED & REFUSED.keys() == set()


def test_what_spark_documents_of_a_function_passes_if_it_is_allowed_and_is_made_of_known_classes(
    classic: Engine, frame: DataFrame
) -> None:
    examples = _examples(classic)
    names = [name for name in sorted(ALLOWED) if examples.get(name)]
    texts = [text for name in some_of(names, 50) for text in (examples[name] if WHOLE_DOSE else examples[name][:1])]
    seen = 0
    refused: dict[str, list[str]] = {}
    for text in texts:
        try:
            expression(frame, text)
        except (PySparkException, ExpressionRefused) as error:
            why = error.reason if isinstance(error, ExpressionRefused) else error.getCondition()
            refused.setdefault(str(why), []).append(text)
        else:
            seen += 1
    print(f"{seen} of {len(texts)} examples of {len(names)} functions pass")
    assert refused.keys() <= {"UNSUPPORTED_TIME_TYPE", "too large", "unstable"}, refused
    assert seen > len(texts) * 0.8


def test_no_function_that_is_refused_has_a_class_that_may_be_in_a_plan(classic: Engine) -> None:
    shared = {
        # Computed by classes that are allowed: what refuses these functions is their name.
        *("aes_encrypt", "assert_true", "collations", "range", "sql_keywords", "uniform"),
    }
    wrong = {
        name
        for name, info in _registered(classic).items()
        if name in REFUSED and str(info.getClassName()).rpartition(".")[2] in EXPRESSION_CLASSES
    }
    assert wrong <= shared


def _registered(engine: Engine) -> Mapping[str, Any]:
    session: Any = engine.session()
    of = session._jvm.org.apache.spark.sql.catalyst
    registry = of.analysis.FunctionRegistry.builtin()
    names = sorted(ALLOWED | REFUSED.keys())
    found = {name: registry.lookupFunction(of.FunctionIdentifier(name)) for name in names}
    return {name: info.get() for name, info in found.items() if info.isDefined()}


def _examples(engine: Engine) -> dict[str, list[str]]:
    return {
        name: re.findall(r">\s*SELECT\s+([^;]*?);\s*$", str(info.getExamples()), re.MULTILINE)
        for name, info in _registered(engine).items()
        if name in ALLOWED and name not in CLOCK_FUNCTIONS
    }


def _entries(table: Table, source: str) -> dict[str, Callable[[str], object]]:
    """Every way in for an expression of a person, by name."""

    def plan(kind: str, **fields: object) -> object:
        return table.plan({"kind": kind, **fields})

    def generated(text: str) -> object:
        fields = [column("g", "long", **{"delta.generationExpression": text})]
        return plan("add-columns", fields=fields)

    return {
        "rows": lambda text: table.rows(where=text).collect(),
        "skipping": lambda text: table.snapshot().skipping(text),
        "check": lambda text: _checked(table, text),
        "erasure": table.erasure,
        "delete": lambda text: plan("delete", where=text),
        "update where": lambda text: plan("update", set={"s": "'x'"}, where=text),
        "update set": lambda text: plan("update", set={"s": f"if({text}, 'x', 'y')"}),
        "overwrite where": lambda text: plan("overwrite", source=source, where=text),
        "merge on": lambda text: plan(
            "merge", source=source, on=text.replace("id", "target.id"), matched=[{"delete": True}]
        ),
        "merge when": lambda text: plan(
            "merge", source=source, on="target.id = source.id", matched=[{"when": text, "delete": True}]
        ),
        "merge values": lambda text: plan(
            "merge",
            source=source,
            on="target.id = source.id",
            matched=[{"update": {"s": f"cast(({text}\n) AS STRING)"}}],
        ),
        "purge": lambda text: plan("purge", where=text),
        "optimize": lambda text: plan("optimize", where=text),
        "statistics": lambda text: plan("recompute-statistics", where=text),
        "constraint": lambda text: plan("add-constraint", name="c", expression=text),
        "generated column": generated,
    }


def _checked(table: Table, text: str) -> None:
    (result,) = table.check({"c": text}).predicates
    if result.error is not None:
        raise result.error


def test_no_attack_runs_through_any_way_in(spark_engine: Engine, table: Table, source: str) -> None:
    entries, spellings = _entries(table, source), SPELLINGS
    pairs = [(name, text) for name in entries for text in spellings]
    if not WHOLE_DOSE:
        # Each way in with the first spelling, and with one that changes.
        pairs = [(name, text) for name, other in zip(entries, cycle(spellings[1:])) for text in (spellings[0], other)]
    forget_runs(spark_engine.session())
    for name, text in at_least_one(pairs):
        with pytest.raises(RequestError) as refused:
            entries[name](text)
        assert not was_run(spark_engine.session()), (name, text)
        assert "Exception" not in str(refused.value), (name, text)
    print(f"{len(pairs)} attacks are refused")


KEPT: dict[str, Callable[[str], dict[str, Any]]] = {
    "constraint": lambda text: {"configuration": {"delta.constraints.c": text}},
    "invariant": lambda text: {
        "fields": [
            column("id", "long", **{"delta.invariants": json.dumps({"expression": {"expression": text}})}),
            COLUMNS[1],
        ]
    },
    "generated column": lambda text: {
        "fields": [*COLUMNS, column("g", "boolean", **{"delta.generationExpression": text})]
    },
    "default": lambda text: {"fields": [*COLUMNS, column("g", "boolean", CURRENT_DEFAULT=text)]},
}
"""What a hostile table says of its own rows, by where."""


@pytest.mark.parametrize("where", KEPT)
def test_no_attack_in_a_tables_own_metadata_runs_when_rows_are_written(
    spark_engine: Engine, tmp_path: Path, source: str, where: str
) -> None:
    forget_runs(spark_engine.session())
    for number, text in enumerate(at_least_one(SPELLINGS if WHOLE_DOSE else SPELLINGS[:2])):
        asked = {"fields": COLUMNS, "configuration": {}, **KEPT[where](text)}
        root = write_table(
            tmp_path / str(number),
            asked["fields"],
            [DataFile("1.parquet", ROWS)],
            configuration=asked["configuration"],
            writer_features=("checkConstraints", "invariants", "generatedColumns", "allowColumnDefaults"),
        )
        hostile = explorer.open_table(root)
        intents: list[dict[str, object]] = [{"kind": "append", "source": source}]
        if where != "default":
            intents.append({"kind": "update", "set": {"s": "'x'"}})
            intents.append(
                {
                    "kind": "merge",
                    "source": source,
                    "on": "target.id = source.id",
                    "matched": [{"update": {"s": "'x'"}}],
                }
            )
        for intent in at_least_one(intents):
            with pytest.raises(RequestError):
                hostile.plan(intent)
            assert not was_run(spark_engine.session()), (where, text)


def test_a_source_cannot_bring_expressions_as_the_defaults_of_its_columns(
    spark_engine: Engine, table: Table, tmp_path: Path
) -> None:
    del spark_engine
    fields = [column("id", "long"), column("s", "string", EXISTS_DEFAULT="upper('x')", CURRENT_DEFAULT="upper('x')")]
    marked = {"org.apache.spark.sql.parquet.row.metadata": json.dumps({"type": "struct", "fields": fields})}
    pq.write_table(ROWS.select(["id"]).replace_schema_metadata(marked), tmp_path / "hostile.parquet")
    table.commit(table.plan({"kind": "append", "source": str(tmp_path / "hostile.parquet")}))
    assert sorted(str(row.s) for row in table.rows().collect()) == ["None", "None", "a", "b"]


def test_a_session_that_puts_variables_into_texts_is_switched_off_at_each_use(
    frame: DataFrame, spark_engine: Engine
) -> None:
    session = spark_engine.session()
    assert session.conf.get("spark.sql.variable.substitute") == "false"
    session.conf.set("spark.sql.variable.substitute", "true")
    assert frame.where(expression(frame, "id > 0")).count() == 1
    assert session.conf.get("spark.sql.variable.substitute") == "false"
    assert spark_engine.case_sensitive_session().conf.get("spark.sql.variable.substitute") == "false"


@pytest.mark.sampled(cases=1)
@pytest.mark.filterwarnings("ignore:The SQL config 'spark.sql.parser.escapedStringLiterals' has been deprecated")
@pytest.mark.parametrize(
    ("setting", "text", "same"),
    [
        ("spark.sql.ansi.doubleQuotedIdentifiers", 's = "a"', "s = 'a'"),
        ("spark.sql.parser.escapedStringLiterals", r"s = 'a\n'", "s = 'a'"),
        ("spark.sql.legacy.consecutiveStringLiterals.enabled", "s = 'it''s'", "s = 'a'"),
        ("spark.sql.parser.quotedRegexColumnNames", "`s` = 'a'", "s = 'a'"),
    ],
)
def test_a_text_that_a_setting_gives_another_meaning_is_refused(
    frame: DataFrame, spark_engine: Engine, setting: str, text: str, same: str
) -> None:
    session = spark_engine.session()
    assert expressions(frame, [text])
    session.conf.set(setting, "true")
    try:
        with pytest.raises(ExpressionRefused, match=re.escape(f"its setting {setting} is true")) as refused:
            expressions(frame, [text])
        assert (refused.value.reason, refused.value.found) == ("session", setting)
        assert frame.where(expression(frame, same)).count() == 1
    finally:
        session.conf.unset(setting)


@pytest.mark.whole("tests/spark/scan/predicate/test_condition_words.py")
def test_a_session_that_reserves_words_evaluates_functions(frame: DataFrame, spark_engine: Engine) -> None:
    session = spark_engine.session()
    names = ("spark.sql.ansi.enabled", "spark.sql.ansi.enforceReservedKeywords")
    try:
        for name in names:
            session.conf.set(name, "true")
        assert frame.where(expression(frame, "upper(s) = 'A'")).count() == 1
    finally:
        for name in names:
            session.conf.unset(name)


@pytest.mark.parametrize(
    "text",
    ["reflect('java.lang.System', 'getenv', 'X') = 'y'", "id IN (SELECT 1)", "uuid() = s", "input_file_name() = s"],
)
def test_the_analysed_plan_is_refused_by_its_classes_whatever_the_text_passed(
    classic: Engine, frame: DataFrame, text: str
) -> None:
    del classic
    # As if the first check had not seen it.
    with pytest.raises(ExpressionRefused) as refused:
        analysed(frame, [normalize_expression(text, tokens_of(text))])
    assert refused.value.reason == "plan"
    assert "which is not part of a plain expression over one row" in str(refused.value)


def test_work_past_its_time_is_stopped_with_the_limit_and_spark_goes_on(
    spark_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pa.table({"id": pa.array(range(3_000), pa.int64())})
    slow = explorer.open_table(write_table(tmp_path / "t", COLUMNS[:1], [DataFile("1.parquet", rows)]))
    monkeypatch.setenv(WORK_VARIABLE, "0.7")
    with pytest.raises(ExpressionRefused) as refused:
        _checked(slow, "aggregate(sequence(1, 90000), id, (acc, y) -> acc + y % (id + 1)) > 0")
    assert refused.value.reason == "deadline", str(refused.value)
    assert "was stopped after 0.7 seconds" in str(refused.value)
    assert f"set the variable {WORK_VARIABLE} to a higher number of seconds" in str(refused.value)
    monkeypatch.setenv(WORK_VARIABLE, "600")
    assert spark_engine.session().range(3).count() == 3
    _checked(slow, "id >= 0")


def test_a_limit_that_is_no_number_is_told(spark_engine: Engine, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    del spark_engine
    monkeypatch.setenv(WORK_VARIABLE, "soon")
    with pytest.raises(
        RequestError, match=f"The variable {WORK_VARIABLE} is 'soon', and it must be a number of seconds"
    ):
        table.plan({"kind": "delete", "where": "id = 1"})


def test_the_place_of_a_fault_is_that_in_the_text_as_it_was_written(spark_engine: Engine, table: Table) -> None:
    del spark_engine
    for text, position in [
        ("/* a\n */ id > 1 -- b\nAND /**/ nope = 2", 31),
        ("id /* x */ = = 1", 14),
        ("id = /* x */", 12),
    ]:
        with pytest.raises(ExpressionRefused) as refused:
            table.rows(where=text)
        assert refused.value.position == position, str(refused.value)
