"""What keeps readers from rows: features that this program lacks, places out of reach, and what some clients refuse.

What delta-spark 4.4.0 does was tried on tables with such paths and changes of types.
"""

from __future__ import annotations

import json

import msgspec
import pytest

import explorer
from explorer.auditing import Finding
from explorer.core.protocol.actions import DeletionVectorDescriptor, Metadata, Protocol
from tests.support.comparison.audited_tables import NOW
from tests.support.logs.small_logs import MASKED, PROTOCOL, add, metadata, table


def _listing(feature: str, *of_writers: str) -> Protocol:
    return Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=(feature,),
        writer_features=(feature, *of_writers),
    )


def _table(
    *paths: str,
    protocol: Protocol = PROTOCOL,
    said: Metadata | None = None,
    vector: DeletionVectorDescriptor | None = None,
) -> explorer.Table:
    adds = [add(path, vector=vector) for path in paths]
    return table({0: [protocol, said or metadata({"id": "long"}), *adds]})


def _findings(table: explorer.Table, rule: str) -> list[Finding]:
    return [finding for finding in table.audit(NOW).findings if finding.rule == rule]


def _found(table: explorer.Table, rule: str) -> Finding:
    """The one finding of a rule, which has a next step."""
    (finding,) = _findings(table, rule)
    assert finding.remedy is not None
    assert finding.remedy.command or finding.remedy.intent
    return finding


@pytest.mark.parametrize(
    ("protocol", "named"),
    [
        (Protocol(min_reader_version=99, min_writer_version=99), "minReaderVersion 99"),
        (_listing("catalogOwned-preview", "inCommitTimestamp"), "catalogOwned"),
        (_listing("frob"), "frob"),
    ],
)
def test_a_table_of_a_feature_that_this_program_lacks_is_a_warning_with_the_clients(
    protocol: Protocol, named: str
) -> None:
    finding = _found(_table("a.parquet", protocol=protocol), "unread-table")
    assert finding.severity == "warning"
    assert named in finding.evidence[0].text
    assert _findings(_table("a.parquet"), "unread-table") == []


@pytest.mark.parametrize(
    "path", ["abfss://ws@host.dfs.core.windows.net/t/a.parquet", "gs://bucket/a.parquet",
             "odd://place/a.parquet"]
)  # fmt: skip
def test_live_files_in_another_storage_are_an_error_with_the_reason(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AZURE_STORAGE_ACCOUNT_NAME", "AZURE_CLIENT_ID"):
        monkeypatch.delenv(name, raising=False)
    finding = _found(_table("a.parquet", path), "unreachable-files")
    assert (finding.severity, finding.files) == ("error", 1)
    assert len(finding.evidence) > 1


@pytest.mark.parametrize(("kind", "path"), [("p", "file:{{FOLDER}}/x.bin"), ("u", "short"), ("z", "x")])
def test_a_deletion_vector_at_no_place_is_an_error_of_the_audit_and_of_verify(kind: str, path: str) -> None:
    table = _table("a.parquet", protocol=MASKED, vector=DeletionVectorDescriptor(kind, path, 40, 1, 1))
    assert _found(table, "unreachable-files").severity == "error"
    assert [problem.kind for problem in table.verify().problems if problem.breaking] == ["invalid-file-values"]


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ("time=1971-07-22T03:06:40Z/a.parquet", True),
        ("a b.parquet", True),
        ("p=50%/a.parquet", True),
        ("{x}/a.parquet", True),
        ("1x:y/a.parquet", True),
        ("time=1971-07-22T03%3A06%3A40Z/a.parquet", False),
        ("a%20b.parquet", False),
        ("p=50%25/a.parquet", False),
        ("p/x:y.parquet", False),
        ("file:///nowhere/a.parquet", False),
        ("p=ä/a.parquet", False),
    ],
)
def test_a_path_that_is_not_a_uri_is_a_warning(path: str, *, wrong: bool) -> None:
    table = _table("b.parquet", path)
    assert len(_findings(table, "unencoded-paths")) == wrong
    if wrong:
        assert _found(table, "unencoded-paths").files == 1


@pytest.mark.parametrize(
    ("before", "after", "wrong"),
    [
        ("byte", "decimal(4,1)", True),
        ("short", "decimal(6,1)", True),
        ("short", "decimal(10,1)", True),
        ("byte", "decimal(11,1)", False),
        ("integer", "decimal(10,0)", False),
        ("byte", "integer", False),
    ],
)
def test_a_widening_to_a_narrow_decimal_is_a_warning(before: str, after: str, *, wrong: bool) -> None:
    changed = {"delta.typeChanges": [{"fromType": before, "toType": after}]}
    field = {"name": "id", "type": after, "nullable": True, "metadata": changed}
    said = msgspec.structs.replace(
        metadata({"id": after}), schema_string=json.dumps({"type": "struct", "fields": [field]})
    )
    table = _table("a.parquet", protocol=_listing("typeWidening"), said=said)
    assert len(_findings(table, "unlisted-type-changes")) == wrong
    if wrong:
        assert f"{before} to {after}" in _found(table, "unlisted-type-changes").evidence[0].text
