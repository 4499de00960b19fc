"""Attacks on the one gate for expressions: every refused function, and random expressions beside Spark's own parser."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from explorer.core.errors import ExpressionRefused
from explorer.core.protocol.sql.functions import ALLOWED, REFUSED, SYNTAX_WORDS
from explorer.core.protocol.sql.tokens import NormalizedExpression
from explorer.core.protocol.sql.vetting import normalized_expression
from explorer.spark.engine.session import Engine
from tests.support.attacks.random_expressions import random_expression
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.timeout(7200)]

TRIED = 60_000 if WHOLE_DOSE else 250
_NUMBER = re.compile(r"#\d+L?")
SEED = 20_260_731


@pytest.fixture
def parser(spark_engine: Engine) -> Any:
    """Spark's own parser of expressions, with variables switched off."""
    if spark_engine.connected_remotely:
        pytest.skip("the parser of a Connect server is not at hand")
    session: Any = spark_engine.session()
    assert session.conf.get("spark.sql.variable.substitute") == "false"
    return session._jsparkSession.sessionState().sqlParser()


def test_what_the_gate_lets_through_parses_to_the_same_tree_without_anything_refused(parser: Any) -> None:
    random, seen = Random(SEED), Counter[str]()
    for _ in range(TRIED):
        text = random_expression(random)
        try:
            remade = normalized_expression(text)
        except ExpressionRefused as refused:
            seen[f"refused: {refused.reason}"] += 1
            continue
        before, after = _parsed(parser, f"({text}\n)"), _parsed(parser, f"({remade.text})")
        if before is None or after is None:
            assert before is None, f"{text!r} parses, and {remade.text!r} does not"
            assert after is None, f"{remade.text!r} parses, and {text!r} does not"
            seen["in no parser"] += 1
            continue
        assert _same(before, after), f"{text!r} and {remade.text!r} are not the same"
        # Spark has no functions of the names of types, and those of a session are refused by their names.
        assert not set(_functions(after)) - ALLOWED - SYNTAX_WORDS, text
        seen["the same"] += 1
    print(f"{TRIED} expressions, seed {SEED}: {dict(seen.most_common())}")
    assert seen["the same"] > TRIED / 10
    assert seen["refused: variable"]


def test_every_token_of_what_passes_is_a_token_of_spark(spark_engine: Engine, parser: Any) -> None:
    del parser
    session: Any = spark_engine.session()
    jvm = session._jvm
    random, compared = Random(SEED + 1), 0
    for _ in range(TRIED // 10):
        try:
            remade = normalized_expression(random_expression(random))
        except ExpressionRefused:
            continue
        assert _spans(remade) == _joined(remade, _spark_tokens(jvm, remade.text)), remade.text
        compared += 1
    print(f"{compared} expressions have the tokens that Spark's lexer finds")
    assert compared > TRIED / 40


def test_no_function_that_is_refused_passes_however_it_is_written() -> None:
    tried = 0
    for name in sorted(REFUSED):
        for called in (name, name.upper(), f"`{name}`", f"system.builtin.{name}", f"builtin . `{name}`"):
            for text in (
                f"{called}(s) = 'x'",
                f"{called} /* a */ (s)",
                f"abs({called} -- b\n ('x'))",
                f"a -> {called}(a)",
            ):
                with pytest.raises(ExpressionRefused):
                    normalized_expression(text)
                tried += 1
    assert tried == len(REFUSED) * 20


@pytest.mark.skipif(not WHOLE_DOSE, reason="part of the whole dose: make prove; 3 tests of this file run always")
def test_a_jvm_that_never_ends_to_plan_is_ended_and_starts_again(tmp_path: Path) -> None:
    root = write_table(
        tmp_path / "t", [column("id", "long")], [DataFile("1.parquet", pa.table({"id": pa.array([1], pa.int64())}))]
    )
    endless = f"'{'a' * 60}!' RLIKE '^((a|aa)+c?)+[A-Z]$'"
    program = f"""
import time
import explorer
from explorer.core.errors import ExpressionRefused
from explorer.spark.engine.session import engine
table = explorer.open_table({str(root)!r})
began = time.monotonic()
try:
    table.check({{"c": {endless!r}}}).predicates[0]
except ExpressionRefused as error:
    print(error.reason, engine().state)
print(table.rows().count(), engine().state, time.monotonic() - began < 300)
engine().stop()
"""
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "DELTA_EXPLORER_EXPRESSION_SECONDS": "15"},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert answer.stdout.splitlines() == ["deadline off", "1 ready True"], answer.stderr[-2000:]


def _parsed(parser: Any, text: str) -> Any:
    from pyspark.errors import PySparkException

    try:
        return parser.parseExpression(text)
    except PySparkException:
        return None


def _same(one: Any, other: Any) -> bool:
    """Whether two trees are the same but for the numbers that Spark gives to new names."""
    return bool(one.equals(other)) or len({_NUMBER.sub("#", tree.treeString()) for tree in (one, other)}) == 1


def _functions(tree: Any) -> Iterator[str]:
    """The names of the functions that are called in a tree that is not resolved, and words for queries."""
    for node in json.loads(tree.toJSON()):
        name = str(node["class"]).rpartition(".")[2]
        if name == "UnresolvedFunction":
            yield str(node["nameParts"]).strip("[]").rpartition(".")[2].rpartition(",")[2].strip(" `").lower()
        elif any(word in name for word in ("Subquery", "ListQuery", "UnresolvedStar", "Identifier", "Window")):
            yield name


def _spark_tokens(jvm: Any, text: str) -> list[tuple[int, int]]:
    """Where each token of Spark's lexer begins and ends, without blanks."""
    source = jvm.org.antlr.v4.runtime.CharStreams.fromString(text)
    of = jvm.org.apache.spark.sql.catalyst.parser
    lexer = of.SqlBaseLexer(of.UpperCaseCharStream(source))
    lexer.removeErrorListeners()
    return [(t.getStartIndex(), t.getStopIndex() + 1) for t in lexer.getAllTokens() if not t.getChannel()]


def _spans(remade: NormalizedExpression) -> list[tuple[int, int]]:
    """Where each token that cannot be a part of another begins and ends: quotes and words."""
    placed = zip(remade.tokens, remade.starts, strict=True)
    return [(start, start + len(t.text)) for t, start in placed if t.kind in ("string", "raw", "name")]


def _joined(remade: NormalizedExpression, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those of Spark's tokens that are quoted."""
    return [(start, end) for start, end in spans if _is_quoted(remade.text[start:end])]


def _is_quoted(token: str) -> bool:
    return token[0] in "'\"`" or (token[:1] in "rR" and token[1:2] in ("'", '"'))
