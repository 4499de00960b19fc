"""Small tables of hostile text, and small tables that are broken."""

from collections.abc import Mapping
from pathlib import Path

from tests.support.logs.small_logs import PROTOCOL, Line, add, commit_info, metadata, write_log

HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>{{7*7}}\'"`${1}\u202e'


def created(columns: Mapping[str, str], configuration: Mapping[str, str] | None = None) -> list[Line]:
    """The first commit of a table, whose comments are hostile."""
    return [commit_info("CREATE TABLE"), PROTOCOL, metadata(columns, (), configuration, comment=HOSTILE)]


def hostile_table(folder: Path) -> Path:
    """Write a table in which every string that a page could show is hostile."""
    name = "c" + HOSTILE.replace("\u202e", "")
    long = "x" * 300
    described = metadata({name: "string", long: "long"}, (), {HOSTILE: HOSTILE}, comment=HOSTILE)
    of_hostile_names = "%3Cimg%20src=x%20onerror=window.hacked=1%3E.parquet"
    return write_log(
        folder,
        [
            [commit_info(HOSTILE, user_name=HOSTILE, engine_info=HOSTILE), PROTOCOL, described],
            [
                commit_info("WRITE", user_name=HOSTILE, user_metadata=HOSTILE, operation_parameters={HOSTILE: HOSTILE}),
                add(of_hostile_names, 3, bounds={name: (HOSTILE, HOSTILE + "z"), long: (1, 2)}),
                add("long-" + "y" * 300 + ".parquet", 5, bounds={name: ("a", "b"), long: (1, 9)}),
            ],
        ],
    )


def broken_table(folder: Path) -> Path:
    """Write a table whose third commit breaks off in the middle of a line."""
    written = [[commit_info("WRITE"), add(f"{n}.parquet", n, bounds={"id": (n, n)})] for n in (3, 4)]
    table = write_log(folder, [created({"id": "long"}), *written])
    last = table / "_delta_log" / f"{2:020}.json"
    last.write_bytes(last.read_bytes()[:-30])
    return table


def gap_table(folder: Path) -> Path:
    """Write a table that lacks a commit in the middle."""
    commits = [[commit_info("WRITE"), add(f"{n}.parquet", n, bounds={"id": (n, n)})] for n in range(1, 5)]
    table = write_log(folder, [created({"id": "long"}), *commits])
    (table / "_delta_log" / f"{2:020}.json").unlink()
    return table


def future_table(folder: Path) -> Path:
    """Write a table that demands a reader feature nobody knows."""
    demands = {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["timeMachine"],
            "writerFeatures": ["timeMachine"],
        }
    }
    made, _, described = created({"id": "long"})
    return write_log(folder, [[made, demands, described]])


def empty_table(folder: Path) -> Path:
    """Write a table that was created and never written to."""
    return write_log(folder, [created({"id": "long"})])
