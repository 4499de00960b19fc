"""How large a value an expression may make: each way to make one out of a few characters is refused by its call."""

from __future__ import annotations

import pytest

from explorer.core.errors import ExpressionRefused
from explorer.core.protocol.sql.vetting import check_text


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("repeat('x', 2000000000) = s", "repeat"),
        ("`repeat`('x', 99999999999999999999999999999999999999999) = s", "repeat"),
        ("repeat(repeat('x', 1000), 1000) = s", "repeat"),
        ("repeat('x', length(s)) = s", "repeat"),
        ("repeat('x', (2000000000)) = s", "repeat"),
        ("space(2000000000) = s", "space"),
        ("levenshtein(repeat('x', 50000), repeat('y', 50000)) > 1", "levenshtein"),
        ("exists(sequence(1, 90000), y -> levenshtein(repeat(s, 300), repeat('y', 400)) > 1)", "levenshtein"),
        ("lpad(s, 2000000000, 'x') = s", "lpad"),
        ("rpad(s, 1000 * 1000000, 'x') = s", "rpad"),
        ("size(array_repeat(1, 2000000000)) > 1", "array_repeat"),
        ("size(array_insert(a, 2000000000, 1)) > 1", "array_insert"),
        ("size(array_insert(a, -2000000000, 1)) > 1", "array_insert"),
        ("size(sequence(1, 2000000000)) > 1", "sequence"),
        ("size(sequence(-1000000, 1000000)) > 1", "sequence"),
        ("size(sequence(1, id)) > 1", "sequence"),
        ("size(sequence(DATE '0001-01-01', DATE '9999-12-31')) > 1", "sequence"),
        ("format_string('%1900000000s', 'x') = s", "format_string"),
        ("format_string('%-1900000000s', 'x') = s", "format_string"),
        ("format_string('%1$1900000000s', 'x') = s", "format_string"),
        ("format_string('%,1900000000d', 1) = s", "format_string"),
        ("format_string('%.1900000000f', 1.0D) = s", "format_string"),
        (r"format_string('%\u0031900000000s', 'x') = s", "format_string"),
        (r"format_string('%\0619900000000s', 'x') = s", "format_string"),
        ("format_string(concat('%19', '00000000s'), 'x') = s", "format_string"),
        ("format_string('%19' '00000000s', 'x') = s", "format_string"),
        ("printf('%1900000000s', 'x') = s", "printf"),
        ("format_number(x, 2000000000) = s", "format_number"),
        ("round(x, 2000000000) = x", "round"),
        ("bround(x, id) = x", "bround"),
        ("size(transform(sequence(1, 1000), y -> sequence(1, 1000))) > 1", "transform"),
        ("aggregate(sequence(1, 40), 'x', (acc, y) -> concat(acc, acc)) = s", "aggregate"),
        ("aggregate(sequence(1, 40), 'x', (acc, y) -> acc || acc) = s", "aggregate"),
        ("reduce(a, 'x', (acc, y) -> replace(acc, 'x', 'xx')) = s", "reduce"),
        ("reduce(a, 'x', (acc, y) -> hex(acc)) = s", "reduce"),
        ("reduce(a, array(1), (acc, y) -> flatten(array(acc, acc))) = a", "reduce"),
        ("aggregate(a, 'x', (acc, y) -> element_at(zip_with(array(acc), a, (b, c) -> b || b), 1)) = s", "aggregate"),
        ("reduce(a, 'x', (acc, y) -> reduce(array(acc), '', (b, c) -> b || c || c)) = s", "reduce"),
        ("reduce(a, 'x', (acc, y) -> map_values(transform_values(map(1, acc), (k, v) -> v || v))[0]) = s", "reduce"),
        ("reduce(a, 'x', (acc, y) -> cast(split(acc, '') as string)) = s", "reduce"),
        ("reduce(a, 'x', (`acc`, y) -> split(ACC, '')::string) = s", "reduce"),
        ("cast(split(" * 11 + "s" + ", '') as string)" * 11 + " = s", "split"),
        ("cast(str_to_map(" * 5 + "s" + ") as string)" * 5 + " = s", "str_to_map"),
        ("replace(repeat('x', 1000), 'x', repeat('x', 1000)) = s", "replace"),
        ("regexp_replace(repeat('x', 1000), '(?=(.*))', '$1$1') = s", "regexp_replace"),
        ("size(regexp_extract_all(repeat('x', 1000), '(?=(.*))', 1)) > 1", "regexp_extract_all"),
        ("hex(" * 17 + "s" + ")" * 17 + " = s", "hex"),
        ("to_json(struct(" * 17 + "s" + "))" * 17 + " = s", "to_json"),
        ("transform(" * 17 + "array('x')" + ", y -> concat(y, y))" * 17 + " = b", "transform"),
        ("format_string('%1$s%1$s%1$s%1$s', " * 9 + "s" + ")" * 9 + " = s", "format_string"),
    ],
)
def test_a_value_that_takes_all_memory_is_refused_by_the_call_that_makes_it(text: str, call: str) -> None:
    with pytest.raises(ExpressionRefused) as refused:
        check_text(text)
    error = refused.value
    assert (error.reason, error.found and error.found.strip("`")) == ("too large", call)
    assert error.position is not None
    assert text[error.position - 1 :].lstrip("`").startswith(call)
    assert str(error).endswith((".", "?"))


@pytest.mark.parametrize(
    "text",
    [
        "lpad(a, 10, '0') = lpad(b, 10, '0') AND lpad(c, 10, '0') = rpad(d, 10, '0') OR lpad(e, 10, ' ') = 'x'",
        "repeat('ab', 3) = s AND space(2) = '  ' AND repeat(s, -1) = ''",
        "size(sequence(1, 100)) = 100 AND size(sequence(10, 1, -1)) > 1",
        "format_string('%05d-%s %.2f%%', id, s, x) = s",
        "round(x, 2) = x AND round(x) = 1 AND bround(x, -2) > 1 AND format_number(x, '#,###.##') = s",
        "aggregate(a, 0, (acc, y) -> acc + y) > 1 AND ceil(x, 1) > 1",
        "reduce(a, 0, (acc, y) -> if(acc > y, acc, y), acc -> acc * 2) = 1",
        "aggregate(a, '', (acc, y) -> concat(acc, lpad(y, 5, '0'))) = s",
        "replace(replace(s, 'a', 'bb'), 'c', 'dd') = regexp_replace(s, '[^0-9]', '') AND replace(s, 'a') = s",
        "concat_ws(', ', s, s) = array_join(b, ', ') AND concat_ws(s, b) <> s",
        "reduce(a, '', (acc, y) -> CASE WHEN y > 1 AND (acc <> '') THEN (upper(trim(acc))) ELSE acc END) = s",
        "reduce(a, cast(0 as double), (acc, y) -> coalesce(double(acc), 0) + sqrt(y), acc -> round(acc)) = x",
        "reduce(a, b, (acc, y) -> array_append(filter(acc, z -> z <> ''), substr(s, y, 3))) = b",
        "size(split(s, ',')) = 2 AND cast(transform(split(s, ','), y -> trim(y)) as string) = s",
        "transform(a, y -> y * y) = a AND exists(a, y -> y > 1 AND y < 3)",
        "s IN (" + ", ".join(f"'{'x' * 50}{place}'" for place in range(1500)) + ")",
        "hex(to_json(struct(s))) = upper(s) AND base64(unhex(s)) = url_encode(s)",
        "size(array_insert(a, 1, 2)) = 3 AND array_repeat(s, 2)[0] = s",
    ],
)
def test_what_people_write_stays_below_the_bound(text: str) -> None:
    assert check_text(text)[-1].kind == "end"
