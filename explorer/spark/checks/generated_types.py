"""Whether the expressions of generated columns give the types of their columns: Spark analyses them, over no rows.

Protocol section: Generated Columns. Invariants: nothing is evaluated; an expression that may run code, or gives another
value each time, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import types as st

from explorer.core.errors import ExpressionRefused
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.transaction.proposal import GuardResult
from explorer.spark.engine.failures import first_sentence
from explorer.spark.engine.session import engine
from explorer.spark.scan.physical import spark_type
from explorer.spark.scan.predicate import stable_type

__all__ = ["type_guard"]

_GUARD = "generated-types"


def type_guard(schema: StructType, expressions: Mapping[str, str]) -> GuardResult:
    """Check the generated columns of a schema.

    Args:
        schema: The schema.
        expressions: SQL by top-level column.

    Raises:
        EngineUnavailable: Spark or Java is missing.
    """
    columns = spark_type(schema)
    assert isinstance(columns, st.StructType)
    frame = engine().session().createDataFrame([], columns)
    faults: dict[str, str] = {}
    for name, text in expressions.items():
        wanted = columns[name].dataType
        try:
            actual = stable_type(frame, text)
        except ExpressionRefused as error:
            faults[name] = error.message
        except (PySparkException, Py4JError) as error:
            faults[name] = first_sentence(error)
        else:
            if actual != wanted:
                faults[name] = f"{text} gives {actual.simpleString()}, and the column is {wanted.simpleString()}"
    evidence = {"expressions": dict(expressions)}
    if not faults:
        return GuardResult(_GUARD, "pass", evidence | {"detail": "Every expression gives the type of its column."})
    detail = "; ".join(f"{name}: {fault}" for name, fault in faults.items())
    return GuardResult(_GUARD, "fail", evidence | {"faults": faults, "detail": detail}, "Cast it to the column's type.")
