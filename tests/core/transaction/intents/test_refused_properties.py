"""Values of properties, and pairs of them, with which other writers could change the table no more."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import DeletionVectorDescriptor
from explorer.core.protocol.table_properties.registry import COMPRESSION_CODEC, PARQUET_FORMAT_VERSION
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.intents.property_settings import check_properties
from explorer.core.transaction.intents.records import CreateTable
from explorer.core.transaction.proposals.create_table import create_table
from tests.support.logs import small_logs
from tests.support.logs.small_proposals import circumstances, proposal, refused, snapshot
from tests.support.logs.small_schemas import array, configuration, field, mapping, struct

STATS = "delta.dataSkippingStatsColumns"
MANIFESTS = "delta.compatibility.symlinkFormatManifest.enabled"
VECTORS = "delta.enableDeletionVectors"
FORMATS = "delta.universalFormat.enabledFormats"
CODEC = "delta.parquet.compression.codec"
VERSION = "delta.parquet.format.version"
KIND = struct(
    field("id", "long"),
    field("p", "long"),
    field("flag", "boolean"),
    field("bin", "binary"),
    field("arr", array("long")),
    field("map", mapping("string", "long")),
    field("v", "variant"),
    field("no", "void"),
    field("s", struct(field("a", "long"), field("flag", "boolean"), field("inner", struct(field("b", "date"))))),
    field("dull", struct(field("flag", "boolean"), field("arr", array("long")))),
    field("my-col", "long"),
    field("größe", "double"),
    field("1", "integer"),
    field("amount", "decimal(10,2)"),
    field("at", "timestamp_ntz"),
    field("text", "string"),
)


def _partitioned() -> explorer.Snapshot:
    metadata = msgspec.structs.replace(
        small_logs.METADATA, schema_string=json.dumps(KIND), partition_columns=("p",), configuration={}
    )
    return small_logs.table({0: [small_logs.PROTOCOL, metadata]}).snapshot()


def _create(properties: dict[str, str], **more: Any) -> dict[str, str]:
    intent = parse_intent({"kind": "create-table", "schema": KIND, "properties": properties, **more})
    assert isinstance(intent, CreateTable)
    return configuration(create_table(intent, circumstances()))


# --- columns of statistics --------------------------------------------------------------------------------------------

BAD_COLUMNS = [
    ("p", "p", "names p, a partition column. Files have no statistics of those. Leave it out."),
    ("id,`P`", "p", "names p, a partition column. Files have no statistics of those. Leave it out."),
    ("flag", "flag", "names flag of the type boolean, for which files cannot be skipped. Leave it out."),
    ("FLAG", "flag", "names flag of the type boolean, for which files cannot be skipped. Leave it out."),
    ("bin", "bin", "names bin of the type binary, for which files cannot be skipped. Leave it out."),
    ("arr", "arr", "names arr of the type array<long>, for which files cannot be skipped. Leave it out."),
    ("map", "map", "names map of the type map<string,long>, for which files cannot be skipped. Leave it out."),
    ("v", "v", "names v of the type variant, for which files cannot be skipped. Leave it out."),
    ("no", "no", "names no of the type void, for which files cannot be skipped. Leave it out."),
    ("s.flag", "s.flag", "names s.flag of the type boolean, for which files cannot be skipped. Leave it out."),
    (
        "dull",
        "dull",
        "names dull of the type struct<flag:boolean,arr:array<long>>, for which files cannot be skipped. Leave it out.",
    ),
]
"""Values, the column that is wrong in them, and what is said of it."""


@pytest.mark.parametrize(("value", "column", "said"), BAD_COLUMNS)
def test_statistics_are_not_asked_for_columns_that_have_none(value: str, column: str, said: str) -> None:
    error = refused(_partitioned(), "set-properties", properties={STATS: value})
    assert str(error) == f"{STATS} {said}"
    assert (error.field, error.column, error.found) == (STATS, column, value)


@pytest.mark.parametrize(("value", "column"), [("p", "p"), ("id,flag", "flag")])
def test_a_new_table_does_not_ask_for_them_either(value: str, column: str) -> None:
    with pytest.raises(InvalidIntent) as caught:
        _create({STATS: value}, partitionColumns=["p"])
    assert (caught.value.field, caught.value.column) == (STATS, column)


def test_a_column_of_a_new_table_that_is_no_partition_column_has_statistics() -> None:
    assert _create({STATS: "p"})[STATS] == "p"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("s,s.a", "names s.a twice: by itself and with s. Leave one out."),
        ("s.inner.b, id, S", "names s.inner.b twice: by itself and with s. Leave one out."),
        ("id,id", "names id twice."),
    ],
)
def test_a_column_has_statistics_once(value: str, said: str) -> None:
    error = refused(_partitioned(), "set-properties", properties={STATS: value})
    assert (str(error), error.field, error.found) == (f"{STATS} {said}", STATS, value)


@pytest.mark.parametrize(
    ("value", "better", "column"),
    [
        ("my-col", "`my-col`", "my-col"),
        ("id, my-col", "id,`my-col`", "my-col"),
        ("größe", "`größe`", "größe"),
        ("1", "`1`", "1"),
        ("s.a,s.in ner", "s.a,s.`in ner`", "s.in ner"),
    ],
)
def test_a_name_that_needs_backticks_has_them(value: str, better: str, column: str) -> None:
    error = refused(_partitioned(), "set-properties", properties={STATS: value})
    assert str(error) == f"{STATS} names {column}, which needs backticks there. Write {better}."
    assert (error.field, error.found, error.nearest) == (STATS, value, better)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "id",
        "`id`",
        "ID , s.a",
        "s",
        "s.inner,s.a",
        "`my-col`,`größe`,`1`",
        "amount,at,text",
        "s.`a`",
    ],
)
def test_the_columns_that_the_reference_takes_are_kept_as_they_are_given(value: str) -> None:
    assert configuration(proposal(_partitioned(), "set-properties", properties={STATS: value})) == {STATS: value}


# --- pairs ------------------------------------------------------------------------------------------------------------

MASKED_PAIR = (
    f"{MANIFESTS} and {VECTORS} cannot both be true: a manifest lists whole files and cannot leave out the rows that a "
    "vector removes. Set one of them to false."
)
HUDI = f"{FORMATS} names hudi, which does not support deletion vectors."


@pytest.mark.parametrize(
    ("before", "wanted", "said", "at"),
    [
        ({VECTORS: "true"}, {MANIFESTS: "true"}, MASKED_PAIR, MANIFESTS),
        ({MANIFESTS: "TRUE"}, {VECTORS: "True"}, MASKED_PAIR, MANIFESTS),
        ({}, {MANIFESTS: "true", VECTORS: "true"}, MASKED_PAIR, MANIFESTS),
        ({VECTORS: "true"}, {FORMATS: "hudi"}, HUDI, FORMATS),
        ({FORMATS: "hudi"}, {VECTORS: "true"}, HUDI, FORMATS),
        ({}, {FORMATS: "hudi", VECTORS: "true"}, HUDI, FORMATS),
    ],
)
def test_properties_that_exclude_one_another_are_not_set_in_any_order(
    before: dict[str, str], wanted: dict[str, str], said: str, at: str
) -> None:
    table = snapshot(properties=before, rules=small_logs.MASKED if VECTORS in before else small_logs.PROTOCOL)
    error = refused(table, "set-properties", properties=wanted)
    assert (str(error), error.field) == (said, at)


@pytest.mark.parametrize("other", [{MANIFESTS: "true"}, {FORMATS: "hudi"}])
def test_properties_that_exclude_one_another_are_not_set_on_a_new_table(other: dict[str, str]) -> None:
    with pytest.raises(InvalidIntent) as caught:
        _create({VECTORS: "true", **other})
    assert caught.value.field in other
    assert _create({VECTORS: "false", **other}).items() >= other.items()


def test_the_feature_of_vectors_is_not_switched_on_beside_manifests() -> None:
    error = refused(snapshot(properties={MANIFESTS: "true"}), "enable-feature", feature="deletionVectors")
    assert str(error) == MASKED_PAIR


@pytest.mark.parametrize("wanted", [{MANIFESTS: "false"}, {VECTORS: "false"}, {"own": "x"}])
def test_a_table_that_has_both_can_be_mended_and_changed(wanted: dict[str, str]) -> None:
    before = {MANIFESTS: "true", VECTORS: "true"}
    table = snapshot(properties=before, rules=small_logs.MASKED)
    assert configuration(proposal(table, "set-properties", properties=wanted)) == before | wanted


def test_manifests_are_not_kept_of_a_table_that_masks_rows() -> None:
    vector = DeletionVectorDescriptor(
        storage_type="u", path_or_inline_dv="ab^-aqEH.-t@S}K{vb[*k^", offset=1, size_in_bytes=36, cardinality=2
    )
    masked = small_logs.add("a", records=9, vector=vector)
    error = refused(snapshot(masked, rules=small_logs.MASKED), "set-properties", properties={MANIFESTS: "true"})
    assert str(error) == (
        f"{MANIFESTS} cannot be true while deletion vectors mask rows of the table (2 now): a manifest lists whole "
        "files. Purge the deletion vectors first."
    )
    assert error.field == MANIFESTS
    whole = snapshot(small_logs.add("a", records=9), rules=small_logs.MASKED)
    assert configuration(proposal(whole, "set-properties", properties={MANIFESTS: "true"})) == {MANIFESTS: "true"}
    table = snapshot(masked, rules=small_logs.MASKED)
    assert configuration(proposal(table, "set-properties", properties={MANIFESTS: "false"})) == {MANIFESTS: "false"}


# --- new files --------------------------------------------------------------------------------------------------------


@pytest.mark.conformance("SCHEMA-020")
@pytest.mark.parametrize("value", ["lzo", "LZO"])
def test_a_codec_that_no_file_gets_is_not_set(value: str) -> None:
    with pytest.raises(InvalidIntent) as caught:
        check_properties({CODEC: value})
    assert (caught.value.field, caught.value.found) == (CODEC, value)
    assert caught.value.allowed == ["uncompressed", "none", "snappy", "gzip", "brotli", "lz4", "lz4_raw", "zstd"]


@pytest.mark.conformance("SCHEMA-020")
@pytest.mark.parametrize("value", ["9.9.9", "3.0.0", "1.0.1", "1.2.0", "2.0", "2.1.0.0", "2.٣.0", "12.0.0"])
def test_a_version_that_parquet_does_not_have_is_not_set(value: str) -> None:
    with pytest.raises(InvalidIntent) as caught:
        check_properties({VERSION: value})
    assert str(caught.value) == (f"The property {VERSION} cannot be {value!r}; it must be 1.0.0 or 2.12.0.")
    assert (caught.value.field, caught.value.found) == (VERSION, value)


@pytest.mark.conformance("SCHEMA-020")
@pytest.mark.parametrize("value", ["1.0.0", "2.0.0", "2.12.0", "2.6.11"])
def test_a_version_that_parquet_has_is_set(value: str) -> None:
    assert check_properties({VERSION: value}) == {VERSION: value}


def test_a_table_that_has_such_values_is_read_and_changed() -> None:
    old = {CODEC: "lzo", VERSION: "9.9.9", STATS: "my-col"}
    table = snapshot(properties=old)
    assert table.num_files == 0
    assert COMPRESSION_CODEC.of(table.metadata.configuration) == "lzo"
    assert PARQUET_FORMAT_VERSION.text(table.metadata.configuration) == "9.9.9"
    assert configuration(proposal(table, "set-properties", properties={"own": "x"})) == {**old, "own": "x"}
    assert configuration(proposal(table, "unset-properties", keys=[CODEC, VERSION, STATS])) == {}
