"""A stream into a table, to be killed: ``python -m tests.spark.writes.stream_victim TABLE SOURCE CHECKPOINT KIND``.

It writes a line when a batch is about to be written and one when it was, and ends when the source has nothing left.
"""

from __future__ import annotations

import sys
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


def main() -> None:
    """Stream."""
    location, source, checkpoint, kind = sys.argv[1:5]
    session = engine().session()
    write = explorer.open_table(location).batch_writer("stream", INTENTS[kind])

    def write_batch(rows: Any, number: int) -> None:
        print(f"batch {number}", flush=True)
        result = write(rows, number)
        print(f"{'found' if result.plan.proposal.recorded else 'written'} {number}", flush=True)

    stream = session.readStream.schema("id long").option("maxFilesPerTrigger", 1).parquet(source)
    started = stream.writeStream.foreachBatch(write_batch).option("checkpointLocation", checkpoint)
    started.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()
