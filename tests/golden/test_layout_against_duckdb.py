"""The layout of files against DuckDB, which replays the same logs with SQL: who wrote each file, sums, and filters."""

import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import duckdb
import numpy as np
import pytest

import explorer
from explorer.core.errors import ExplorerError
from explorer.views.layout.layout import FileChoice, chosen_files, file_figures, table_layout
from explorer.views.layout.writers import UNKNOWN
from explorer.views.table.facts import TableFacts
from tests.support.at_least_one import at_least_one
from tests.support.shared_tables import golden_root, reference_root

_COMMIT = re.compile(r"\d{20}\.json\Z")
_REPLAY = """
with lines as (
    select json, cast(regexp_extract(filename, '(\\d{20})\\.json', 1) as bigint) as version
    from read_json_objects(?, format = 'newline_delimited', filename = true)
), actions as (
    select version, 'add' as kind, json->>'$.add.path' as path, cast(json->>'$.add.size' as bigint) as size
    from lines where json_exists(json, '$.add.path')
    union all
    select version, 'remove', json->>'$.remove.path', null from lines where json_exists(json, '$.remove.path')
), by_version as (
    select path, version, bool_or(kind = 'add') as added, max(size) as size from actions group by path, version
), gone as (
    select path, max(version) as at from by_version where not added group by path
), first as (
    select path, min(version) as written from by_version where added group by path
), live as (
    select path, arg_max(size, by_version.version) as size, any_value(written) as written
    from by_version left join gone using (path) join first using (path)
    where added and by_version.version > coalesce(gone.at, -1)
    group by path
), infos as (
    select version, any_value(json->>'$.commitInfo.operation') as operation,
           any_value(json->>'$.commitInfo.userName') as author
    from lines where json_exists(json, '$.commitInfo') group by version
)
select live.path, size, written, coalesce(operation, 'commit'), coalesce(author, '')
from live left join infos on infos.version = written
"""


def _complete_logs() -> list[Path]:
    """Tables whose log has every commit from the first on, each as a file of JSON."""
    tables = []
    for root in (golden_root() / "tables", reference_root() / "tables"):
        for table in sorted(root.iterdir()):
            names = sorted(path.name for path in (table / "_delta_log").glob("*.json"))
            commits = [int(name[:20]) for name in names if _COMMIT.fullmatch(name)]
            if commits and commits == list(range(len(commits))):
                tables.append(table)
    return tables


@pytest.mark.golden
@pytest.mark.reference
@pytest.mark.parametrize("table", _complete_logs(), ids=lambda path: path.name)
def test_the_layout_is_that_of_a_replay_in_sql(table: Path) -> None:
    try:
        facts = TableFacts(explorer.open_table(table))
        layout = table_layout(facts, facts.last)
    except ExplorerError as error:
        pytest.skip(f"refused: {error}")
    logs = [str(path) for path in sorted((table / "_delta_log").glob("*.json")) if _COMMIT.fullmatch(path.name)]
    rows = duckdb.execute(_REPLAY, [logs]).fetchall()
    expected = {unquote(path): (size, written, operation, author) for path, size, written, operation, author in rows}
    paths = facts.snapshot(facts.last).files(["path"]).column(0).to_pylist()
    if set(paths) != set(expected):
        pytest.skip("the log spells one file in several ways, which this SQL does not follow")
    figures = file_figures(facts, facts.last)
    assert figures.sizes.tolist() == [expected[path][0] for path in paths]
    assert figures.writers.versions.tolist() == [expected[path][1] for path in paths]
    assert UNKNOWN not in figures.writers.versions
    writers = [figures.writers.writers[code] for code in figures.writers.codes]
    assert [(writer.operation, writer.author) for writer in writers] == [expected[path][2:] for path in paths]

    assert (layout.files, layout.size) == (len(paths), sum(row[0] for row in expected.values()))
    counted = Counter((row[2], row[3]) for row in expected.values())
    for each in (group for group in layout.groups if group.group.writer is not None):
        assert each.files == counted[each.group.writer.operation, each.group.writer.author]
    assert sum(each.files for each in layout.groups) == len(paths)
    assert not layout.bars or sum(sum(bar.files) for bar in layout.bars) == len(paths)
    assert sum(sum(each.files) for each in layout.bins) == len(paths) - layout.empty
    for each in layout.bins:
        within = [path for path in paths if each.low <= expected[path][0] < each.high]
        assert sum(each.files) == len(within)
        listed = chosen_files(facts, facts.last, FileChoice(sizes=each.key)).table.column("path").to_pylist()
        assert sorted(listed) == sorted(within)
    if layout.small is not None:
        small = {path: row for path, row in expected.items() if row[0] < layout.small.limit}
        most = Counter(row[2:] for row in small.values()).most_common(1)[0][1]
        assert (layout.small.files, layout.small.written) == (len(small), most)
        assert layout.small.size == sum(row[0] for row in small.values())


@pytest.mark.golden
def test_partitions_are_counted_as_duckdb_counts_the_values_in_the_log() -> None:
    table = golden_root() / "tables" / "dat__partitioned_with_null"
    facts = TableFacts(explorer.open_table(table))
    layout = table_layout(facts, facts.last)
    logs = [str(path) for path in (table / "_delta_log").glob("*.json")]
    counts = duckdb.execute(
        "select json->>'$.add.partitionValues' as part, count(*), sum(cast(json->>'$.add.size' as bigint))::bigint "
        "from read_json_objects(?, format = 'newline_delimited') where json_exists(json, '$.add') group by part",
        [logs],
    ).fetchall()
    assert layout.partitions == len(counts)
    assert Counter((sum(bar.files), sum(bar.sizes)) for bar in layout.bars) == Counter(row[1:] for row in counts)
    for bar in at_least_one(layout.bars):
        listed = chosen_files(facts, facts.last, FileChoice(partition=bar.key)).table
        assert (listed.num_rows, np.sum(listed.column("size").to_numpy())) == (sum(bar.files), sum(bar.sizes))
