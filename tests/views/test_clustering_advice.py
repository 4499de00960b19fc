"""Advice on the order of rows: what it says, what it withholds, and which change makes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import explorer
from explorer.core.protocol.actions import DomainMetadata, Protocol
from explorer.views.table.facts import TableFacts
from explorer.views.table.funnel import ClusteringAdvice, clustering_advice, funnel_of
from tests.support.logs.small_logs import PROTOCOL, Line, add, commit_info, metadata, write_log

KINDS = {"id": "long", "amount": "long", "code": "string", "region": "string"}
CLUSTERED = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("clustering", "domainMetadata"))


def _files() -> list[Line]:
    """Twenty files in the order of the id; each holds all amounts and all codes."""
    return [
        add(
            f"{number}.parquet",
            100,
            size=2 << 20,
            bounds={"id": (number * 100, number * 100 + 99), "amount": (0, 999), "code": ("a", "z")},
            partition_values={"region": "eu"},
        )
        for number in range(20)
    ]


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> TableFacts:
    log = [commit_info("WRITE"), PROTOCOL, metadata(KINDS, ("region",)), *_files()]
    return TableFacts(explorer.open_table(write_log(tmp_path_factory.mktemp("advice") / "t", [log])))


def _clustered(folder: Path) -> TableFacts:
    domain = DomainMetadata(
        domain="delta.clustering", configuration=json.dumps({"clusteringColumns": [["id"]]}), removed=False
    )
    log = [commit_info("WRITE"), CLUSTERED, metadata(KINDS, ("region",)), domain, *_files()]
    return TableFacts(explorer.open_table(write_log(folder / "t", [log])))


def _advice(facts: TableFacts, where: str) -> ClusteringAdvice | None:
    return clustering_advice(facts, funnel_of(facts, 0, where))


def test_a_column_that_is_spread_over_all_files_is_advised_with_what_it_saves_and_costs(facts: TableFacts) -> None:
    advice = _advice(facts, "amount < 100")
    assert advice is not None
    assert advice.title == "Order rows by amount?"
    # A tenth of the rows is two files of twenty; a part of a range that lies on an edge may make it one more.
    now, ordered = advice.candidates
    assert (now.column, now.files, now.basis, now.best) == ("", 20, "as it is", False)
    assert (ordered.column, ordered.basis, ordered.best) == ("amount", "estimate", True)
    assert ordered.files in {2, 3}
    assert advice.saved.startswith(f"about {ordered.files} files instead of 20, ")
    assert advice.cost.startswith("Costs one rewrite of 41.9 MB.")
    assert advice.answers == (("order", "orderBy"), ("by", "amount"), ("mebibytes", "2"))
    assert advice.command == ""


def test_of_a_text_only_the_best_is_promised_and_said_to_be_that(facts: TableFacts) -> None:
    advice = _advice(facts, "code = 'k'")
    assert advice is not None
    assert advice.saved.startswith("at best 1 file instead of 20")
    assert advice.candidates[1].basis == "at best"


@pytest.mark.parametrize(
    ("where", "title"),
    [
        ("id = 1234", "No row order would skip more files"),
        ("amount >= 0", "No order by a column of this condition would skip more files"),
        ("code LIKE 'k%'", "The savings of an order are unknown"),
    ],
)
def test_where_nothing_is_saved_nothing_is_advised(facts: TableFacts, where: str, title: str) -> None:
    advice = _advice(facts, where)
    assert advice is not None
    assert (advice.title, advice.saved, advice.cost, advice.answers, advice.command) == (title, "", "", (), "")


def test_a_condition_on_partitions_alone_has_no_advice(facts: TableFacts) -> None:
    assert _advice(facts, "region = 'eu'") is None


def test_a_clustered_table_is_not_offered_a_change_that_this_program_refuses(tmp_path: Path) -> None:
    facts = _clustered(tmp_path)
    advice = _advice(facts, "amount < 100")
    assert advice is not None
    assert advice.answers == ()
    table = f"delta.`{facts.location}`"
    assert advice.command == f"ALTER TABLE {table} CLUSTER BY (amount); OPTIMIZE {table} FULL"
    assert "replaces the current clustering by id" in advice.cost
