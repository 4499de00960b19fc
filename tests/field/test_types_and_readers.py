"""Tables after public reports: types that one layer knew, and contradictions that engines read otherwise."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import explorer
from explorer.core.compatibility.access import verdict_of
from explorer.core.compatibility.client_facts import client_facts
from tests.cli.conftest import Call, cli
from tests.support.shared_tables import field_table

__all__ = ["cli"]

pytestmark = pytest.mark.field


def _copy(name: str, folder: Path) -> explorer.Table:
    shutil.copytree(field_table(name), folder / name)
    return explorer.open_table(folder / name)


def _reads(table: explorer.Table, client: str) -> str:
    facts = client_facts()
    return verdict_of(table.requirements(), facts, client, facts.versions[client][-1]).read


@pytest.mark.parametrize("command", ["snapshot", "files"])
def test_readers_who_disagree_are_an_error_with_both_counts(cli: Call, command: str) -> None:
    result = cli(command, field_table("dv-removed-without-its-vector"))
    assert result.code == 3
    for text in ("reads 8 rows", "delta-spark", "17 rows"):
        assert text in result.err
    assert result.out
    whole = cli(command, field_table("dv-removed-without-its-vector"), "--version", 2)
    assert (whole.code, "disagree" in whole.err) == (0, False)


@pytest.mark.spark
@pytest.mark.usefixtures("spark_engine")
def test_the_rows_are_given_and_the_error_follows(cli: Call) -> None:
    result = cli("rows", field_table("dv-removed-without-its-vector"), "--json")
    assert (result.code, len(result.out.splitlines())) == (3, 8)
    assert "17 rows" in result.err


@pytest.mark.spark
@pytest.mark.usefixtures("spark_engine")
def test_a_padded_text_is_found_by_rows_delete_and_erasure(tmp_path: Path) -> None:
    table = _copy("char-padded", tmp_path)
    assert table.rows(where="c = 'ab'").count() == 2
    assert table.erasure("c = 'ab'").totals["live"] == 2
    assert table.commit(table.plan({"kind": "delete", "where": "c = 'ab'"})).outcome == "committed"
    assert table.rows().count() == 2


@pytest.mark.spark
@pytest.mark.usefixtures("spark_engine")
def test_bounds_of_an_old_zone_are_named_before_the_delete_that_they_mislead(tmp_path: Path) -> None:
    table = _copy("bounds-cut-old-zone", tmp_path)
    proof = table.erasure("ts = '1850-01-01T00:07:33Z'")
    assert proof.totals["live"] == 1
    assert [step.intent and step.intent["kind"] for step in proof.steps][:2] == ["recompute-statistics", "delete"]
    assert "wrong-statistics" in {finding.rule for finding in table.audit(check_rows=True).findings}
    assert table.commit(table.plan({"kind": "delete", "where": "ts = '1850-01-01T00:07:33Z'"})).outcome == "committed"


def test_a_void_column_keeps_out_the_clients_that_refuse_it() -> None:
    table = explorer.open_table(field_table("void-column"))
    assert _reads(table, "delta-spark") == "yes"
    assert {_reads(table, client) for client in ("delta-kernel-rs", "DuckDB delta extension")} == {"no"}
    facts = client_facts()
    assert verdict_of(table.requirements(), facts, "delta-rs (python deltalake)", "1.4.0").read == "no"


def test_a_partition_column_of_another_case_is_an_error_that_decides_who_reads() -> None:
    table = explorer.open_table(field_table("partition-column-case"))
    findings = {finding.rule: finding for finding in table.audit().findings}
    assert findings["partition-column-case"].severity == "error"
    assert {_reads(table, client) for client in ("delta-spark", "delta-rs (python deltalake)")} == {"no"}


def test_a_retention_in_months_is_an_error_that_decides_who_reads(tmp_path: Path) -> None:
    table = _copy("retention-in-months", tmp_path)
    finding = next(finding for finding in table.audit().findings if finding.rule == "property-values")
    assert finding.severity == "error"
    assert _reads(table, "delta-spark") == "no"
    assert finding.remedy is not None
    assert finding.remedy.intent is not None
    assert table.commit(table.plan(finding.remedy.intent)).outcome == "committed"
    assert _reads(table, "delta-spark") == "yes"
