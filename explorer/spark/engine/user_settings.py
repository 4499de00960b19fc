"""Spark settings of the user: those given by name and value, and those of spark-defaults.conf.

Invariants: a setting that would let a text of SQL become another text after it was checked is refused where it is
given, and has no effect from spark-defaults.conf; no message contains a value, as some are credentials.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from explorer.core.errors import EngineUnavailable, RequestError

SUBSTITUTION: Final = "spark.sql.variable.substitute"
_PATTERNS: Final = "spark.sql.parser.quotedRegexColumnNames"
FIXED: Final = {
    # Otherwise Spark replaces ${env:HOME} in any SQL text, after it was checked.
    SUBSTITUTION: "false",
    # Otherwise it reads a name in backticks as a pattern of names.
    _PATTERNS: "false",
    # This process is the driver: no cluster can run it elsewhere.
    "spark.submit.deployMode": "client",
    "spark.api.mode": "classic",
}
"""Settings of each session that this program starts, whatever the user sets."""
_WHY: Final = {
    SUBSTITUTION: "it would replace ${...} in a condition after the condition was checked",
    _PATTERNS: "it would read a column's name in backticks as a pattern of names",
    "spark.submit.deployMode": "this process is the driver, so it must be client",
    "spark.api.mode": "a Spark Connect server is named by its address, sc://HOST:PORT, in its place",
    "spark.remote": "a Spark Connect server is named by its address, sc://HOST:PORT, in its place",
    "spark.master": "where Spark runs is not one of these settings; name it with --spark or DELTA_EXPLORER_SPARK",
}
_NAME: Final = re.compile(r"spark(?:\.[\w-]+)+", re.ASCII)


def read_settings(texts: Sequence[str]) -> dict[str, str]:
    """Return the settings of texts such as ``spark.executor.memory=4g``.

    Raises:
        RequestError: One is not a name and a value, or is refused by `check_settings`.
    """
    settings = dict[str, str]()
    for place, text in enumerate(texts, 1):
        name, separator, value = text.partition("=")
        if not separator:
            raise RequestError(
                f"Spark setting {place} has no value. Give NAME=VALUE, for example spark.executor.memory=4g.",
                field="spark_conf",
            )
        settings[name.strip()] = value.strip()
    check_settings(settings)
    return settings


def check_settings(settings: Mapping[str, str]) -> None:
    """Refuse settings that Spark would ignore, or that this program sets itself.

    Raises:
        RequestError: One is refused; the message names it, without its value.
    """
    for name, value in settings.items():
        if _NAME.fullmatch(name) is None:
            raise RequestError(
                f"{name!r} is not the name of a Spark setting: Spark ignores names that do not begin with spark. and "
                "a word. Hadoop's own begin with spark.hadoop., for example spark.hadoop.fs.s3a.endpoint.",
                field="spark_conf",
                found=name,
            )
        if name in _WHY and FIXED.get(name) != value.lower():
            raise RequestError(
                f"The Spark setting {name} cannot be set here: {_WHY[name]}.", field="spark_conf", found=name
            )


def spark_defaults() -> dict[str, str]:
    """Return the settings of the user's spark-defaults.conf, where the environment says where it is.

    Those that `check_settings` refuses are in it; a start replaces them.

    Raises:
        EngineUnavailable: The file cannot be read.
    """
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (os.path.join(home, "conf") if home else None)
    file = Path(folder, "spark-defaults.conf") if folder else None
    if file is None or not file.is_file():
        return {}
    try:
        text = file.read_text("utf-8", errors="replace")
    except OSError as error:
        raise EngineUnavailable(
            f"{file} cannot be read: {error.strerror or error}. Let this user read it, or unset SPARK_CONF_DIR.",
            engine="spark",
        ) from error
    lines = (line.strip() for line in text.splitlines())
    pairs = (re.split(r"\s*[=:\s]\s*", line, maxsplit=1) for line in lines if line and line[0] not in "#!")
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2 and pair[0].startswith("spark.")}


def default_master() -> str | None:
    """Return where spark-defaults.conf lets Spark run, or a Spark Connect server; None if it names neither.

    Raises:
        EngineUnavailable: The file cannot be read.
    """
    settings = spark_defaults()
    return settings.get("spark.remote") or settings.get("spark.master")
