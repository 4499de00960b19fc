"""Releases among those that facts are known of, the clients that wrote a table, and what is said of any feature."""

from __future__ import annotations

import pytest

from explorer.core.compatibility.client_facts import ClientFact, ClientFacts
from explorer.core.compatibility.releases import client_named, known_release, writers_seen
from explorer.core.errors import RequestError
from tests.core.compatibility.test_verdict_facts import row
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import write_checkpoint


def versions(*known: str, client: str = "c") -> ClientFacts:
    return ClientFacts([row("protocol", "1", "2", client=client, version_from=each) for each in known])


def test_a_release_of_the_very_day_has_the_facts_from_that_day_on() -> None:
    assert known_release("c", "2026-03-01", versions("2026-01-01 beta", "2026-03-01 general")) == "2026-03-01 general"


def test_a_release_of_the_day_before_which_facts_hold_has_none() -> None:
    facts = versions("before 2026-03", "2026-06")
    assert known_release("c", "2026-02-28", facts) == "before 2026-03"
    with pytest.raises(RequestError, match="no facts are known"):
        known_release("c", "2026-03", facts)


@pytest.mark.parametrize(
    ("said", "release"), [("3.3.0", "3.2"), ("3.2", "3.2"), ("4.0.1", "4.0"), ("2.4", None), ("many", None)]
)
def test_a_writer_has_the_facts_of_the_release_that_it_names(said: str, release: str | None) -> None:
    info = small_logs.commit_info("WRITE", engine_info=f"Apache-Spark/4.0.0 Delta-Lake/{said}")
    record = small_logs.table({0: [small_logs.PROTOCOL, small_logs.METADATA, info]}).history_record().commits
    [writer] = writers_seen(record, versions("3.2", "4.0", client="delta-spark"))
    assert (writer.client, writer.version, writer.version_from) == ("delta-spark", said, release)
    assert (writer.commits, writer.first_version, writer.last_version) == (1, 0, 0)


def test_a_name_that_has_half_of_another_is_close_to_it() -> None:
    with pytest.raises(RequestError) as caught:
        client_named("abcde", versions("1", client="abcxyz"))
    assert caught.value.nearest == ["abcxyz"]


def library(feature: str, read: str, write: str) -> ClientFact:
    return row(feature, read, write, client="library")


def test_a_feature_that_no_row_names_is_answered_by_what_is_said_of_all() -> None:
    rows = [row("*", "yes", "no"), row("protocol", "1", "2")]
    facts = ClientFacts(rows)
    for operation, state in (("read", "yes"), ("write", "no")):
        found = facts.statement("c", "1.0", "house", operation)  # type: ignore[arg-type]  # one of the two
        assert found is not None
        assert found.state == state
    assert facts.statement("c", "1.0", "house", "read", listed=False) is None


def test_a_client_that_works_with_a_library_reads_what_that_reads() -> None:
    facts = ClientFacts(
        [
            row("*", "library 1.0", "library 1.0"),
            library("variantType", "no", "no"),
            library("*", "yes", "no"),
        ]
    )
    states = [
        found and found.state
        for feature, operation in (("variantType", "read"), ("house", "read"), ("house", "write"))
        if (found := facts.statement("c", "1.0", feature, operation))  # type: ignore[arg-type]  # one of the two
    ]
    assert states == ["no", "yes", "no"]


def test_what_a_checkpoint_holds_counts_among_what_a_table_demands() -> None:
    store = small_logs.new_store()
    masked = small_logs.add("a", vector=small_logs.vector("v"))
    first = [small_logs.MASKED, small_logs.METADATA, masked]
    small_logs.write(store, {0: first})
    write_checkpoint(store, 0, first, "classic")
    small_logs.write(store, {1: [small_logs.add("b")]})
    table = small_logs.table({}, store)
    assert "deletionVectors" not in table.requirements(1).unused
