"""The statement of an erasure: what it names, what it may claim, what became of an earlier search, changed bytes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.auditing.document import canonical
from explorer.auditing.erasure import erasure_document
from explorer.core.errors import RequestError
from explorer.report import ErasureStatement, erasure_statement, render, verify_report
from explorer.report.decoding import decode_report, read_statement
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=0)]

PERSON: Final = "name = 'ana'"
AT_ONCE: Final = {"delta.deletedFileRetentionDuration": "interval 0 seconds"}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ErasureStatement, ErasureStatement]:
    """A person's rows before and after delete, purge and vacuum, in a table whose log never held the name."""
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": ["ana", "ben", "ana"]})
    fields = [column("id", "long"), column("name", "string")]
    root = write_table(tmp_path_factory.mktemp("story") / "people", fields, [DataFile("a.parquet", rows)])
    table = explorer.open_table(root)
    before = erasure_statement(table.erasure(PERSON), table, request="118 <b>", by="ana")
    _commit(table, {"kind": "set-properties", "properties": AT_ONCE})
    _commit(table, {"kind": "delete", "where": "id IN (1, 3)"}, reason="request 118")
    for file in root.rglob("*.parquet"):
        os.utime(file, (1_700_000_000, 1_700_000_000))
    _commit(table, {"kind": "vacuum"})
    after = erasure_statement(table.erasure(PERSON), table, since=before)
    return root, before, after


def _commit(table: explorer.Table, intent: dict[str, Any], reason: str | None = None) -> None:
    accepted = [guard.name for guard in table.plan(intent, check_rows=False).guards if guard.status == "unknown"]
    result = table.commit(table.plan(intent, accept=accepted), reason=reason)
    assert result.outcome == "committed", result


@pytest.mark.always
def test_it_names_each_file_that_was_read_and_claims_no_more_than_the_proof(
    story: tuple[Path, ErasureStatement, ErasureStatement],
) -> None:
    _, before, _ = story
    assert (before.erased, before.totals["live"], before.since) == (False, 2, None)
    assert before.claim.startswith("These rows are not erased yet: 2 copies")
    assert [(file.path, file.rows) for file in before.read.files] == [("a.parquet", 3)]
    assert [(place.path, place.state, place.rows) for place in before.places] == [("a.parquet", "live", 2)]


@pytest.mark.always
def test_after_the_steps_it_says_what_became_of_the_files_that_were_found(
    story: tuple[Path, ErasureStatement, ErasureStatement],
) -> None:
    root, before, after = story
    assert not (root / "a.parquet").exists()
    assert (after.erased, after.places, after.traces, after.not_answered) == (True, (), (), ())
    assert after.claim.startswith("Erased from this table: none of 1 stored file")
    assert after.since is not None
    since = after.since
    assert (since.digest, since.copies, since.gone_files, since.left_files) == (before.digest, 2, 1, 0)
    made = [("DELETE", "request 118"), ("VACUUM START", ""), ("VACUUM END", "")]
    assert [(commit.operation, commit.reason) for commit in since.commits] == made
    table = explorer.open_table(root)
    assert after.chain_head == table.verify().chain_head
    assert {file.path: file.rows for file in after.read.files} == {
        path: pq.read_metadata(root / path).num_rows for path in table.snapshot().files().column("path").to_pylist()
    }
    (file,) = after.read.files
    data = (root / file.path).read_bytes()
    footer = int.from_bytes(data[-8:-4], "little") + 8
    assert file.sha256 == hashlib.sha256(data[-footer:]).hexdigest()


def test_the_proof_that_it_rests_on_can_be_computed_again(tmp_path: Path) -> None:
    root = write_table(tmp_path / "t", [column("name", "string")], [DataFile("a.parquet", pa.table({"name": ["ana"]}))])
    table = explorer.open_table(root)
    proof = table.erasure(PERSON)
    assert erasure_statement(proof, table).proof == erasure_document(proof).digest


def test_a_page_says_what_matters_first_and_which_files_a_vacuum_takes_now(
    story: tuple[Path, ErasureStatement, ErasureStatement],
) -> None:
    _, before, _ = story
    (place,) = before.places
    held = (
        msgspec.structs.replace(place, path="old.parquet", gone_from="2020-03-01T10:00:00+00:00"),
        msgspec.structs.replace(place, path="new.parquet", gone_from="2999-03-01T10:00:00+00:00"),
    )
    page = render(msgspec.structs.replace(before, places=held)).split("<script", 1)[0]
    rows = {name: page[page.index(name) : page.index("</tr>", page.index(name))] for name in ("old.", "new.")}
    assert "now, since 1 Mar 2020" in rows["old."]
    assert "1 Mar 2999 10:00 UTC" in rows["new."]
    assert "now" not in rows["new."]
    order = (
        "not erased yet",
        "Matching rows",
        "old.parquet",
        "Scope of the search",
        "chain head",
        "SHA-256",
    )
    assert [page.index(text) for text in order] == sorted(page.index(text) for text in order)


def test_every_byte_of_a_statement_counts(story: tuple[Path, ErasureStatement, ErasureStatement]) -> None:
    _, before, after = story
    for stated in (before, after):
        html, line = render(stated).encode(), msgspec.json.encode(msgspec.to_builtins(stated)) + b"\n"
        assert decode_report(line) == stated
        assert "118 <b>" not in html.decode().split("<script", 1)[0]
        for data in (html, line):
            assert verify_report(data).valid
            assert read_statement(data, "s") == stated
            for place in range(0, len(data), max(len(data) // 97, 1)):
                struck = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
                assert not verify_report(struck).valid, place


def test_the_delete_writes_as_many_rows_into_the_change_feed_as_the_search_foretold(tmp_path: Path) -> None:
    rows = pa.table({"name": ["ana", "ben", "ana"]})
    root = write_table(tmp_path / "t", [column("name", "string")], [DataFile("a.parquet", rows)])
    table = explorer.open_table(root)
    assert [step.feed_rows for step in table.erasure(PERSON).steps if step.feed_rows] == []
    _commit(table, {"kind": "set-properties", "properties": {"delta.enableChangeDataFeed": "true"}})
    (foretold,) = [step for step in table.erasure(PERSON).steps if step.feed_rows]
    assert foretold.intent is not None
    _commit(table, foretold.intent)
    written = [pq.read_table(file).column("name").to_pylist() for file in (root / "_change_data").glob("*.parquet")]
    assert sum(names.count("ana") for names in written) == foretold.feed_rows == 2


def test_an_earlier_statement_that_does_not_fit_is_refused(
    story: tuple[Path, ErasureStatement, ErasureStatement], tmp_path: Path
) -> None:
    _, before, _ = story
    root = write_table(tmp_path / "t", [column("name", "string")], [DataFile("a.parquet", pa.table({"name": ["ana"]}))])
    table = explorer.open_table(root)
    with pytest.raises(RequestError, match="The earlier statement is about"):
        erasure_statement(table.erasure("name = 'eve'"), table, since=before)
    with pytest.raises(RequestError, match="was changed after it was written"):
        read_statement(canonical(msgspec.structs.replace(before, where="name = 'eve'")), "s.json")
    report = render(table.report()).encode()
    with pytest.raises(RequestError, match="the report of an audit"):
        read_statement(report, "r.html")
