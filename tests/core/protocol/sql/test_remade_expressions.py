"""What Spark's parser gets in place of a text: the same tokens without comments, and never a variable."""

from __future__ import annotations

import pytest

from explorer.core.errors import ExpressionRefused, InvalidIntent
from explorer.core.protocol.sql.stored_expressions import check_stored_expression
from explorer.core.protocol.sql.vetting import check_text, remade_expression


@pytest.mark.parametrize(
    ("text", "remade"),
    [
        ("a>1", "a>1"),
        ("  a   >\n\t1  ", "a > 1"),
        ("a /* x */ > -- y\n 1 -- z", "a > 1"),
        ("a/**/>/**/1", "a > 1"),
        ("a--b\r>1", "a >1"),
        ("a -- b\\\nc\n> 1", "a > 1"),
        ("- -1 - - 1", "- -1 - - 1"),
        ("a--", "a"),
        ("r'a' || R\"b\" || x'1f' || 'c' 'd'", "r'a' || R\"b\" || x'1f' || 'c' 'd'"),
        ("'--' = '/* */' AND `/*` = \"--\"", "'--' = '/* */' AND `/*` = \"--\""),
        ("'a\n  b' = s", "'a\n  b' = s"),
        ("exists(a, y->y>>1>1L) AND v:a.b::int = 1.e3", "exists(a, y->y>>1>1L) AND v:a.b::int = 1.e3"),
        ("1./* c */id", "1. id"),
    ],
)
def test_an_expression_keeps_its_tokens_and_loses_its_comments(text: str, remade: str) -> None:
    found = remade_expression(text)
    assert found.text == remade
    assert remade_expression(found.text).text == remade


def test_each_place_in_what_is_made_anew_has_one_in_the_text() -> None:
    text = "a /* why */ =\n   'b' -- c"
    found = remade_expression(text)
    assert found.text == "a = 'b'"
    assert [found.original_place(place) for place in range(len(found.text))] == [0, 0, 12, 12, 17, 18, 19]
    assert found.original_place(99) == len(text)


@pytest.mark.parametrize(
    "text",
    [
        "1=1 -- ${system:line.separator} AND reflect('java.lang.System','getenv','X') = 'y'",
        "s = '${env:HOME}'",
        's = "${spark.app.name}"',
        "`${env:HOME}` = 1",
        "a = 1 /* ${env:HOME} */",
        "s = r'${x}'",
        "s = '$ {x}'",
        "s = '$\u200b{x}'",
        r"s = '$\{x}'",
        r"s = '\u0024{x}'",
        r"s = '$\u007bx}'",
        r"s = '\044\173x}'",
        r"s = '\U00000024\U0000007bx}'",
        "a = ${x}",
    ],
)
def test_what_spark_takes_for_a_variable_is_refused_wherever_it_is(text: str) -> None:
    with pytest.raises(ExpressionRefused) as refused:
        check_text(text)
    assert refused.value.reason == "variable"
    assert "contains '$' followed by '{' at position" in str(refused.value)
    assert str(refused.value).endswith("For these two characters write concat('$', '{').")
    with pytest.raises(InvalidIntent, match=r"The expression .* followed by"):
        check_stored_expression(text, "expression")


@pytest.mark.parametrize("text", ["s = concat('$', '{')", "s = '$.a' AND t = '{$}'", "s RLIKE '^a$' AND b = '{'"])
def test_a_dollar_alone_passes(text: str) -> None:
    assert remade_expression(text).text == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(\u017felect 1)", "syntax"),
        ("(w\u0131th q) = 1", "syntax"),
        ("a\u00a0= 1", "syntax"),
        ("a\u2028= 1", "syntax"),
        ("a\x85= 1", "syntax"),
        ("a = 1\ufeff", "syntax"),
        ("a\u200b = 1", "syntax"),
        ("a = '\ud800'", "syntax"),
        ("a /*+ BROADCAST(b) */ = 1", "syntax"),
        ("a */**/ 1 = 1", "syntax"),
        ("s3://a--b = 1", "syntax"),
        ("a |> where b", "syntax"),
        ("$$ ' $$ = reflect('a')", "syntax"),
        ("a = ?", "parameter"),
        ("a = :x", "parameter"),
        ("1 + * = 2", "star"),
        ("a AND * = 2", "star"),
        ("/* a */ -- b", "empty"),
        ('from_json(s, \'{"type": "struct", "fields": []}\') IS NULL', "schema"),
        ("from_csv(s, concat('a', ' INT')) IS NULL", "schema"),
        ("from_json(s, 'a INT' ' DEFAULT 1') IS NULL", "schema"),
        ("from_json(s, schema_of_json('{}') || '{}') IS NULL", "schema"),
        ("from_json(schema => '{}', jsonStr => s) IS NULL", "schema"),
        ("from_json(s, schema => '{}') IS NULL", "schema"),
        ("variant_get(v, '$', '{}') IS NULL", "schema"),
        ("from_xml(s, 'a INT') IS NULL", "xml"),
        ("xpath_string(s, 'a') = 'x'", "xml"),
        ("schema_of_xml('<a/>') = 'x'", "xml"),
        ("hll_sketch_estimate(b) = 1", "sketch"),
        ("identifier('a') = 1", "reach"),
        ("`IDENTIFIER`('a') = 1", "reach"),
        ("a_function_of_a_later_spark(a) = 1", "unknown function"),
    ],
)
def test_what_spark_could_read_otherwise_or_nobody_judged_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ExpressionRefused) as refused:
        check_text(text)
    assert (refused.value.reason, refused.value.expression) == (reason, text)
    assert str(refused.value).endswith((".", "?"))


@pytest.mark.parametrize(
    "text",
    [
        "from_json(s, 'a INT, b ARRAY<STRUCT<c: DECIMAL(10, 2)>>').a = 1",
        "from_json(s, schema_of_json('{\"a\": 1}'), map('mode', 'FAILFAST')).a = 1",
        "from_csv(s, 'a INT', map('sep', ';')).a = 1 AND try_variant_get(v, '$.a', 'int') > 1",
        "s LIKE ANY ('a%', 'b%') AND s NOT ILIKE ALL ('c%') AND s like some ('d')",
        "`caf\u00e9` = 1 OR caf\u00e9 = 2",
        "system.builtin.abs(a) = 1 AND v:a[0].b::string = 'x' AND a * 2 = `b` * c",
    ],
)
def test_what_people_write_passes(text: str) -> None:
    assert remade_expression(text).text == text


def test_a_function_that_is_misspelled_is_answered_with_those_that_are_meant() -> None:
    with pytest.raises(ExpressionRefused) as refused:
        check_text("lenght(a) > 1")
    assert refused.value.nearest == ["length"]
    assert str(refused.value).endswith("an expression can call. Did you mean length?")
