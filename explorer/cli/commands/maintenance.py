"""``maintenance``: who vacuumed, cleaned up and compacted a table, when, why, and what went."""

from __future__ import annotations

from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag, TableArgument
from explorer.cli.output import emit, listing
from explorer.cli.tables import open_named


def maintenance(table: TableArgument, *, json: JsonFlag = False) -> int:
    """List vacuums, log cleanups, checkpoints and log compactions: who, when, why, and what was deleted.

    What this program did on this machine comes from its journal, with digests and deleted paths; vacuums by others come
    from the log. The journal is in your state folder, or in the folder of the variable DELTA_EXPLORER_JOURNAL; the
    value `off` disables it.
    """
    from explorer.views.table.maintenance import maintenance_line

    entries = open_named(table).maintenance()
    if json:
        for entry in entries:
            emit(entry)
        return 0
    lines = map(maintenance_line, entries)
    listing(
        ["time", "what", "by", "files", "reason", "recorded in"],
        (
            (
                fmt.moment(line.time),
                line.title if not line.trouble else f"{line.title}: {line.trouble}",
                line.by,
                line.files,
                line.reason,
                ", ".join(f"v{version}" for version in line.recorded_in),
            )
            for line in lines
        ),
        "No maintenance is recorded.",
    )
    return 0
