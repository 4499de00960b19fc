"""Attacks on the one gate for expressions: every refused function, and random expressions beside Spark's own parser."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from explorer.core.errors import ExpressionRefused
from explorer.core.protocol.sql.functions import ALLOWED, REFUSED
from explorer.core.protocol.sql.remade import RemadeExpression
from explorer.core.protocol.sql.vetting import remade_expression
from explorer.spark.engine.session import Engine
from tests.support.dose import WHOLE_DOSE
from tests.support.random_expressions import random_expression

pytestmark = pytest.mark.spark

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
            remade = remade_expression(text)
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
        assert not set(_functions(after)) - ALLOWED, text
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
            remade = remade_expression(random_expression(random))
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
                    remade_expression(text)
                tried += 1
    assert tried == len(REFUSED) * 20


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


def _spans(remade: RemadeExpression) -> list[tuple[int, int]]:
    """Where each token that cannot be a part of another begins and ends: quotes and words."""
    placed = zip(remade.tokens, remade.starts, strict=True)
    return [(start, start + len(t.text)) for t, start in placed if t.kind in ("string", "raw", "name")]


def _joined(remade: RemadeExpression, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those of Spark's tokens that are quoted."""
    return [(start, end) for start, end in spans if _is_quoted(remade.text[start:end])]


def _is_quoted(token: str) -> bool:
    return token[0] in "'\"`" or (token[:1] in "rR" and token[1:2] in ("'", '"'))
