"""What a condition would read if rows lay in another order: held against rows that are sorted and cut in fact."""

from __future__ import annotations

import numpy as np
import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.core.protocol.statistics.clustering_estimate import ClusteringEstimate
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import MASKED, PROTOCOL, Line, add, commit_info, metadata, table, vector

FILES, ROWS = 20, 500
KINDS = {
    "id": "long",
    "amount": "integer",
    "price": "decimal(10,2)",
    "ratio": "double",
    "day": "date",
    "code": "string",
}


def _snapshot(*files: Line, partitions: tuple[str, ...] = ()) -> explorer.Snapshot:
    kinds = dict(KINDS) | dict.fromkeys(partitions, "string")
    return table({0: [commit_info("WRITE"), PROTOCOL, metadata(kinds, partitions), *files]}).snapshot()


@pytest.fixture(scope="module")
def written() -> tuple[explorer.Snapshot, dict[str, np.ndarray]]:
    """Rows in the order of their id; the other columns are spread over every file, from least to greatest."""
    random = np.random.default_rng(7)
    count = FILES * ROWS
    rows = {
        "id": np.arange(count),
        "amount": random.integers(0, 1_000, count),
        "price": random.integers(0, 10_000, count) / 100,
        "ratio": random.random(count),
        "day": random.integers(0, 365, count),
    }
    parts = [slice(number * ROWS, (number + 1) * ROWS) for number in range(FILES)]
    files = [
        add(
            f"{number}.parquet",
            ROWS,
            size=1_000,
            bounds={
                "id": _bounds(rows["id"][part]),
                "amount": _bounds(rows["amount"][part]),
                "price": _bounds(rows["price"][part]),
                "ratio": _bounds(rows["ratio"][part]),
                "day": tuple(str(np.datetime64(int(day), "D")) for day in _bounds(rows["day"][part])),
                "code": ("C-000", "C-999"),
            },
        )
        for number, part in enumerate(parts)
    ]
    return _snapshot(*files), rows


def _bounds(values: np.ndarray) -> tuple[float, float]:
    return values.min().item(), values.max().item()


def _of(snapshot: explorer.Snapshot, where: str) -> dict[str, ClusteringEstimate]:
    return {estimate.column: estimate for estimate in snapshot.clustering(where)}


@pytest.mark.parametrize(
    ("where", "column", "matches"),
    [
        ("amount < 100", "amount", lambda rows: rows["amount"] < 100),
        ("amount BETWEEN 250 AND 260", "amount", lambda rows: (rows["amount"] >= 250) & (rows["amount"] <= 260)),
        ("amount IN (3, 997)", "amount", lambda rows: np.isin(rows["amount"], (3, 997))),
        ("NOT amount < 600", "amount", lambda rows: rows["amount"] >= 600),
        ("price <= 33.33", "price", lambda rows: rows["price"] <= 33.33),
        ("ratio < 0.41", "ratio", lambda rows: rows["ratio"] < 0.41),
        ("day >= '1970-12-01'", "day", lambda rows: rows["day"] >= 334),
        ("id = 4711 AND amount = 5", "id", lambda rows: rows["id"] == 4711),
        ("amount < 50 OR id < 10", "amount", lambda rows: np.ones(FILES * ROWS, bool)),
    ],
)
def test_the_estimate_is_what_sorting_gives_give_or_take_a_file(written, where, column, matches) -> None:  # type: ignore[no-untyped-def]
    snapshot, rows = written
    order = np.argsort(rows[column], kind="stable")
    truly = len(np.unique(np.flatnonzero(matches(rows)[order]) // ROWS))
    estimate = _of(snapshot, where)[column]
    assert estimate.files is not None
    assert abs(estimate.files - truly) <= 1
    assert (estimate.size, estimate.at_best, estimate.why) == (1_000 * estimate.files, False, "")


def test_an_order_that_takes_another_one_away_is_estimated_to_read_more(written) -> None:  # type: ignore[no-untyped-def]
    snapshot, _ = written
    where = "id < 500 AND amount < 500"
    assert snapshot.skipping(where).counts.after_statistics == 1
    found = _of(snapshot, where)
    assert found["id"].files == 1
    assert found["amount"].files in {10, 11}


def test_rows_stay_in_their_partition() -> None:
    files = [
        add(f"{region}{number}", 10, bounds={"amount": (0, 99)}, partition_values={"region": region}, size=size)
        for region, size in (("eu", 10), ("us", 1_000), (None, 7))
        for number in range(4)
    ]
    snapshot = _snapshot(*files, partitions=("region",))
    everywhere = _of(snapshot, "amount = 42")["amount"]
    assert (everywhere.files, everywhere.size) == (3, 1_017)
    here = _of(snapshot, "amount = 42 AND region = 'us'")
    assert (here["amount"].files, here["amount"].size, list(here)) == (1, 1_000, ["amount"])


def test_of_a_text_only_the_least_is_known_and_of_a_range_of_texts_nothing(written) -> None:  # type: ignore[no-untyped-def]
    snapshot, _ = written
    one, two = (_of(snapshot, where)["code"] for where in ("code = 'C-417'", "code IN ('C-417', 'C-500') AND id >= 0"))
    assert (one.files, two.files, one.at_best, two.at_best) == (1, 2, True, True)
    for where in at_least_one(["code LIKE 'C-4%'", "code > 'C-4'", "NOT code = 'C-417'", "code = 'C-1' OR id < 5000"]):
        assert _of(snapshot, where)["code"].files is None
        assert _of(snapshot, where)["code"].why


def test_what_the_log_does_not_say_is_not_estimated() -> None:
    bounded = add("a", 10, bounds={"amount": (0, 9)})
    assert _of(_snapshot(bounded, add("b", 10)), "amount = 3")["amount"].why == "1 of 2 files have no bounds for it"
    assert "row count" in _of(_snapshot(bounded, add("b", None)), "amount = 3")["amount"].why


def test_masked_rows_and_empty_tables_weigh_nothing() -> None:
    masked = add("b", 10, bounds={"amount": (500, 599)}, vector=vector("v", 10))
    actions = [commit_info("WRITE"), MASKED, metadata(KINDS), add("a", 10, bounds={"amount": (0, 9)}), masked]
    assert _of(table({0: actions}).snapshot(), "amount > 100")["amount"].files == 0
    assert _of(_snapshot(), "amount > 100")["amount"].files == 0


def test_a_condition_that_names_no_column_of_the_table_is_refused(written) -> None:  # type: ignore[no-untyped-def]
    snapshot, _ = written
    assert snapshot.clustering("length(code) = 3") == ()
    with pytest.raises(RequestError, match="no column nope"):
        snapshot.clustering("nope = 1")
