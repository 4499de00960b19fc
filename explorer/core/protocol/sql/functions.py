"""SQL functions that no expression over a table may call, and why.

Invariants: a name here is in lower case and without its qualifiers; what runs code, reaches other data or fails on
purpose is refused everywhere; what reads the clock or the session is refused only where an answer must stay true.
"""

from __future__ import annotations

from typing import Final

__all__ = ["CLOCK_FUNCTIONS", "CLOCK_WITHOUT_ARGUMENTS", "why_refused"]


def _split(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CODE: Final = _split("java_method reflect try_reflect")
_BEYOND: Final = _split(
    """
    identifier http_request read_files sql secret try_secret list_secrets vector_search remote_query event_log
    from_avro to_avro schema_of_avro from_protobuf to_protobuf python_worker_logs
    input_file_name input_file_block_start input_file_block_length
    """
)
_UNSTABLE: Final = _split(
    "rand randn random randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id"
)
_FAILING: Final = _split("raise_error assert_true")
CLOCK_FUNCTIONS: Final = _split(
    """
    current_date current_timestamp now curdate localtimestamp current_time current_timezone current_user user
    session_user current_catalog current_database current_schema current_path version
    """
)
"""Functions of the time or the session; some of them are called without parentheses."""
CLOCK_WITHOUT_ARGUMENTS: Final = _split("unix_timestamp")
"""Functions of the time where they are given no argument."""


def why_refused(function: str) -> tuple[str, str] | None:
    """Why a function may not be called in any expression: one word, and a clause; None if it may.

    Args:
        function: Its name, without qualifiers, in any case.
    """
    name = function.lower()
    if name in _CODE:
        return "code", "it can run any code on every machine that evaluates it"
    if name in _BEYOND or name.startswith(("ai_", "read_")):
        return "reach", "it reads more than the row: other data, other machines, or where the row is stored"
    if name in _UNSTABLE:
        return "unstable", "its result differs from one reading to the next, so no row can be checked against it"
    if name in _FAILING:
        return "fails", "it does nothing but fail"
    return None
