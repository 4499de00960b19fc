"""Verdicts out of a few rows that are all that is known: each state of a version, each field of an answer."""

from __future__ import annotations

import pytest

from explorer.core.compatibility.access import ClientVerdict, Requirements, compatibility, requirements
from explorer.core.compatibility.client_facts import ClientFact, ClientFacts
from explorer.core.compatibility.matrix import MatrixRow, matrix
from explorer.core.compatibility.releases import client_named, known_release, writers_seen
from explorer.core.errors import RequestError
from explorer.core.protocol.actions import Metadata, Protocol
from tests.support.logs import small_logs

READER_2 = Protocol(min_reader_version=2, min_writer_version=5)
LISTED = Protocol(
    min_reader_version=3, min_writer_version=7, reader_features=("columnMapping",), writer_features=("columnMapping",)
)


def row(feature: str, read: str, write: str = "", **more: str) -> ClientFact:
    given = {"client": "c", "version_from": "1.0", "when": "", "basis": "stated", "note": ""} | more
    return ClientFact(
        feature=feature, read=read, write=write, **{"source": f"on {feature}", "as_of": "2026-02"} | given
    )


def verdict(table: Requirements, *rows: ClientFact) -> ClientVerdict:
    [found] = compatibility(table, ClientFacts(rows))
    return found


UNMET = ("minReaderVersion 2",)
SAID = "on protocol; on *"
UNSAID = f"{SAID}; nothing on minReaderVersion 2 in on protocol"


@pytest.mark.parametrize(
    ("known", "read", "because", "source"),
    [
        ("1", "no", UNMET, SAID),
        ("2", "yes", (), SAID),
        ("3", "yes", (), SAID),
        ("1+", "unknown", UNMET, UNSAID),
        ("2+", "yes", (), SAID),
        ("0", "no", (), SAID),
        ("yes", "unknown", (), SAID),
        ("unknown", "unknown", (), SAID),
        ("", "unknown", UNMET, UNSAID),
    ],
)
def test_a_version_of_the_protocol_is_known_to_be_met_not_to_be_met_or_not_known(
    known: str, read: str, because: tuple[str, ...], source: str
) -> None:
    found = verdict(Requirements(READER_2), row("protocol", known, "7", as_of="2025"), row("*", "yes", "yes"))
    assert (found.read, found.because, found.source, found.as_of) == (read, because, source, "2025")


def test_what_a_row_says_of_all_features_is_nothing_on_the_version() -> None:
    found = verdict(Requirements(READER_2), row("*", "yes", "yes"))
    assert (found.read, found.write) == ("unknown", "unknown")
    assert found.because == ("minReaderVersion 2", "minWriterVersion 5")
    assert found.source == "nothing on minReaderVersion 2, minWriterVersion 5 in on *"


def test_a_need_that_no_row_names_is_said_of_the_first_source_of_the_client() -> None:
    found = verdict(Requirements(LISTED), row("protocol", "3", "7"))
    assert (found.read, found.because) == ("unknown", ("columnMapping",))
    assert found.source == "nothing on columnMapping in on protocol"


@pytest.mark.parametrize(
    ("protocol", "keeps", "read"),
    [(READER_2, False, "no"), (READER_2, True, "unknown"), (LISTED, False, "yes"), (LISTED, True, "wrong")],
)
def test_conditions_on_column_mapping_hold_one_by_one(protocol: Protocol, keeps: bool, read: str) -> None:
    rows = (
        row("protocol", "3", "7"),
        row("*", "yes", "yes"),
        row("columnMapping", "yes", "yes"),
        row("columnMapping", "no", "no", when="reader 2"),
        row("columnMapping", "wrong", "no", when="names kept"),
        row("columnMapping", "partial", "no", when="reader 2, names kept"),
    )
    assert verdict(Requirements(protocol, keeps_names=keeps), *rows).read == read


def test_names_are_a_matter_of_column_mapping_alone() -> None:
    protocol = Protocol(
        min_reader_version=3, min_writer_version=7, reader_features=("v2Checkpoint",), writer_features=("v2Checkpoint",)
    )
    rows = (
        row("protocol", "3", "7"),
        row("v2Checkpoint", "yes", "yes"),
        *(row("v2Checkpoint", "wrong", "wrong", when=each) for each in ("names kept", "reader 2", "mode id")),
        row("v2Checkpoint", "wrong", "wrong", when="partitions mapped"),
    )
    asked = Requirements(protocol, by_id=True, keeps_names=True, maps_partitions=True)
    assert verdict(asked, *rows).read == "yes"


@pytest.mark.parametrize(("basis", "state"), [("stated", "yes"), ("unverified", "unknown")])
def test_a_source_that_nobody_checked_says_that_it_is_not_known(basis: str, state: str) -> None:
    facts = ClientFacts([row("rowTracking", "yes", "yes", basis=basis)])
    found = facts.statement("c", "1.0", "rowTracking", "read")
    assert found is not None
    assert (found.state, found.source, found.as_of) == (state, "on rowTracking", "2026-02")


def test_a_table_that_lists_vectors_is_asked_for_them_and_another_is_not() -> None:
    plain = small_logs.table({0: [small_logs.PROTOCOL, small_logs.METADATA, small_logs.add("a")]})
    assert plain.requirements(0) == requirements(small_logs.PROTOCOL, small_logs.METADATA, has_vectors=False)
    masked = {0: [small_logs.MASKED, small_logs.METADATA, small_logs.add("a")]}
    assert "deletionVectors" in small_logs.table(masked).requirements(0).unused
    masked[1] = [small_logs.add("b", vector=small_logs.vector("v"))]
    assert "deletionVectors" not in small_logs.table(masked).requirements(1).unused


def test_a_row_of_the_matrix_is_the_verdict() -> None:
    facts = ClientFacts([row("protocol", "1", "7", as_of="2025")])
    table = requirements(READER_2, Metadata(id="m"))
    verdicts = compatibility(table, facts)
    assert matrix(table, verdicts, facts) == (
        MatrixRow(
            client="c",
            version="1.0",
            version_from="1.0",
            read=verdicts[0].read,
            write=verdicts[0].write,
            because=verdicts[0].because,
            source=verdicts[0].source,
            as_of=verdicts[0].as_of,
        ),
    )
    assert verdicts[0].because[0] == "minReaderVersion 2"


def test_a_writer_has_the_time_of_its_last_commit() -> None:
    commits = [
        [small_logs.PROTOCOL, small_logs.METADATA, small_logs.commit_info("WRITE", engine_info="house writer")],
        [small_logs.commit_info("WRITE", engine_info="house writer")],
        [small_logs.commit_info("WRITE", engine_info="other")],
    ]
    record = small_logs.table(dict(enumerate(commits))).history_record().commits
    times = {each.engine_info: each.last_time for each in writers_seen(record, ClientFacts([]))}
    assert times == {"house writer": record[1].timestamp, "other": record[2].timestamp}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("2026-03", "2026-03"),
        ("2026-04", "2026-03"),
        ("2026-03-15", "2026-03"),
        ("2026-06-01", "2026-06"),
        ("2026-02-28", "before 2026-03"),
        ("2019", None),
        ("before 2026-02", "before 2026-03"),
        ("before 2026-03-01", None),
    ],
)
def test_a_date_is_that_of_the_newest_start_before_it_or_of_what_was_before(asked: str, found: str | None) -> None:
    rows = [row("protocol", "1", "2", version_from=each) for each in ("before 2026-03", "2026-03", "2026-06")]
    facts = ClientFacts(rows)
    if found is None:
        with pytest.raises(RequestError, match="no facts are known"):
            known_release("c", asked, facts)
    else:
        assert known_release("c", asked, facts) == found


def _named(*names: str) -> ClientFacts:
    return ClientFacts([row("protocol", "1", "2", client=name) for name in names])


def test_a_client_that_is_not_known_is_told_with_those_that_come_close() -> None:
    facts = _named("delta-spark", "Trino", "Athena", "Trine")
    with pytest.raises(RequestError) as caught:
        client_named("Trnio", facts)
    error = caught.value
    assert (error.field, error.found, error.nearest) == ("name", "Trnio", ["Trino", "Trine"])
    assert str(error) == "No facts are known of a client 'Trnio'. Names that come close: Trino, Trine."


def test_a_client_is_close_where_its_name_has_what_was_asked_for_in_it() -> None:
    facts = _named("Power BI fn_ReadDeltaTable.pq", "Athena")
    with pytest.raises(RequestError) as caught:
        client_named("bi", facts, "client[1].name")
    assert caught.value.nearest == ["Power BI fn_ReadDeltaTable.pq"]
    assert caught.value.field == "client[1].name"


@pytest.mark.parametrize("asked", ["zzzzzzzz", "", "  "])
def test_where_no_client_comes_close_all_are_told(asked: str) -> None:
    with pytest.raises(RequestError) as caught:
        client_named(asked, _named("Athena", "Trino"))
    assert str(caught.value) == f"No facts are known of a client {asked!r}. Known: Athena, Trino."
    assert caught.value.nearest is None


def test_at_most_three_names_come_close() -> None:
    with pytest.raises(RequestError) as caught:
        client_named("trin", _named("trina", "trine", "trini", "trino", "tring"))
    assert isinstance(caught.value.nearest, list)
    assert len(caught.value.nearest) == 3


def test_a_client_is_named_by_another_name_and_in_any_letters() -> None:
    facts = _named("delta-spark", "Presto")
    assert [client_named(each, facts) for each in ("Spark", " DELTA  lake", "presto")] == [
        "delta-spark",
        "delta-spark",
        "Presto",
    ]
