"""Expressions at random: such as people write, such as attackers write, and what comes of both by small changes."""

from __future__ import annotations

from random import Random
from typing import Final

from explorer.core.protocol.sql.functions import ALLOWED, REFUSED

__all__ = ["COLUMNS", "random_expression"]

COLUMNS: Final = "id long, s string, d date, t timestamp, x double, a array<int>, m map<string,int>, n struct<b:int>"
"""The columns that they are about."""

_ATOMS: Final = (
    *(
        "id",
        "s",
        "d",
        "t",
        "x",
        "a",
        "m",
        "n.b",
        "`id`",
        "`s`",
        "m['k']",
        "a[0]",
        "n . b",
        "`n`.`b`",
        "nope",
        "_metadata",
    ),
    *(
        "1",
        "1.",
        ".5",
        "1.5",
        "1e3",
        "1.e5",
        "2L",
        "3S",
        "4Y",
        "5BD",
        "1.5D",
        "2.0F",
        "-1",
        "- 1",
        "1..2",
        "1e",
        "0x1F",
    ),
    *("'a'", '"a"', "'it''s'", r"'it\'s'", '"a""b"', r"'\\'", r"r'\'", "R'a'", 'r"b"', "'--'", "'/*'", "'*/'", "''"),
    *("'a' 'b'", "'\n'", "'`'", '"`"', "'$'", "'{'", "x'1f'", "X'00'", "date'2020-01-01'", "TIMESTAMP '2020-01-01'"),
    *("null", "true", "FALSE", "current_date", "current_user", "interval 1 day", "INTERVAL '1-2' YEAR TO MONTH"),
)
_BINARY: Final = (
    *(
        "+",
        "-",
        "*",
        "/",
        "%",
        "||",
        "|",
        "&",
        "^",
        "<<",
        ">>",
        ">>>",
        "=",
        "==",
        "<>",
        "!=",
        "<=>",
        "<",
        "<=",
        ">",
        ">=",
    ),
    *(
        " AND ",
        " or ",
        " DIV ",
        " LIKE ",
        " ilike ",
        " RLIKE ",
        " not like ",
        " IS DISTINCT FROM ",
        ",",
        " in ",
        "->",
        "=>",
    ),
    *(" like any ", ":", "::", ".", "!", " is not ", " BETWEEN ", " collate ", "|>", "?", "@", "- -", "--", "!"),
)
_GAPS: Final = (
    *(
        "",
        "",
        "",
        " ",
        " ",
        "  ",
        "\n",
        "\t",
        "\r",
        "\r\n",
        "/**/",
        "/* c */",
        "/*c*/",
        "-- c\n",
        "--c\r",
        "-- c\\\n\n",
    ),
    *("/* ' */", '/* " */', "/* ` */", "-- '\n", "/*+ hint */", "/* /* */", "*/", "\x0b", "\u00a0", "\u200b", "\ufeff"),
    *("\u2028", "\x85", "--\n", "/*/ */", "/***/", "-- /*\n", "/*--*/", "-- ${a}\n", "/* ${env:HOME} */", "\\"),
)
_ATTACKS: Final = (
    *("${system:line.separator}", "${env:HOME}", "${spark.app.name}", "$ {x}", "$x", "$$", "$$ ' $$", ";", "{", "}"),
    *("(SELECT 1)", "EXISTS (SELECT 1)", "(from t)", "(values 1)", "(table t)", "(with q as (select 1) select 1)"),
    *(
        "IDENTIFIER('reflect')",
        "identifier('a')",
        "reflect('java.lang.System','getenv')",
        "`reflect`('a')",
        "\u017felect",
    ),
    *("system.builtin.reflect('a')", "from_xml(s,'a int')", "xpath(s,'a')", "input_file_name()", "db.f(id)", "rand()"),
    *(
        "sum(id)",
        "count(*)",
        "*",
        "n.*",
        "row_number() over ()",
        "sum(id) filter (where true)",
        "explode(a)",
        ":p",
        "?",
    ),
    *(
        "repeat(s,1000000)",
        "format_string('%999999s',s)",
        'from_json(s,\'{"type":"struct"}\')',
        "s3://a--b",
        "'",
        '"',
        "`",
    ),
)
_FORMS: Final = (
    *("CASE WHEN {0} THEN {1} ELSE {2} END", "cast({0} as int)", "try_cast({0} AS array<int>)", "{0}::decimal(10,2)"),
    *(
        "({0})",
        "({0},{1})",
        "{0} IN ({1},{2})",
        "{0} between {1} and {2}",
        "{0} is null",
        "not {0}",
        "extract(year from {0})",
    ),
    *(
        "trim(both {0} from {1})",
        "position({0} in {1})",
        "substring({0} from 1 for 2)",
        "overlay({0} placing {1} from 1)",
    ),
    *(
        "transform(a, y -> {0})",
        "aggregate(a, {0}, (acc, y) -> {1})",
        "filter(a, (y, i) -> {0})",
        "exists(a, y -> y > {0})",
    ),
    *(
        "struct({0} as q).q",
        "named_struct('q', {0})",
        "{0}[{1}]",
        "{0}.b",
        "timestampadd(day, {0}, t)",
        "if({0},{1},{2})",
    ),
    *(
        "{0} like {1} escape '!'",
        "cast({0} as struct<q:int,r:string>)",
        "from_json({0}, 'q int, r string').q",
        "{0} collate utf8_lcase",
    ),
)
_FUNCTIONS: Final = sorted(ALLOWED)
_OTHERS: Final = sorted(REFUSED)
_CHARACTERS: Final = "'\"`()[]{}$-/*+.,:;|<>=!~^&%?@#\\ \n\r\tarR01eLEsf_\u00e9\u0131\u017f\u200b"


def random_expression(random: Random) -> str:
    """One expression; most of them can be parsed, and some of those are attacks."""
    text = _expression(random, random.randrange(4))
    for _ in range(random.choice((0, 0, 0, 1, 1, 2, 4))):
        text = _changed(random, text)
    return text


def _expression(random: Random, depth: int) -> str:
    if not depth:
        return random.choice(_ATTACKS) if random.random() < 0.06 else random.choice(_ATOMS)
    parts = [_expression(random, random.randrange(depth)) for _ in range(3)]
    gaps = [random.choice(_GAPS[:12] if random.random() < 0.9 else _GAPS) for _ in range(3)]
    match random.randrange(4):
        case 0:
            name = random.choice(_FUNCTIONS if random.random() < 0.95 else _OTHERS)
            name = random.choice((name, name, name.upper(), f"`{name}`", f"system.builtin.{name}"))
            return f"{name}{gaps[0]}({gaps[1]}{f',{gaps[2]}'.join(parts[: random.randrange(4)])})"
        case 1:
            return random.choice(_FORMS).format(*(f"{gap}{part}" for gap, part in zip(gaps, parts, strict=True)))
        case _:
            return f"{parts[0]}{gaps[0]}{random.choice(_BINARY)}{gaps[1]}{parts[1]}"


def _changed(random: Random, text: str) -> str:
    place, end = sorted(random.randrange(len(text) + 1) for _ in range(2))
    match random.randrange(6):
        case 0:
            return text[:place] + random.choice(_CHARACTERS) + text[place:]
        case 1:
            return text[:place] + random.choice(_GAPS) + text[place:]
        case 2:
            return text[:place] + text[min(place + 1, len(text)) :]
        case 3:
            return text[:place] + random.choice(_ATTACKS) + text[place:]
        case 4:
            return text[:place] + text[place:end] + text[place:]
        case _:
            return text[:end] + text[place:end] + text[end:]
