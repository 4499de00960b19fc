"""How a protocol may change: features with what they need, versions, a feature taken out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.protocol_evolution import (
    LEGAL_VERSIONS,
    evolution_problems,
    is_legal_upgrade,
    minimal_protocol,
    protocol_problems,
    with_features,
    with_versions,
    without_feature,
)
from explorer.core.protocol.table_features import FEATURES, supported_features


def _protocol(reader: int, writer: int, *, r: str | None = None, w: str | None = None) -> Protocol:
    lists = [None if names is None else tuple(names.split()) for names in (r, w)]
    return Protocol(
        min_reader_version=reader, min_writer_version=writer, reader_features=lists[0], writer_features=lists[1]
    )


def _sets(protocol: Protocol) -> tuple[int, int, frozenset[str] | None, frozenset[str] | None]:
    lists = (protocol.reader_features, protocol.writer_features)
    reader, writer = (None if names is None else frozenset(names) for names in lists)
    return protocol.min_reader_version, protocol.min_writer_version, reader, writer


# What delta-spark wrote, see COMMITS.md of the reference tables.
@pytest.mark.conformance("FEAT-005", "FEAT-003", "FEAT-004", "WRITER-002")
@pytest.mark.parametrize(
    ("before", "features", "after"),
    [
        (_protocol(1, 2), "checkConstraints", _protocol(1, 3)),
        (_protocol(1, 2), "changeDataFeed", _protocol(1, 7, w="appendOnly invariants changeDataFeed")),
        (_protocol(1, 2), "columnMapping", _protocol(2, 7, w="appendOnly invariants columnMapping")),
        (
            _protocol(1, 2),
            "deletionVectors",
            _protocol(3, 7, r="deletionVectors", w="appendOnly invariants deletionVectors"),
        ),
        (
            _protocol(2, 6),
            "deletionVectors",
            _protocol(
                3,
                7,
                r="columnMapping deletionVectors",
                w="appendOnly invariants checkConstraints changeDataFeed generatedColumns columnMapping identityColumns"
                " deletionVectors",
            ),
        ),
        (_protocol(1, 7, w="invariants"), "columnMapping", _protocol(2, 7, w="invariants columnMapping")),
        (_protocol(1, 7, w=""), "domainMetadata", _protocol(1, 7, w="domainMetadata")),
        # From here on by the words of the protocol: who binds readers is in both lists once there are two.
        (
            _protocol(2, 7, w="columnMapping"),
            "deletionVectors",
            _protocol(3, 7, r="columnMapping deletionVectors", w="columnMapping deletionVectors"),
        ),
        (_protocol(3, 7, r="", w=""), "appendOnly", _protocol(3, 7, r="", w="appendOnly")),
        (_protocol(3, 7, r="", w=""), "columnMapping", _protocol(3, 7, r="columnMapping", w="columnMapping")),
    ],
)
def test_features_are_added_as_the_reference_adds_them(before: Protocol, features: str, after: Protocol) -> None:
    assert _sets(with_features(before, features.split())) == _sets(after)


@pytest.mark.conformance("FEAT-009")
@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("rowTracking", "domainMetadata"),
        ("clustering", "domainMetadata"),
        ("variantShredding", "variantType"),
        ("icebergCompatV1", "columnMapping"),
        ("icebergCompatV2", "columnMapping"),
        ("icebergCompatV3", "columnMapping rowTracking domainMetadata"),
        ("catalogManaged", "inCommitTimestamp vacuumProtocolCheck"),
    ],
)
def test_a_feature_comes_with_what_it_needs(name: str, needed: str) -> None:
    made = minimal_protocol([name])
    assert set(needed.split()) <= set(supported_features(made))
    assert protocol_problems(made) == ()
    both = FEATURES[name].reader
    bare = _protocol(3, 7, r=name if both else "", w=name)
    assert any(f"{name} needs" in problem for problem in protocol_problems(bare))


@pytest.mark.conformance("PROTO-011")
def test_a_plain_new_table_has_protocol_1_2() -> None:
    assert minimal_protocol([]) == _protocol(1, 2)


def test_nothing_to_add_is_the_same_protocol() -> None:
    before = _protocol(1, 4)
    assert with_features(before, ["changeDataFeed", "appendOnly"]) is before


@pytest.mark.parametrize(
    ("protocol", "dropped", "after"),
    [
        (_protocol(1, 7, w="inCommitTimestamp invariants appendOnly"), "inCommitTimestamp", _protocol(1, 2)),
        (_protocol(1, 3), "checkConstraints", _protocol(1, 2)),
        (
            _protocol(3, 7, r="deletionVectors columnMapping", w="deletionVectors columnMapping invariants"),
            "deletionVectors",
            _protocol(2, 7, w="columnMapping invariants"),
        ),
        (_protocol(3, 7, r="v2Checkpoint", w="v2Checkpoint"), "v2Checkpoint", _protocol(1, 1)),
    ],
)
def test_what_is_left_after_a_drop_needs_no_more_than_it_uses(
    protocol: Protocol, dropped: str, after: Protocol
) -> None:
    assert _sets(without_feature(protocol, dropped)) == _sets(after)


@pytest.mark.conformance("PROTO-006", "FEAT-006", "PROTO-009")
@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (_protocol(2, 5), _protocol(1, 2), "reader version falls"),
        (_protocol(1, 4), _protocol(1, 3), "changeDataFeed"),
        (_protocol(1, 4), _protocol(1, 7, w="appendOnly"), "generatedColumns"),
        (_protocol(3, 7, r="", w="appendOnly"), _protocol(3, 7, r="", w=""), "appendOnly"),
    ],
)
def test_falling_versions_and_lost_features_are_named(before: Protocol, after: Protocol, words: str) -> None:
    assert any(words in problem for problem in evolution_problems(before, after))


@pytest.mark.conformance("FEAT-003", "FEAT-004", "FEAT-009", "PROTO-009")
@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        (_protocol(3, 6, r=""), "writer version 7"),
        (_protocol(3, 7, w=""), "readerFeatures"),
        (_protocol(1, 7), "writerFeatures"),
        (_protocol(1, 2, w="appendOnly"), "writerFeatures"),
        (_protocol(3, 7, r="deletionVectors", w=""), "for readers only"),
        (_protocol(3, 7, r="", w="deletionVectors"), "for writers only"),
        (_protocol(3, 7, r="appendOnly", w="appendOnly"), "bind writers alone"),
        (_protocol(1, 7, w="rowTracking"), "domainMetadata"),
    ],
)
def test_illegal_protocols_are_told(protocol: Protocol, words: str) -> None:
    assert any(words in problem for problem in protocol_problems(protocol))


@pytest.mark.conformance("PROTO-008", "WRITER-002")
def test_each_writer_version_has_the_duties_of_those_below_it() -> None:
    steps = {
        1: (),
        2: ("appendOnly", "invariants"),
        3: ("checkConstraints",),
        4: ("changeDataFeed", "generatedColumns"),
        5: ("columnMapping",),
        6: ("identityColumns",),
    }
    duties: set[str] = set()
    for writer, added in steps.items():
        duties |= set(added)
        reader = 2 if writer >= 5 else 1
        assert set(supported_features(_protocol(reader, writer))) == duties


@pytest.mark.conformance("PROTO-008")
@pytest.mark.parametrize(
    ("before", "reader", "writer", "legal"),
    [
        (_protocol(1, 1), 1, 2, True),
        (_protocol(1, 2), 1, 4, True),
        (_protocol(1, 4), 2, 4, False),
        (_protocol(1, 4), 2, 5, True),
        (_protocol(2, 5), 1, 6, False),
        (_protocol(2, 6), 3, 7, True),
        (_protocol(1, 7, w=""), 1, 3, False),
    ],
)
def test_versions_rise_along_the_ladder(before: Protocol, reader: int, writer: int, legal: bool) -> None:
    assert is_legal_upgrade(before, reader, writer) is legal


_FREE = [name for name in FEATURES if name not in ("catalogManaged", "catalogOwned", "catalogOwned-preview")]


@given(
    st.sampled_from([pair for pair in LEGAL_VERSIONS if pair[1] < 7]),
    st.lists(st.one_of(st.sampled_from(_FREE), st.sampled_from(LEGAL_VERSIONS)), max_size=6),
)
def test_a_protocol_that_evolves_is_legal_at_every_step(
    start: tuple[int, int], steps: list[str | tuple[int, int]]
) -> None:
    protocol, wanted = _protocol(*start), set(supported_features(_protocol(*start)))
    assert not protocol_problems(protocol)
    for step in steps:
        if isinstance(step, str):
            after = with_features(protocol, [step])
            wanted.add(step)
        elif is_legal_upgrade(protocol, *step):
            after = with_versions(protocol, *step)
            wanted |= set(supported_features(after))
        else:
            continue
        assert not protocol_problems(after)
        assert not evolution_problems(protocol, after)
        assert wanted <= set(supported_features(after))
        protocol = after
    for name in supported_features(protocol):
        left = without_feature(protocol, name)
        assert set(supported_features(left)) == set(supported_features(protocol)) - {name}
        assert not evolution_problems(protocol, left, name)
