"""One module alone gives Spark's parser a text: `explorer.spark.engine.expressions`."""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.sources import modules, within

GATE = "explorer.spark.engine.expressions"
ALWAYS = {
    *("expr", "selectExpr", "sql", "call_function", "call_udf", "parseExpression", "parseDataType", "parseTableSchema"),
    *("parsePlan", "parseMultipartIdentifier", "fromDDL", "_parse_datatype_string", "createOrReplaceTempView"),
}
"""Calls whose argument is SQL; `sql` of anything but a session is named below."""
CONDITIONS = {"where", "filter", "agg", "having", "join", "when"}
"""Calls that take SQL if they are given a string, or names of functions in a dictionary."""
TYPES = {"cast", "try_cast", "astype", "createDataFrame", "schema", "mapInArrow", "mapInPandas"}
"""Calls that take a type as text: only one that stands in the program."""


def test_no_other_module_calls_the_parser() -> None:
    found = [
        f"{name}:{line} {what}"
        for name, tree in modules().items()
        if within(name, "explorer.spark") or "pyspark" in ast.dump(tree)
        for line, what in parser_calls(tree)
    ]
    assert {where.partition(":")[0] for where in found} == {GATE}, found
    # The gate parses expressions, and asks for functions, for a table of the catalog in two ways, and for a collation.
    assert len(found) == 5


@pytest.mark.parametrize(
    "source",
    [
        "sf.expr(text)",
        "frame.selectExpr('a')",
        "session.sql(f'DESCRIBE {name}')",
        "frame.where('matches > 1')",
        "frame.filter(f'{name} > 1')",
        "frame.agg({'a': 'max'})",
        "frame.where('a > ' + name)",
        "frame.where('{} > 1'.format(name))",
        "sf.col('a').cast(kind_of(text) + '>')",
        "session.createDataFrame([], f'{name} long')",
        "session.table(name)",
        "F.call_function(name, 'a')",
        "parse = sf.expr",
        "from pyspark.sql.functions import expr",
        "getattr(sf, 'expr')(text)",
    ],
)
def test_a_call_of_the_parser_is_seen(source: str) -> None:
    assert list(parser_calls(ast.parse(source)))


@pytest.mark.parametrize("source", ["frame.where(sf.col('a') > 1)", "sf.lit(1).cast('long')", "frame.select('a')"])
def test_what_gives_no_text_to_the_parser_is_not_taken_for_it(source: str) -> None:
    assert not list(parser_calls(ast.parse(source)))


def parser_calls(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The line and the name of each use of Spark's parser."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if name in ALWAYS:
                yield node.lineno, name
            case ast.Call(func=ast.Attribute(attr="table", value=ast.Name(id="session" | "spark"))):
                yield node.lineno, "table"
            case ast.Call(func=ast.Attribute(attr=name), args=[first, *_]) if name in CONDITIONS and _is_text(first):
                yield node.lineno, name
            case ast.Call(func=ast.Attribute(attr=name), args=arguments) if name in TYPES and any(
                _is_text(each) and not isinstance(each, ast.Constant) for each in arguments
            ):
                yield node.lineno, name
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]) if name in ALWAYS:
                yield node.lineno, name
            case ast.ImportFrom(module=str(module), names=names) if within(module, "pyspark"):
                yield from ((node.lineno, alias.name) for alias in names if alias.name in ALWAYS)


def _is_text(node: ast.AST) -> bool:
    """Whether an argument is a text, or a dictionary, as it stands."""
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr() | ast.Dict():
            return True
        case ast.BinOp(left=left, right=right):
            return _is_text(left) or _is_text(right)
        case ast.Call(func=ast.Attribute(attr="format" | "join")):
            return True
        case _:
            return False
