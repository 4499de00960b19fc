"""The texts of an exception of Spark: its condition, the classes and messages of its causes, and one plain sentence.

Invariants: a sentence holds no package of Java, no stack frame, no SQL state, no plan, and no advice on settings that a
user cannot change here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

# Advice on settings of the session, which the user cannot change here.
_SETTING_ADVICE: Final = re.compile(
    r"(?<!\s)\s*+If necessary set \S+ to \S+ to bypass this error\.?|\nRewrite the query.*", re.DOTALL
)
# A traceback of a Python worker, up to the error that ended it.
_TRACEBACK: Final = re.compile(r"^.*Traceback \(most recent call last\):\n.*\n[\w.]+: ", re.DOTALL)
_CONDITION: Final = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")
_ABORTED: Final = re.compile(
    r"^Job aborted due to stage failure: .*?\((?:executor |localhost)[^)]*\)(?:[^:\n]*): ", re.DOTALL
)
# A run of blanks is matched once, from its start: a message may repeat a long text of the table.
_FRAMES: Final = re.compile(
    r"(?<!\s)(?=[^\S\n]*+\n)\s*+(?:Driver stacktrace:.*|at [\w.$/<>]++\(.*|Caused by: .*)", re.DOTALL
)
_STATE: Final = re.compile(r"(?<!\s)\s*+SQLSTATE:\s*+\w{5}")
_REST: Final = re.compile(r"SQLSTATE:|\n==|;\n")
# The packages that Java, Scala, Spark and what they bring call their own.
_PACKAGE: Final = re.compile(
    r"(?:class )?\b(?:shaded\.[a-z]+\.)?(?:org|java|javax|scala|com|io|sun|jdk|net|py4j|software)\."
    r"(?:[a-z_][\w]*\.)*(?=[A-Z])"
)
# How Java names an object that has no text of its own.
_OBJECT: Final = re.compile(r"@[0-9a-f]{5,8}\b")
_MOST_CAUSES: Final = 20
_LONGEST: Final = 20_000


def condition_of(error: Exception) -> str | None:
    """Return Spark's error condition, for example ``UNRESOLVED_COLUMN.WITH_SUGGESTION``, or None."""
    get = getattr(error, "getCondition", None)
    if callable(get) and (condition := get()) is not None:
        return str(condition)
    match = next((m for m in map(_CONDITION.search, messages_of(error)) if m is not None), None)
    return None if match is None else match[1]


def first_sentence(error: Exception) -> str:
    """Return the message of Spark or of an error in a worker as one plain line."""
    messages = [message for message in messages_of(error) if "awaitResult" not in message]
    text = messages[0].strip() if messages else short_name(error)
    text = _CONDITION.sub("", _TRACEBACK.sub("", text), count=1).strip()
    text = _REST.split(text, maxsplit=1)[0].rstrip()
    text = without_java(_SETTING_ADVICE.sub("", text))
    return text if text.endswith((".", "?", "!")) else text + "."


def without_java(text: str) -> str:
    """Return a text as one line without frames of a stack, packages of Java and SQL states."""
    text = _FRAMES.sub("", _ABORTED.sub("", text))
    return " ".join(_OBJECT.sub("", _PACKAGE.sub("", _STATE.sub("", text))).split())


def short_name(error: Exception) -> str:
    """Return the class of the innermost error without its package, as the name of a kind of failure."""
    classes = [name for name, _ in _causes(error)]
    return classes[-1].rpartition(".")[2].replace("$", ".") if classes else type(error).__name__


def messages_of(error: Exception) -> Iterator[str]:
    """Yield the error's message and those of its Java causes, outermost first."""
    causes = _causes(error)
    if not causes:
        yield _cut(str(error))
    yield from (message for _, message in causes if message)


def texts_of(error: Exception) -> str:
    """Return the classes and messages of an error and its causes, a line each."""
    own = _cut(f"{type(error).__name__}: {error}") if not (causes := _causes(error)) else type(error).__name__
    return "\n".join([own, *(f"{name}: {message}" if message else name for name, message in causes)])


def _causes(error: Exception) -> list[tuple[str, str]]:
    """Return class and message of the Java errors behind an error, outermost first; none where it is of Python."""
    java: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    causes: list[tuple[str, str]] = []
    while java is not None and len(causes) < _MOST_CAUSES:
        causes.append((str(java.getClass().getName()), _cut(str(java.getMessage() or ""))))
        java = java.getCause()
    return causes


def _cut(message: str) -> str:
    """Return a message without the middle of a long one: it may repeat a value of a row."""
    half = _LONGEST // 2
    return message if len(message) <= _LONGEST else f"{message[:half]}\u2026{message[-half:]}"
