"""A stream into a table, to be killed: ``python -m tests.spark.writes.stream_victim TABLE SOURCE CHECKPOINT KIND``.

It writes a line when a batch is about to be written and one when it was, and ends when the source has nothing left.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import explorer
from explorer.spark.engine.session import engine

INTENTS: dict[str, dict[str, Any]] = {
    "append": {"kind": "append"},
    "merge": {
        "kind": "merge",
        "on": "target.id = source.id",
        "matched": [{"update": {"seen": "target.seen + 1"}}],
        "notMatched": [{"insert": {"id": "source.id", "seen": "1"}}],
    },
}


def stream(table: str, source: str, checkpoint: str, kind: str, tell: Callable[[str], object]) -> None:
    """Stream until the source has nothing left.

    Args:
        table, source, checkpoint: Folders.
        kind: A key of `INTENTS`.
        tell: Told ``batch NUMBER`` before a batch is written, and ``written NUMBER`` or ``found NUMBER`` after it.
    """
    write = explorer.open_table(table).batch_writer("stream", INTENTS[kind])

    def write_batch(rows: Any, number: int) -> None:
        tell(f"batch {number}")
        result = write(rows, number)
        tell(f"{'found' if result.plan.proposal.recorded else 'written'} {number}")

    read = engine().session().readStream.schema("id long").option("maxFilesPerTrigger", 1).parquet(source)
    started = read.writeStream.foreachBatch(write_batch).option("checkpointLocation", checkpoint)
    started.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    stream(*sys.argv[1:], tell=partial(print, flush=True))
