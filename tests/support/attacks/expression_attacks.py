"""Spellings of one attack: an expression that sets a property of the JVM, or asks for more than the row.

`SPELLINGS` are conditions; `value` makes the same for a place where a value is expected. `was_run` says whether code of
an attack ran.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import SparkSession

__all__ = ["SPELLINGS", "forget_runs", "was_run"]

_MARK: Final = "explorer.test.attack"
_CODE: Final = f"reflect('java.lang.System', 'setProperty', '{_MARK}', 'ran')"

SPELLINGS: Final = (
    f"1 = 1 -- ${{system:line.separator}} AND {_CODE} IS NOT NULL",
    f"1 = 1 /* ${{env:HOME}} */ AND {_CODE} IS NOT NULL",
    f"{_CODE} IS NULL",
    f"{_CODE.replace('reflect', 'java_method')} IS NULL",
    f"{_CODE.replace('reflect', 'try_reflect')} IS NULL",
    f"{_CODE.replace('reflect', '`reflect`')} IS NULL",
    f"{_CODE.replace('reflect', 'system.builtin.reflect')} IS NULL",
    f"{_CODE.replace('reflect', 'reflect/**/')} IS NULL",
    f"{_CODE.replace('reflect', 'Re' + chr(0x17F) + 'flect')} IS NULL",
    _CODE.replace("reflect", "IDENTIFIER('re' || 'flect')") + " IS NULL",
    f"s = r'\\' OR {_CODE} = '\\''",
    f"1 = 1 -- \r AND {_CODE} IS NULL",
    f"1 = 1 /* /* */ ' */ AND {_CODE} IS NULL /* ' */",
    f"$$ '' $$ = {_CODE}",
    f"exists(array(1), y -> {_CODE} IS NULL)",
    "s = '${env:HOME}'",
    "s = '${system:user.home}'",
    "`${spark.app.name}` = 1",
    "1 = 1 -- ${system:line.separator} AND id IN (SELECT length(value) FROM text.`/etc/hostname`)",
    "id IN (SELECT 1)",
    "EXISTS (FROM text.`/etc/hostname`)",
    "(\u017felect 1) = 1",
    'from_xml(\'<a/>\', \'{"type":"struct","fields":[]}\') IS NULL',
    "schema_of_xml('<!DOCTYPE a SYSTEM \"file:///etc/hostname\"><a/>') = s",
    "xpath_string('<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/hostname\">]><a>&b;</a>', 'a') = s",
    'from_json(\'{}\', \'{"type":"struct","fields":[]}\') IS NULL',
    "input_file_name() = s",
    "secret('a', 'b') = s",
    "format_string('%1900000000s', 'x') = s",
    "repeat('x', 1900000000) = s",
    "id = ?",
    "sum(id) > 1",
    "id = 1; DROP TABLE t",
)


def forget_runs(session: SparkSession) -> None:
    """Forget that code ran."""
    session.sql(f"SELECT reflect('java.lang.System', 'clearProperty', '{_MARK}')").collect()


def was_run(session: SparkSession) -> bool:
    """Whether code of an attack ran since, in the JVM of a session, classic or Connect."""
    ((found,),) = session.sql(f"SELECT reflect('java.lang.System', 'getProperty', '{_MARK}')").collect()
    return str(found) == "ran"
