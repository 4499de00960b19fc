"""Which features a protocol has, and which protocols are refused: each reason, and the facts of the error."""

from __future__ import annotations

import pytest

from explorer.core.errors import CorruptTable, UnsupportedFeature
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.protocol_evolution import (
    evolution_problems,
    is_legal_upgrade,
    protocol_problems,
    with_closure,
    with_features,
    with_versions,
    without_feature,
)
from explorer.core.protocol.table_features import (
    check_readable,
    feature_of_type,
    missing_features,
    supported_features,
    why_not_readable,
)


def _protocol(reader: int, writer: int, *, r: str | None = None, w: str | None = None) -> Protocol:
    lists = [None if names is None else tuple(names.split()) for names in (r, w)]
    return Protocol(
        min_reader_version=reader, min_writer_version=writer, reader_features=lists[0], writer_features=lists[1]
    )


@pytest.mark.parametrize(
    ("protocol", "reason"),
    [
        (_protocol(0, 2), "protocol versions below 1 do not exist"),
        (_protocol(1, 0), "protocol versions below 1 do not exist"),
        (_protocol(3, 6, r=""), "reader version 3 needs writer version 7"),
        (_protocol(3, 7, w=""), "reader version 3 needs the list readerFeatures"),
        (_protocol(2, 5, r="columnMapping"), "readerFeatures may only be listed with reader version 3"),
    ],
)
def test_a_protocol_that_contradicts_itself_is_refused_with_its_version_and_the_reason(
    protocol: Protocol, reason: str
) -> None:
    with pytest.raises(CorruptTable) as refused:
        check_readable(protocol, 9)
    assert refused.value.version == 9
    assert refused.value.message == (
        f"The protocol of version 9 contradicts itself: {reason}. It was written incorrectly. The table's owner must "
        "commit a corrected protocol action."
    )


def test_a_protocol_of_the_lowest_versions_is_read() -> None:
    check_readable(_protocol(1, 1), 0)
    assert why_not_readable(_protocol(1, 1)) == ()


def test_a_feature_that_is_not_known_is_refused_by_its_name() -> None:
    with pytest.raises(UnsupportedFeature) as refused:
        check_readable(_protocol(3, 7, r="columnMapping made-up", w="columnMapping made-up"), 4)
    assert (refused.value.operation, refused.value.version, refused.value.features) == ("read", 4, ["made-up"])


def test_what_a_catalog_manages_is_read_only_with_what_the_catalog_says() -> None:
    managed = _protocol(3, 7, r="catalogManaged made-up", w="catalogManaged made-up")
    assert why_not_readable(managed) == ("catalogManaged", "made-up")
    assert why_not_readable(managed, by_catalog=True) == ("made-up",)
    alone = _protocol(3, 7, r="catalogManaged", w="catalogManaged")
    check_readable(alone, 1, by_catalog=True)
    with pytest.raises(UnsupportedFeature) as refused:
        check_readable(alone, 1)
    assert refused.value.features == ["catalogManaged"]


def test_names_that_only_readers_are_told_are_features_too() -> None:
    assert supported_features(_protocol(3, 7, r="told-to-readers", w="")) == ("told-to-readers",)


@pytest.mark.conformance("FEAT-005")
def test_a_version_implies_features_also_where_a_list_stands_wrongly_beside_it() -> None:
    # "Supported Features": reader 2 with writer 5 implies column mapping, which reader 1 with writer 5 does not.
    listed = "listed-beside"
    implied = ("appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns")
    assert set(supported_features(_protocol(2, 5, r=listed))) == {*implied, "columnMapping", listed}
    assert set(supported_features(_protocol(1, 5, r=listed))) == {*implied, listed}


def test_a_preview_of_a_feature_stands_for_it() -> None:
    previewed = _protocol(3, 7, r="variantType-preview", w="variantType-preview")
    assert missing_features(["variantType", "made-up", "made-up"], previewed) == ("made-up",)
    assert missing_features(["variantType"], _protocol(1, 2)) == ("variantType",)


def test_types_name_the_feature_that_they_need() -> None:
    assert [feature_of_type(name) for name in ("timestamp_ntz", "variant", "long")] == [
        "timestampNtz",
        "variantType",
        None,
    ]


@pytest.mark.parametrize(
    ("protocol", "problem"),
    [
        (_protocol(3, 6, r=""), "reader version 3 needs writer version 7 (PROTO-009)"),
        (_protocol(1, 7, r="", w=""), "readerFeatures exist with reader version 3 and with no other (FEAT-004)"),
        (_protocol(1, 7), "writerFeatures exist with writer version 7 and with no other (FEAT-004)"),
        (_protocol(3, 7, r="x y", w=""), "x, y are listed for readers only (FEAT-003)"),
        (
            _protocol(3, 7, r="", w="columnMapping deletionVectors"),
            "columnMapping, deletionVectors bind readers too and are listed for writers only (FEAT-003)",
        ),
        (
            _protocol(3, 7, r="appendOnly invariants", w="appendOnly invariants"),
            "appendOnly, invariants bind writers alone and are listed for readers (FEAT-003)",
        ),
        (_protocol(1, 7, w="icebergCompatV3"), "icebergCompatV3 needs columnMapping, rowTracking (FEAT-009)"),
    ],
)
def test_what_is_illegal_about_a_protocol_is_said_with_every_name(protocol: Protocol, problem: str) -> None:
    assert protocol_problems(protocol) == (problem,)


def test_features_that_would_be_lost_are_named() -> None:
    before, after = _protocol(1, 7, w="appendOnly invariants"), _protocol(1, 7, w="")
    assert evolution_problems(before, after) == ("the features appendOnly, invariants would be lost",)


def test_versions_that_a_protocol_has_already_change_nothing() -> None:
    listed = _protocol(1, 7, w="domainMetadata")
    assert with_versions(listed, 1, 7) is listed
    assert with_versions(_protocol(1, 2), 1, 4) == _protocol(1, 4)
    assert is_legal_upgrade(_protocol(1, 2), 1, 2)


@pytest.mark.conformance("PROTO-006")
def test_a_feature_raises_the_version_that_lacks_it_and_lowers_none() -> None:
    assert with_features(_protocol(1, 5), ["columnMapping"]) == _protocol(2, 5)
    # Reader 2 may not fall to the reader 1 of the version that implies just these features.
    raised = with_features(_protocol(2, 2), ["checkConstraints"])
    assert raised == _protocol(2, 7, w="appendOnly invariants checkConstraints")


def test_a_feature_that_is_taken_out_leaves_readers_the_least_version() -> None:
    left = without_feature(_protocol(1, 7, w="domainMetadata rowTracking"), "rowTracking")
    assert left == _protocol(1, 7, w="domainMetadata")


def test_a_name_that_is_not_known_needs_nothing() -> None:
    assert with_closure(["made-up"]) == ("made-up",)
