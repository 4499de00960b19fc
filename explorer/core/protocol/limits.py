"""Limits on the memory and time that a log may take, and the error beyond them.

Protocol: it sets no limits; these prevent a damaged or hostile log from taking all memory before anyone notices.
Invariants: every check raises `LimitExceeded`; a file beyond a limit is refused by name, never read in part. A program
with a table beyond a limit, and the memory for it, sets the limit here before it opens the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from explorer.core.errors import LimitExceeded

if TYPE_CHECKING:
    from explorer.core.protocol.json_values import JsonValue

MAX_FILE_BYTES = 4 << 30
"""A log file that is read in full: commit, compaction, JSON checkpoint, checksum, hint. Parquet is read by column."""

CHECKPOINT_VARIABLE: Final = "DELTA_EXPLORER_MAX_CHECKPOINT_BYTES"
"""The environment variable that sets the next one."""

MAX_CHECKPOINT_BYTES = 2 << 30
"""A checkpoint as stored, all parts and sidecars together, whose files are listed in this process: some ten million of
them. Spark replays larger ones, piece by piece."""

DECODED_VARIABLE: Final = "DELTA_EXPLORER_MAX_DECODED_BYTES"
"""The environment variable that allows more decoded bytes, however few the stored ones are."""

MAX_DECODED_BYTES = 64 << 20
"""Bytes that may always be decoded, however few are stored."""

DECODED_RATIO = 100
"""Decoded bytes that each stored byte of Parquet may become; the checkpoints of real tables stay below a third."""

MOST_DECODED_BYTES = 16 << 30
"""The most bytes that may be decoded, unless `MAX_DECODED_BYTES` is more; a program sets it by its memory."""

MAX_FOOTER_BYTES = 16 << 20
"""The footer of a Parquet file, which takes some twenty times as much in memory. One of a hundred thousand columns in
one row group takes about as much."""

MAX_DECODED_FOOTER_BYTES = 160 << 20
"""Bytes that such a footer may take in memory: a few bytes of it may claim a million columns."""

MAX_MASKED_ROWS = 1 << 24
"""Rows that one deletion vector masks, of eight bytes each where they are listed. A data file of a gibibyte seldom has
more rows."""

MAX_JSON_VALUES = 1 << 21
"""Values of one JSON document that become objects in memory, of some hundred bytes each. A schema of a hundred thousand
columns has about half as many."""

MAX_LINE_BYTES = 256 << 20
"""One action in JSON. A schema of a hundred thousand columns takes about a tenth of it."""

MAX_NESTING = 300
"""Objects and arrays inside each other in a schemaString; a struct in a struct takes three."""

MAX_COLUMN_BYTES = (1 << 31) - 1
"""Text of one column of files in one piece; Arrow's strings have no room for more, so it cannot be set higher."""


_MOST_DOTS: Final = 400

STRICT_VARIABLE: Final = "DELTA_EXPLORER_STRICT_TYPES"
"""The environment variable that sets the next one, to 1."""

STRICT_TYPES = False
"""Refuse a table with a column of a type that this program does not read; otherwise its other columns are read."""


def check_file(path: str, size: int) -> None:
    """Check the size of a file, in bytes, before it is read in full."""
    if size > MAX_FILE_BYTES:
        raise LimitExceeded(
            f"The file {path} has {size:,} bytes; at most {MAX_FILE_BYTES:,} are read. Check which program "
            "wrote it: a log file of this size is probably corrupt. If it is not, raise "
            "explorer.core.protocol.limits.MAX_FILE_BYTES.",
            path=path,
            found=size,
            allowed=MAX_FILE_BYTES,
        )


def check_input(name: str, size: int) -> None:
    """Check the size of an input file, in bytes; a longer one need not be read to its end."""
    if size > MAX_DECODED_BYTES:
        raise LimitExceeded(
            f"{name} has more than {MAX_DECODED_BYTES:,} bytes, the limit for such a file. Check that it "
            f"is the right one. If it is, set {DECODED_VARIABLE} to more than its size in bytes.",
            path=name,
            found=size,
            allowed=MAX_DECODED_BYTES,
        )


def check_dotted_names(name: str, text: str) -> None:
    """Check the names with dots in a TOML input file: its parser takes the square of their length."""
    dots = [line.count(".") for line in text.splitlines()]
    if max(dots, default=0) > _MOST_DOTS or sum(number * number for number in dots) > _MOST_DOTS * _MOST_DOTS * 10:
        raise LimitExceeded(
            f"{name} has too many dots, as in a.b.c = 1: a line may have at most {_MOST_DOTS}. Check that it is the "
            "right file. If they are part of a string, write the file as JSON.",
            path=name,
            allowed=_MOST_DOTS,
        )


def check_checkpoint(version: int, size: int) -> None:
    """Check the size of a checkpoint, in bytes, before its files are listed here."""
    if size > MAX_CHECKPOINT_BYTES:
        raise LimitExceeded(
            f"The checkpoint of version {version} has {size:,} bytes; one process replays at most "
            f"{MAX_CHECKPOINT_BYTES:,}. Let Spark replay it: delta-explorer snapshot, files or statistics TABLE "
            "--spark MASTER (local[*] is this machine), or Table.files_frame() in Python. If you have enough memory, "
            f"raise {CHECKPOINT_VARIABLE}.",
            version=version,
            found=size,
            allowed=MAX_CHECKPOINT_BYTES,
        )


def decoded_bytes(stored: int) -> int:
    """Return how many bytes so many stored bytes of Parquet may become in memory."""
    return max(MAX_DECODED_BYTES, min(stored * DECODED_RATIO, MOST_DECODED_BYTES))


def too_many_decoded(what: str, path: str, version: int | None, size: int, allowed: int) -> LimitExceeded:
    """Return the error for files that would take too much memory.

    Args:
        version: Their version, if they have one.
        size: The bytes that they would take, or more.
        allowed: The bytes that they may take.
    """
    return LimitExceeded(
        f"{what} would take more than {size:,} bytes of memory once {path} is decoded; {allowed:,} are allowed for "
        "its size as stored. It was probably made to exhaust the memory of its readers: check which program "
        f"wrote it. If it is genuine and you have enough memory, set {DECODED_VARIABLE} to more bytes.",
        version=version,
        path=path,
        found=size,
        allowed=allowed,
    )


def check_footer(path: str, size: int) -> None:
    """Check the size of a Parquet file's footer, in bytes, before it is decoded."""
    allowed = max(MAX_FOOTER_BYTES, MAX_DECODED_BYTES // 4)
    if size > allowed:
        raise LimitExceeded(
            f"The footer of {path} has {size:,} bytes; at most {allowed:,} are read. Check which program wrote it. If "
            f"it is genuine, set {DECODED_VARIABLE} to at least {4 * size:,}.",
            path=path,
            found=size,
            allowed=allowed,
        )


def footer_bytes() -> int:
    """Return the bytes that a Parquet file's footer may take in memory."""
    return max(MAX_DECODED_FOOTER_BYTES, MAX_DECODED_BYTES)


def too_large_footer(path: str, size: int, allowed: int) -> LimitExceeded:
    """Return the error for a footer that would take too much memory."""
    return LimitExceeded(
        f"The footer of {path} would take at least {size:,} bytes of memory; {allowed:,} are allowed. It was probably "
        "made to exhaust the memory of its readers: check which program wrote it. If it is genuine and you have enough "
        f"memory, set {DECODED_VARIABLE} to at least {size:,}.",
        path=path,
        found=size,
        allowed=allowed,
    )


def check_masked_rows(count: int, unique_id: str) -> None:
    """Check the number of rows a deletion vector masks, before they are listed: a few bytes may stand for billions."""
    allowed = max(MAX_MASKED_ROWS, MAX_DECODED_BYTES // 8)
    if count > allowed:
        raise LimitExceeded(
            f"The deletion vector {unique_id} masks {count:,} rows; at most {allowed:,} are listed. Check which "
            f"program wrote it. If it is genuine and you have enough memory, set {DECODED_VARIABLE} to at least "
            f"{8 * count:,}.",
            found=count,
            allowed=allowed,
        )


def check_json_values(data: bytes | str, what: str) -> None:
    """Check the number of values JSON may have, before it becomes objects: two bytes may take a hundred.

    Commas and brackets are counted, those in texts too.

    Raises:
        LimitExceeded: They are too many.
    """
    allowed = max(MAX_JSON_VALUES, MAX_DECODED_BYTES // 100)
    if len(data) <= allowed:
        return
    count = sum(map(data.count, ",[{")) if isinstance(data, str) else sum(map(data.count, (b",", b"[", b"{")))
    if count > allowed:
        raise LimitExceeded(
            f"{what} may have {count:,} JSON values; at most {allowed:,} are decoded. Check which program wrote it. If "
            f"it is genuine and you have enough memory, set {DECODED_VARIABLE} to at least {100 * count:,}.",
            found=count,
            allowed=allowed,
        )


def check_lines(data: bytes, version: int, path: str) -> None:
    """Check the length of every line of a commit, in bytes."""
    if len(data) <= MAX_LINE_BYTES:
        return
    start, number = 0, 1
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        if end - start > MAX_LINE_BYTES:
            raise LimitExceeded(
                f"Line {number} of {path} (version {version}) has {end - start:,} bytes; at most "
                f"{MAX_LINE_BYTES:,} are read. If it is a real action, raise "
                "explorer.core.protocol.limits.MAX_LINE_BYTES.",
                version=version,
                path=path,
                line=number,
                found=end - start,
                allowed=MAX_LINE_BYTES,
            )
        start, number = end + 1, number + 1


_NESTED: Final = (dict, list)


def check_nesting(value: JsonValue, what: str) -> None:
    """Check the nesting depth of decoded JSON."""
    depth = 0
    level: list[Any] = [value] if isinstance(value, _NESTED) else []
    while level:
        depth += 1
        if depth > MAX_NESTING:
            raise too_deep(what)
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, _NESTED)
        ]


def check_column(size: int, what: str) -> None:
    """Check the size of a column of text, in bytes, before it is made."""
    if size > MAX_COLUMN_BYTES:
        raise LimitExceeded(
            f"{what} together have {size:,} bytes; a string column holds at most {MAX_COLUMN_BYTES:,}. "
            "Select other columns of the files, let Spark list them (delta-explorer files TABLE --spark MASTER), or "
            "compact the table's small files first.",
            found=size,
            allowed=MAX_COLUMN_BYTES,
        )


def too_deep(what: str) -> LimitExceeded:
    """Return the error for JSON that is nested too deeply."""
    return LimitExceeded(
        f"{what} is nested deeper than {MAX_NESTING} objects and arrays, the deepest nesting that is read. "
        "Real schemas are much flatter; the log is probably corrupt.",
        allowed=MAX_NESTING,
    )
