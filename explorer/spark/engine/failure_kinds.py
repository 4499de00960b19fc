"""The kinds of failure that concern no one file or expression, distinguished by the texts of Java and Python.

`tests/spark/engine/test_failures.py` provokes some of them in Spark, and recognizes others by texts of the shape that
they have; the rest follow the names of classes and error conditions. Invariant: what is made of them names no class of
Java, no stack frame and no setting of Spark that a user of this program cannot reach.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from explorer.core.errors import (
    Cancelled,
    EngineUnavailable,
    ExplorerError,
    NotAllowed,
    StorageError,
    UnsupportedFeature,
)

_INSTALL: Final = "pip install delta-table-explorer"


@dataclass(frozen=True, slots=True)
class _Kind:
    """One kind: how it is recognized in the texts of an error, and the error for it.

    Attributes:
        pattern: Searched in the classes and messages of the error and its causes, a line each.
        make: Makes the error of what was matched.
    """

    pattern: re.Pattern[str]
    make: Callable[[re.Match[str]], ExplorerError]


def known_failure(text: str) -> ExplorerError | None:
    """Return the error for the first kind that a text is of; None if it is of none.

    Args:
        text: The classes and messages of an error of Spark and its causes, a line each.
    """
    for kind in _KINDS:
        if (match := kind.pattern.search(text)) is not None:
            return kind.make(match)
    return None


def _engine(message: str, install: str | None = None) -> Callable[[re.Match[str]], ExplorerError]:
    return lambda match: EngineUnavailable(match.expand(message), engine="spark", install=install)


def _storage(message: str) -> Callable[[re.Match[str]], ExplorerError]:
    return lambda match: StorageError(match.expand(message))


def _cancelled(_: re.Match[str]) -> ExplorerError:
    return Cancelled("The work was cancelled.", operation="read rows")


def _not_allowed(match: re.Match[str]) -> ExplorerError:
    return NotAllowed(match[1])


def _catalog(match: re.Match[str]) -> ExplorerError:
    name = next(part for part in match.groups() if part is not None)
    return EngineUnavailable(
        f"The settings of Spark name the catalog {name}, which it cannot load. Correct spark.sql.defaultCatalog or "
        f"spark.sql.catalog.{name}, and give Spark the package of the catalog.",
        engine="spark",
    )


def _scheme(match: re.Match[str]) -> ExplorerError:
    scheme = next(part for part in match.groups() if part is not None)
    return UnsupportedFeature(
        f"Spark has no file system for {scheme}://. Copy the files to a folder or an object store that it can read.",
        features=[f"{scheme}://"],
        operation="read rows",
    )


def _codec(match: re.Match[str]) -> ExplorerError:
    codec = next((part for part in match.groups() if part), "the compression of a file")
    return UnsupportedFeature(
        f"Spark here cannot decompress a data file: it lacks the codec {codec}. Rewrite the file with snappy or zstd, "
        "for example with OPTIMIZE where the codec exists.",
        features=[codec],
        operation="read rows",
    )


_OUT_OF_MEMORY: Final = (
    "Spark ran out of memory while it worked. Give it more (spark.driver.memory), or read fewer rows or columns."
)
_ENDED: Final = "The Spark session ended while it worked. Run it again: the next request starts a new one."
_SERVER: Final = "Check that it runs and that this machine reaches it, then run it again."
_KINDS: Final = tuple(
    _Kind(re.compile(pattern), make)
    for pattern, make in (
        (r"SPARK_JOB_CANCELLED|OPERATION_CANCELED|StatusCode\.CANCELLED", _cancelled),
        (r"NotAllowed: (The file .* would be written outside .*)", _not_allowed),
        (
            r"ModuleNotFoundError: No module named '(\w+)",
            _engine(
                r"The Python package \1 is not installed where Spark's tasks run. Install there what this program "
                f"needs: {_INSTALL}.",
                _INSTALL,
            ),
        ),
        (
            (
                r"\[CATALOG_NOT_FOUND\] The catalog `?([\w.-]{1,200})|"
                r"[Cc]atalog plugin class for catalog '([\w.-]{1,200})'"
            ),
            _catalog,
        ),
        (
            r"PYTHON_VERSION_MISMATCH",
            _engine(
                "Spark's workers run another version of Python than this program. Install the same minor version "
                "there, or set PYSPARK_PYTHON to its path."
            ),
        ),
        (
            (
                r"stopped SparkContext|SparkContext was shut down|SparkContext has been shutdown|NO_ACTIVE_SESSION|"
                r"INVALID_HANDLE\.SESSION|SESSION_NOT_SAME|SparkContext or SparkSession should be created"
            ),
            _engine(_ENDED),
        ),
        (
            (
                r"OutOfMemoryError|Java heap space|GC overhead limit|UNABLE_TO_ACQUIRE_MEMORY|SparkOutOfMemory|"
                r"MemoryError|MEMORY_LIMIT|Cannot grow BufferHolder|unable to create native thread"
            ),
            _engine(_OUT_OF_MEMORY),
        ),
        (
            r"(?:bigger|larger) than (?:\w+ )*spark\.driver\.maxResultSize|Total size of serialized results",
            _engine(
                "The result is larger than Spark may send to this program. Read fewer rows or columns, or raise "
                "spark.driver.maxResultSize in your session."
            ),
        ),
        (
            r"[Nn]o space left on device|[Dd]isk quota exceeded",
            _storage("A disk that Spark writes to is full. Free some space there, then run it again."),
        ),
        (
            r'No FileSystem for scheme "?([\w+.\-]+)|UnsupportedFileSystemException: .*scheme "?([\w+.\-]+)',
            _scheme,
        ),
        (
            (
                r"[Cc]odec(?:Name)? (?:class )?(?:[\w.$]*\.)?(\w+) (?:is not|was not|not)|Class [\w.]*\.(\w+?)Codec "
                r"was not found|UnsatisfiedLinkError.*?([Zz]std|[Ss]nappy|[Bb]rotli|[Ll]z[o4])|\b(\w*Brotli\w*)\b"
            ),
            _codec,
        ),
        (
            (
                r"(?:ClassNotFoundException|NoClassDefFoundError)(?:: (?:Class )?)?"
                r"(?:[\w./$]{0,300}[./$])?(\w{1,200})(?: not found)?(?:\n|$)"
            ),
            _engine(
                r"Spark lacks a part that it needs: \1. Add the package that holds it to your Spark session, or pass "
                "storage_options, with which this program reads by itself."
            ),
        ),
        (r"No suitable driver", _storage("Spark has no driver for this database address. Give a file or a folder.")),
        (
            r"Python worker (?:exited unexpectedly|failed to connect back)|SIMPLE_WORKER|EOFException.*PythonRunner",
            _engine(
                "A Python worker of Spark ended while it worked, perhaps for lack of memory. Run it again; if this "
                "happens again, give the machine more memory or read fewer rows."
            ),
        ),
        (
            r"ExecutorLostFailure|ExecutorLost|Executor heartbeat timed out|executor .* exited",
            _engine(
                "A process of Spark was lost while it worked, perhaps for lack of memory. Run it again; if this "
                "happens again, give the executors more memory."
            ),
        ),
        (
            r"PicklingError|NotSerializable|Task not serializable|KryoException|CONTEXT_ONLY_VALID_ON_DRIVER",
            _engine("The work could not be sent to Spark's tasks. This is a bug. Run it with --debug and report it."),
        ),
        (
            r"StatusCode\.UNAUTHENTICATED|StatusCode\.PERMISSION_DENIED",
            _engine("The Spark server refused this program. Check the token and the rights of its user."),
        ),
        (
            r"StatusCode\.(?:UNAVAILABLE|DEADLINE_EXCEEDED|RESOURCE_EXHAUSTED|ABORTED)|RETRIES_EXCEEDED",
            _engine(f"The Spark server does not answer. {_SERVER}"),
        ),
        (
            r"Permission denied|AccessControlException|AccessDenied|\b403\b.*Forbidden|Forbidden.*\b403\b",
            _storage("Spark may not open a file: permission denied. Check the permissions and the credentials there."),
        ),
        (
            (
                r"Connection refused|ConnectException|UnknownHostException|NoRouteToHost|SocketTimeout|"
                r"(?:[Cc]onnect(?:ion)?|[Rr]ead) timed out|Connection reset"
            ),
            _storage("Spark cannot reach the store of the files. Check the address and the network, then try again."),
        ),
        (
            r"Could not execute broadcast in|TimeoutException|Futures timed out",
            _engine("Spark took too long over a step of its work. Run it again when the machine has less to do."),
        ),
        (r"Too many open files", _storage("Too many files are open. Raise the limit (ulimit -n), then run it again.")),
        (r"Input/output error|Stale file handle", _storage("The disk failed while Spark read it. Check the disk.")),
    )
)
