"""How large a value an expression can make of small ones: a bound that is read from the text.

A few characters can request gigabytes of Spark (``repeat('x', 2000000000)``), some while a query is only planned.
Invariants: nothing is evaluated; size arguments of functions must be numbers in the text, and the sizes of nested
calls multiply. Sizes that are not in the text are not bounded: the length of a column's own values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Final

from explorer.core.protocol.sql.functions import SYNTAX_WORDS
from explorer.core.protocol.sql.tokens import Token


def _split(words: str) -> frozenset[str]:
    return frozenset(words.split())


MOST_GROWTH: Final = 100_000
"""The most characters or elements that an expression may make of one."""

# The argument with the length of the result.
_SIZED: Final = {"repeat": 1, "space": 0, "lpad": 1, "rpad": 1, "array_repeat": 1, "array_insert": 1}
# The argument with the number of digits; the result is no longer than that.
_DIGITS: Final = {"format_number": 1, "round": 1, "bround": 1, "ceil": 1, "ceiling": 1, "floor": 1}
_MOST_DIGITS: Final = 1_000
# How often a character of the argument can be in the result, such as an escaped quote.
_ESCAPING: Final = {
    **dict.fromkeys(("hex", "base64", "to_json", "to_csv", "quote", "to_char", "to_varchar", "mask"), 2),
    "url_encode": 3,
    "make_valid_utf8": 3,
    "encode": 4,
    "to_xml": 6,
}
# The argument that is inserted again and again.
_INSERTED: Final = {"replace": 2, "regexp_replace": 2, "array_join": 1, "concat_ws": 0}
# Takes the product of the lengths of two texts as steps.
_COMPARING: Final = frozenset({"levenshtein"})
_SEARCHING: Final = frozenset({"regexp_replace", "regexp_extract_all"})
_UNKNOWN_INSERTED: Final = 1_000
_PRINTED: Final = frozenset({"format_string", "printf"})
_LOOPS: Final = frozenset({"aggregate", "reduce"})
_COMBINING: Final = _split(
    """
    array array_append array_insert array_prepend array_repeat array_union arrays_zip concat concat_ws flatten
    format_string map map_concat map_from_arrays map_from_entries named_struct overlay printf repeat replace
    regexp_replace struct to_json transform translate
    """
)
# The length of a split text that is cast to a text again: "[x, y]" of "xy".
_TAKEN_APART: Final = {"split": 3, "regexp_extract_all": 3, "json_object_keys": 3, "sentences": 6, "str_to_map": 12}
# Functions that a loop may apply to its own result: none makes it much longer than its argument.
_STEADY: Final = SYNTAX_WORDS | _split(
    """
    abs and array array_append array_compact array_contains array_distinct array_except array_intersect array_max
    array_min array_position array_prepend array_remove array_size array_sort array_union arrays_overlap between bigint
    bit_count boolean bround btrim cardinality case cast cbrt ceil ceiling char_length character_length coalesce concat
    contains crc32 date date_add date_diff date_sub datediff day decimal div double element_at endswith equal_null
    exists exp filter float floor forall get greatest hash hour if ifnull in instr int isnan isnotnull isnull lcase
    least left len length like ln locate log log10 log2 lower ltrim map_concat map_contains_key md5 mod month
    named_struct nanvl negative not nullif nullifzero nvl nvl2 or pmod positive pow power right rlike round rtrim
    sha sha1 sha2 shiftleft shiftright sign signum size slice smallint sort_array sqrt startswith string struct substr
    substring timestamp tinyint trim try_add try_cast try_divide try_element_at try_mod try_multiply try_subtract ucase
    upper when xxhash64 year zeroifnull
    """
)
_PRINT: Final = re.compile(r"%(?:\d++\$|<)?[-#+ 0,(]*+(\d*+)(?:\.(\d++))?[a-zA-Z%]")

Tokens = Sequence[Token]


class TooLarge(ValueError):
    """The value may be too large; ``token`` is the call, ``what`` and ``advice`` are for messages."""

    def __init__(self, token: Token, what: str, advice: str) -> None:
        super().__init__(what)
        self.token = token
        self.what = what
        self.advice = advice


def check_growth(tokens: Tokens) -> None:
    """Refuse an expression whose value can be more than `MOST_GROWTH` times as large as its parts.

    Raises:
        TooLarge: For the call that makes it so.
    """
    _growth(tokens)


def _growth(tokens: Tokens) -> int:
    """Return the most characters or elements that a value of these tokens has, where each column has one."""
    total, place = 0, 0
    while place < len(tokens):
        token = tokens[place]
        if token.text == "(":
            closed = _closed(tokens, place)
            inside = tokens[place + 1 : closed]
            before = tokens[place - 1] if place else None
            if before is not None and before.kind in ("word", "name"):
                size = _of_call(before, _arguments(inside))
            else:
                size = _growth(inside)
            place = closed
        else:
            size = len(token.text) - 2 if token.kind in ("string", "raw") else 0
        total += size if size > 1 else 0
        place += 1
    return max(total, 1)


def _of_call(call: Token, arguments: list[Tokens]) -> int:
    name = call.value.lower()
    sizes = [_growth(each) for each in arguments]
    together = max(sum(size for size in sizes if size > 1), 1)
    _check_steps(call, sizes)
    if name in _SIZED:
        size = _number(call, arguments, _SIZED[name], f"how long the result of {name} is")
        size_of_result = max(size, together) if name in ("lpad", "rpad", "space") else max(size, 1) * together
    elif name == "sequence":
        size_of_result = _steps(call, arguments) * together
    elif name in _DIGITS:
        size_of_result = together
        if len(arguments) > _DIGITS[name] and _digits(call, arguments, _DIGITS[name]) > _MOST_DIGITS:
            raise TooLarge(call, f"asks {name} for more than {_MOST_DIGITS:,} digits", "Use fewer digits")
    elif name in _PRINTED:
        size_of_result = _printed(call, arguments, together)
    elif name in _SEARCHING:
        # A lookahead group returns the rest of a text at each position.
        size_of_result = together * together * _inserted(arguments, _INSERTED.get(name, len(arguments)))
    elif name in _INSERTED:
        size_of_result = together * _inserted(arguments, _INSERTED[name])
    elif name in _ESCAPING:
        size_of_result = together * _ESCAPING[name]
    elif any(_lambda_mark(each) for each in arguments):
        size_of_result = _of_lambda(call, arguments, sizes)
    else:
        size_of_result = together
    size_of_result *= _TAKEN_APART.get(name, 1)
    if size_of_result > MOST_GROWTH:
        raise TooLarge(
            call,
            f"can make a value of more than {MOST_GROWTH:,} characters or elements with {name}",
            "Use smaller sizes",
        )
    return size_of_result


def _check_steps(call: Token, sizes: Sequence[int]) -> None:
    """Refuse a comparison that is slow although its result is small."""
    name = call.value.lower()
    if name in _COMPARING and prod(sizes) > MOST_GROWTH:
        raise TooLarge(call, f"can take {name} more than {MOST_GROWTH:,} steps for a row", "Compare shorter texts")


def _of_lambda(call: Token, arguments: list[Tokens], sizes: list[int]) -> int:
    """Return the size of a lambda's result: its body is evaluated once for each element, so its size multiplies."""
    total = 1
    for argument, size in zip(arguments, sizes, strict=True):
        total *= max(size, 1)
        mark = _lambda_mark(argument)
        if mark:
            names = [each.value.lower() for each in argument[:mark] if each.kind in ("word", "name")]
            body = argument[mark + 2 :]
            uses = max((_uses(body, name) for name in names), default=0)
            if call.value.lower() in _LOOPS and len(names) > 1:
                _check_loop(call, body, names[0])
            total *= max(uses, 1) if _combines(body) else 1
    return total


def _check_loop(call: Token, body: Tokens, name: str) -> None:
    """Check that a loop does not multiply its own result: its body runs again for each element."""
    enclosing: list[str] = []
    multiplied = False
    for before, token in pairwise([Token("end", "", 0), *body]):
        if token.text == "(":
            enclosing.append(before.value.lower() if before.kind in ("word", "name") else "")
        elif token.text == ")":
            enclosing.pop()
        elif token.value.lower() == name and token.kind in ("word", "name"):
            multiplied |= not _STEADY.issuperset(filter(None, enclosing))
    if multiplied or (_combines(body) and _uses(body, name) > 1):
        raise TooLarge(
            call,
            f"lets {call.value.lower()} make a multiple of its own result for each element",
            f"Use {name} once in it, outside of functions such as repeat, split and transform",
        )


def _combines(body: Tokens) -> bool:
    piped = any(a.text == b.text == "|" and a.end == b.start for a, b in pairwise(body))
    return piped or any(a.value.lower() in _COMBINING and b.text == "(" for a, b in pairwise(body))


def _uses(body: Tokens, name: str) -> int:
    return sum(token.kind in ("word", "name") and token.value.lower() == name for token in body)


def _lambda_mark(argument: Tokens) -> int:
    """Return the index of the arrow of a lambda at the top of an argument; 0 if there is none."""
    depth = 0
    for place, (one, other) in enumerate(pairwise(argument)):
        depth += _opens(one) - _closes(one)
        if not depth and one.text == "-" and other.text == ">" and one.end == other.start:
            return place
    return 0


def _number(call: Token, arguments: list[Tokens], place: int, what: str) -> int:
    """Return the number in an argument; its sign does not matter here."""
    argument = arguments[place] if place < len(arguments) else ()
    digits = [token for token in argument if token.text not in ("-", "+", "(", ")")]
    if len(digits) != 1 or not re.fullmatch(r"\d+[LSY]?", digits[0].text, re.ASCII | re.IGNORECASE):
        raise TooLarge(call, f"does not specify as a number {what}", "Write that argument as a whole number")
    return int(digits[0].text.rstrip("lLsSyY")[:30])


def _digits(call: Token, arguments: list[Tokens], place: int) -> int:
    only = arguments[place]
    if call.value.lower() == "format_number" and len(only) == 1 and only[0].kind in ("string", "raw"):
        return len(only[0].text)
    return _number(call, arguments, place, f"how many digits the result of {call.value.lower()} has")


def _steps(call: Token, arguments: list[Tokens]) -> int:
    bounds = [
        _number(call, arguments, place, "where the sequence begins, ends, or how far its elements are apart")
        for place in range(max(len(arguments), 2))
    ]
    # Their signs are ignored: the bounds may lie on both sides of zero.
    return (bounds[0] + bounds[1]) // max(bounds[2] if len(bounds) > 2 else 1, 1) + 1


def _printed(call: Token, arguments: list[Tokens], together: int) -> int:
    form = arguments[0] if arguments else ()
    if len(form) != 1 or form[0].kind not in ("string", "raw"):
        raise TooLarge(call, f"passes {call.value.lower()} a format that is not a string", "Write the format in quotes")
    text = form[0].text
    if form[0].kind == "string" and re.search(r"\\[uU0-9]", text):
        raise TooLarge(call, f"writes characters of the format of {call.value.lower()} as codes", "Write them plainly")
    widths = [int(width[:30]) for match in _PRINT.findall(text) for width in match if width]
    return together * max(text.count("%"), 1) + sum(widths) + _long_numbers(text)


def _long_numbers(text: str) -> int:
    """Return the sum of numbers too large for a width in a format, however it is written."""
    return sum(size for size in (int(digits[:30]) for digits in re.findall(r"\d{5,}", text)) if size > MOST_GROWTH)


def _inserted(arguments: list[Tokens], place: int) -> int:
    """Return how often the result of such a call can be as long as its argument."""
    if place >= len(arguments):
        return 1
    only = arguments[place]
    plain = len(only) == 1 and only[0].kind in ("string", "raw")
    return len(only[0].text) - 1 if plain else _UNKNOWN_INSERTED


def _arguments(inside: Tokens) -> list[Tokens]:
    """Return the tokens between the commas of a call."""
    arguments: list[Tokens] = []
    depth, begin = 0, 0
    for index, token in enumerate(inside):
        depth += _opens(token) - _closes(token)
        if not depth and token.text == ",":
            arguments.append(inside[begin:index])
            begin = index + 1
    return [*arguments, inside[begin:]] if inside else []


def _opens(token: Token) -> bool:
    return token.text in ("(", "[")


def _closes(token: Token) -> bool:
    return token.text in (")", "]")


def _closed(tokens: Tokens, place: int) -> int:
    """Return the index of the parenthesis that closes one."""
    depth = 0
    for later in range(place, len(tokens)):
        depth += (tokens[later].text == "(") - (tokens[later].text == ")")
        if not depth:
            return later
    return len(tokens) - 1
