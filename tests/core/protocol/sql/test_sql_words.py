"""Words and constants of SQL, each with its place, and each reason for which a table may not keep an expression."""

from __future__ import annotations

import json

import pytest

from explorer.core.errors import ExpressionRefused, InvalidIntent, RequestError
from explorer.core.protocol.schema.data_types import parse_schema
from explorer.core.protocol.sql.functions import why_refused
from explorer.core.protocol.sql.stored_expressions import (
    check_stored_expression,
    expression_columns,
    expression_text,
    mentions,
    unknown_columns,
)
from explorer.core.protocol.sql.tokens import Token, literal_of, tokens_of
from explorer.core.protocol.sql.vetting import called_functions, check_clock, check_text, quoted_text
from tests.support.logs.small_schemas import array, field, mapping, struct


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        (" \t\n", []),
        ("a<=>b", [("word", "a", 0), ("operator", "<=>", 1), ("word", "b", 4)]),
        (
            "a<=b!=c",
            [("word", "a", 0), ("operator", "<=", 1), ("word", "b", 3), ("operator", "!=", 4), ("word", "c", 6)],
        ),
        ("< >==", [("operator", "<", 0), ("operator", ">=", 2), ("operator", "=", 4)]),
        ("= == <>", [("operator", "=", 0), ("operator", "==", 2), ("operator", "<>", 5)]),
        ("'a''b' \"c\\\"d\"", [("string", "'a''b'", 0), ("string", '"c\\"d"', 7)]),
        ("r'a\\' R\"b\"", [("raw", "r'a\\'", 0), ("raw", 'R"b"', 6)]),
        ("`a``b`.c", [("name", "`a``b`", 0), ("mark", ".", 6), ("word", "c", 7)]),
        ("1.5 .5e-3 7. 1L", [("number", "1.5", 0), ("number", ".5e-3", 4), ("number", "7.", 10), ("word", "1L", 13)]),
        ("a -- b\nc", [("word", "a", 0), ("word", "c", 7)]),
        ("a -- b\\\nc\rd", [("word", "a", 0), ("word", "d", 10)]),
        ("a/* b\n */-c", [("word", "a", 0), ("mark", "-", 9), ("word", "c", 10)]),
        ("é+1", [("word", "é", 0), ("mark", "+", 1), ("number", "1", 2)]),
    ],
)
def test_a_text_is_split_into_words_with_their_places(text: str, found: list[tuple[str, str, int]]) -> None:
    assert tokens_of(text) == [*(Token(*each) for each in found), Token("end", "", len(text))]


@pytest.mark.parametrize(
    ("text", "position", "what"),
    [
        ("a = 'b", 5, "the quote ' is not closed"),
        ('"', 1, 'the quote " is not closed'),
        ("a `b", 3, "the quote ` is not closed"),
        ("a /* b", 3, "the comment is not closed or contains another one"),
        ("/* a /* b */ */", 1, "the comment is not closed or contains another one"),
    ],
)
def test_what_is_not_closed_is_told_with_its_place(text: str, position: int, what: str) -> None:
    said = f"The condition cannot be read at character {position}: {what}."
    with pytest.raises(RequestError) as plain:
        tokens_of(text)
    assert (str(plain.value), plain.value.position, plain.value.reason) == (said, position, "syntax")
    with pytest.raises(ExpressionRefused) as vetted:
        check_text(text)
    assert (str(vetted.value), vetted.value.position, vetted.value.reason) == (said, position, "syntax")
    assert vetted.value.expression == text
    with pytest.raises(InvalidIntent) as kept:
        check_stored_expression(text, "expression")
    assert (kept.value.field, kept.value.found) == ("expression", text)
    assert str(kept.value) == said.replace("The condition", f"The expression {text!r}")


def test_a_hundred_thousand_characters_are_read_and_no_more() -> None:
    assert tokens_of(" " * 100_000) == [Token("end", "", 100_000)]
    said = "The condition has 100001 characters; at most 100000 are read."
    text = "a" * 100_001
    with pytest.raises(RequestError) as plain:
        tokens_of(text)
    assert (str(plain.value), plain.value.position, plain.value.reason) == (said, None, None)
    with pytest.raises(ExpressionRefused) as vetted:
        check_text(text)
    assert (str(vetted.value), vetted.value.position, vetted.value.reason) == (said, None, "too long")


def test_a_word_knows_its_end_its_name_and_what_it_means() -> None:
    quoted, word = Token("name", "`a``b`", 3), Token("word", "Null", 2)
    assert (quoted.end, quoted.value) == (9, "a`b")
    assert (word.end, word.value) == (6, "Null")
    assert Token("string", "'a'", 0).value == "'a'"
    assert [word.is_word("NULL"), word.is_word("NOT"), Token("name", "NULL", 0).is_word("NULL")] == [True, False, False]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1", ("integer", "1", 1)),
        ("+1", ("integer", "1", 2)),
        ("- 12", ("integer", "-12", 2)),
        ("-1.5", ("decimal", "-1.5", 2)),
        ("1.", ("decimal", "1.", 1)),
        ("1e3", ("double", "1e3", 1)),
        ("-.5E-3", ("double", "-.5E-3", 2)),
        ("'a'", ("string", "a", 1)),
        ('"a"', ("string", "a", 1)),
        ("''", ("string", "", 1)),
        ("'a\"\"b'", ("string", 'a""b', 1)),
        ("null", ("null", "null", 1)),
        ("True", ("boolean", "true", 1)),
        ("FALSE", ("boolean", "false", 1)),
        ("date '2026-01-01'", ("date", "2026-01-01", 2)),
        ("Timestamp 'x'", ("timestamp", "x", 2)),
        ('TIMESTAMP_NTZ"x"', ("timestamp_ntz", "x", 2)),
        *((text, None) for text in ("", "a", "`null`", "'a''b'", '"a""b"', "'a\\n'", "r'a'", "-a", "- -1", "*1", "+")),
        *((text, None) for text in ("date", "date a", "date 'a''b'", "date r'a'", "timestamp_ltz 'x'", "interval '1'")),
    ],
)
def test_a_constant_is_told_with_its_kind_and_what_comes_after(text: str, found: tuple[str, str, int] | None) -> None:
    assert literal_of(tokens_of(text), 0) == found
    later = None if found is None else (found[0], found[1], found[2] + 2)
    assert literal_of(tokens_of(f"a = {text}"), 2) == later


REACH = "it reads more than the row: other data, other machines, or where the row is stored"
UNKNOWN = "it is not one of the functions of Spark that an expression can call"
ROW = "subqueries are refused, a condition sees one row only. If {0} is a column, write `{0}`."


@pytest.mark.parametrize(
    ("name", "word", "why"),
    [
        ("Reflect", "code", "it can run any code on every machine that evaluates it"),
        ("java_method", "code", "it can run any code on every machine that evaluates it"),
        ("INPUT_FILE_NAME", "reach", REACH),
        ("From_Avro", "reach", REACH),
        ("xpath", "xml", "a document type in XML can name files and addresses, which Spark then opens"),
        ("ai_query", "unknown function", UNKNOWN),
        ("READ_kafka", "unknown function", UNKNOWN),
        ("uuid", "unstable", "its result differs from one reading to the next, so no row can be checked against it"),
        ("Raise_Error", "fails", "it does nothing but fail"),
    ],
)
def test_a_function_that_may_not_be_called_says_why(name: str, word: str, why: str) -> None:
    assert why_refused(name) == (word, why)
    with pytest.raises(InvalidIntent) as refused:
        check_stored_expression(f"a > {name} (b)", "condition")
    assert str(refused.value) == (
        f"The expression 'a > {name} (b)' calls {name.lower()} at position 5: it is refused because {why}. Use plain "
        "functions."
    )
    assert (refused.value.field, refused.value.found) == ("condition", name.lower())
    assert check_stored_expression(f"a > {name}", "condition") == ()


@pytest.mark.parametrize("name", ["abs", "Coalesce", "try_cast", "now", "decimal", "IN"])
def test_any_other_function_may_be_called(name: str) -> None:
    assert why_refused(name) is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a)", "closes a parenthesis that was never opened at position 2."),
        ("(a)) > (1", "closes a parenthesis that was never opened at position 4."),
        ("a; b", "contains ';' at position 2: give one plain expression only."),
        ("a \x07", "contains the character '\\x07' at position 3: write it without."),
        ("((a)", "leaves a parenthesis open at position 5."),
        ("a = (Select 1)", f"contains Select at position 6: {ROW.format('Select')}"),
        ("select", f"contains select at position 1: {ROW.format('select')}"),
        ("a = (with b)", f"contains with at position 6: {ROW.format('with')}"),
        ("a = (TABLE b)", f"contains TABLE at position 6: {ROW.format('TABLE')}"),
        ("(values 1)", f"contains values at position 2: {ROW.format('values')}"),
    ],
)
def test_an_expression_that_no_table_may_keep_is_told_with_the_reason(text: str, what: str) -> None:
    with pytest.raises(InvalidIntent) as refused:
        check_stored_expression(text, "condition")
    assert str(refused.value) == f"The expression {text!r} {what}"
    assert refused.value.field == "condition"


def test_an_expression_without_words_and_one_of_many_rows_are_refused() -> None:
    for text in ("", " -- a"):
        with pytest.raises(InvalidIntent) as empty:
            check_stored_expression(text, "condition")
        assert empty.value.field == "condition"
        assert str(empty.value) == "The expression is empty: give a condition such as amount > 0."
    with pytest.raises(InvalidIntent) as many:
        check_stored_expression("abs(a) > `SUM`(a)", "condition")
    assert (many.value.field, many.value.found) == ("condition", "sum")
    assert str(many.value) == (
        "The expression 'abs(a) > `SUM`(a)' calls sum at position 10: it is refused because it is an aggregate over "
        "many rows, and an expression sees one row at a time. Use plain functions."
    )


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("a > 0", ()),
        ("a.`select` = (`table`) AND ((a) = ';') AND `with` = values", ()),
        ("sum > min AND ('x') = b", ()),
        ("a < NOW() AND b = User", ("now", "user")),
        ("`now` = 1", ()),
        ("`now`() = 1", ("now",)),
        ("abs(a) < Unix_Timestamp()", ("unix_timestamp",)),
        ("unix_timestamp() < current_date", ("current_date", "unix_timestamp")),
        ("unix_timestamp(a) > (unix_timestamp) AND pi() > 1", ()),
    ],
)
def test_an_expression_that_a_table_may_keep_says_what_it_asks_of_the_clock(text: str, asked: tuple[str, ...]) -> None:
    assert check_stored_expression(text, "condition") == asked


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("b > a AND B > a.c AND b > 1", [("b",), ("a",), ("B",), ("a", "c")]),
        ("`a b` . `c``d` = 1", [("a b", "c`d")]),
        ("a.b(c) > d", [("c",), ("d",)]),
        ("`f`(a)", [("a",)]),
        ("date = DATE '2026-01-01' AND day 'x' AND s.date 'x' AND c 'x'", [("date",), ("s", "date"), ("c",)]),
        ("AND or Not NULL true False select FROM", [("select",), ("FROM",)]),
        ("a.null = s.from", [("a", "null"), ("s", "from")]),
        ("`null` = current_date", [("null",), ("current_date",)]),
        ("1a > _b AND c1 > 1", [("1a",), ("_b",), ("c1",)]),
        ("a.", [("a",)]),
        ("a.1 = 'b'.c", [("a",), ("c",)]),
        ("f(l, x -> x.a > x + y)", [("l",), ("y",)]),
        ("f(l, (x, `y z`) -> `y z` > x + z)", [("l",), ("z",)]),
        ("f(l, () -> x)", [("l",), ("x",)]),
        ("x - > y", [("x",), ("y",)]),
        ("-> y", [("y",)]),
        ("x) -> x", []),
        ("f(l, (x, y) -> `,`)", [("l",), (",",)]),
        ("`from` < `to`", [("from",), ("to",)]),
        ("from < to", [("from",), ("to",)]),
        ("`select` > 0 AND `null` > 1 OR NOT `true`", [("select",), ("null",), ("true",)]),
        ("null = true or not false", []),
        ("`and`.x > 0", [("and", "x")]),
        ("`from`(a)", [("a",)]),
        ("2020_sales > 2020", [("2020_sales",)]),
        ("1e5 < a AND 5L < b AND 1.5d < c AND 3BD < d AND 12 < e", [("a",), ("b",), ("c",), ("d",), ("e",)]),
        ("7days > 0 AND s.2x > 1", [("7days",), ("s", "2x")]),
        ("x > 0 AND forall(tags, x -> x <> '')", [("x",), ("tags",)]),
        ("forall(tags, X -> x <> '') AND y > 0", [("tags",), ("y",)]),
        ("forall(tags, x -> x <> y) AND x.y > 0", [("tags",), ("y",), ("x", "y")]),
        ("aggregate(tags, 0, (acc, t) -> acc + t + n, acc -> acc) > acc", [("tags",), ("n",), ("acc",)]),
        ("forall(a, x -> exists(b, y -> x.c > y)) AND y", [("a",), ("b",), ("y",)]),
        ("map_filter(m, (k, v) -> k > v)[k] > v", [("m",), ("k",), ("v",)]),
        ("a - > b", [("a",), ("b",)]),
        ("", []),
    ],
)
def test_names_that_may_be_columns_are_told_once_in_their_order(text: str, columns: list[tuple[str, ...]]) -> None:
    assert expression_columns(text) == tuple(columns)


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("L.X > 0", ("l", "Element", "x"), True),
        ("l.ELEMENT.x > 0", ("l", "x"), True),
        ("m.key > 0", ("m", "value"), True),
        ("m.a > 0", ("m", "VALUE", "b"), False),
        ("key > 0", ("value",), False),
        ("key.a > 0", ("KEY", "a"), True),
        ("element.a > 0", ("a",), False),
        ("1 = 1", ("a",), False),
        ("a = 'b", ("c",), True),
    ],
)
def test_the_steps_into_arrays_and_maps_need_not_be_written(text: str, path: tuple[str, ...], expected: bool) -> None:
    assert mentions(text, path) is expected


TABLE = parse_schema(
    json.dumps(
        struct(
            *(field("Id", "long"), field("s", struct(field("A", struct(field("b")))))),
            *(field("l", array("long")), field("m", mapping("string", "long")), field("Day", "date")),
        )
    )
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ID = S.a.B AND l.x.y = m.z", ()),
        ("year > 1 AND `Month` = 2 AND x = year.x", ("x", "year")),
        ("s.a.c > 1 AND s.`A`.b.d = 1", ("s.a.c", "s.A.b.d")),
        ("day.x = id.y", ("day.x", "id.y")),
        ("gone.a > 1 AND gone.b = 2", ("gone",)),
        ("s.b = 1", ("s.b",)),
    ],
)
def test_names_that_are_neither_columns_nor_words_are_told_as_written(text: str, names: tuple[str, ...]) -> None:
    assert unknown_columns(text, TABLE) == names


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("", ""),
        ("a", "a"),
        ("a<<1", "a << 1"),
        ("a::int", "a :: int"),
        ("a : : int", "a : : int"),
        ("f(a=>1)", "f ( a => 1 )"),
        ("1.5BD>.5", "1.5BD > .5"),
        ("1 2", "1 2"),
        ("`1``2`", "`1``2`"),
        ("1`a`", "1 `a`"),
        ("a|| b", "a || b"),
        ("a| |b", "a | | b"),
    ],
)
def test_what_belongs_together_is_written_together(text: str, written: str) -> None:
    assert expression_text(text) == written


def test_a_text_is_shown_whole_up_to_three_hundred_characters() -> None:
    assert quoted_text("a" * 300) == f"'{'a' * 300}'"
    assert quoted_text("a" * 301) == f"'{'a' * 300}...'"


@pytest.mark.parametrize(
    ("text", "position", "shown"),
    [
        ("now()", 1, "now"),
        ("a = user", 5, "user"),
        ("user > 1", 1, "user"),
        ("a.`Now`(b)", 3, "`Now`"),
        ("unix_timestamp( )", 1, "unix_timestamp"),
        ("a > timestamp_ltz 'TOMORROW UTC'", 5, "timestamp_ltz"),
        ("a > timestamp_ntz ' yesterday'", 5, "timestamp_ntz"),
        ('a > Date "today"', 5, "Date"),
    ],
)
def test_what_asks_for_the_time_is_told_with_its_place(text: str, position: int, shown: str) -> None:
    with pytest.raises(ExpressionRefused) as refused:
        check_clock(text, tokens_of(text), {"a", "now"})
    error = refused.value
    assert str(error) == (
        f"The condition {text!r} asks for {shown} at position {position}: its result changes with the time or the "
        "session."
    )
    assert (error.reason, error.position, error.found) == ("clock", position, shown.strip("`"))
    assert error.expression == text


@pytest.mark.parametrize(
    "text",
    ["a = now", "s.user = 1", "unix_timestamp(a)", "date ''", "date ' '", "date 'a today'", "'now'", "day 'now'"],
)
def test_what_does_not_ask_for_the_time_passes(text: str) -> None:
    assert called_functions(text, tokens_of(text)).keys() <= {"unix_timestamp"}
    check_clock(text, tokens_of(text), {"a", "now"})


def test_a_function_of_others_is_told_with_its_qualifier() -> None:
    text = "abs(a) = Cat.`db x`.F (b)"
    with pytest.raises(ExpressionRefused) as refused:
        called_functions(text, tokens_of(text))
    assert str(refused.value) == (
        f"The condition {text!r} calls cat.db x.F at position 21: only Spark's own functions may be called: other "
        "readers of the table lack any others."
    )
    with pytest.raises(ExpressionRefused, match=r" calls db\.house at position 4: "):
        called_functions("db.house(a)", tokens_of("db.house(a)"))
    assert called_functions("a = 1", tokens_of("a = 1")) == {}
    assert called_functions("1 .f(a)", tokens_of("1 .f(a)")) == {"f": Token("word", "f", 3)}
    both = tokens_of("f(a) = g (b) + System.Builtin.f(1)")
    assert called_functions("", both) == {"f": both[0], "g": both[5]}
