"""My clients: what the file may say, who wrote the table, and the order in which verdicts come."""

import re
from collections.abc import Iterator

import pytest

from explorer.core.compatibility.access import compatibility, requirements
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.compatibility.matrix import WORST_FIRST, matrix, my_losses
from explorer.core.compatibility.my_clients import MyClient, parse_my_clients, with_writers
from explorer.core.compatibility.releases import client_named, engine_named, known_release, writers_seen
from explorer.core.errors import RequestError
from explorer.core.protocol.actions import Protocol
from tests.support.logs import small_logs
from tests.support.shared_tables import golden_root, reference_root

FACTS = client_facts()
FILE = b"""
[[client]]
name = "presto"
version = "2026-01"
role = "reader"
owner = "finance"
note = "monthly reports"

[[client]]
name = "deltalake"
version = "1.5.1"

[[client]]
name = "Athena"
"""


def mine() -> tuple[MyClient, ...]:
    return parse_my_clients(FILE, FACTS)


def entry(**values: str) -> bytes:
    return ("[[client]]\n" + "".join(f'{key} = "{value}"\n' for key, value in values.items())).encode()


def test_a_file_names_clients_versions_roles_and_owners() -> None:
    assert mine() == (
        MyClient("Presto", "2026-01", "before 2026-04", "reader", "finance", "monthly reports"),
        MyClient("delta-rs (python deltalake)", "1.5.1", "1.4.0"),
        MyClient("Athena", "engine v3", "engine v3"),
    )


@pytest.mark.parametrize(
    ("data", "field", "near"),
    [
        (entry(name="Trnio", version="2024-08"), "client[1].name", "Trino"),
        (entry(name="delta-spark", version="0.5.0"), "client[1].version", None),
        (entry(name="Presto", version="0.296"), "client[1].version", "before 2026-04"),
        (entry(name="Trino"), "client[1].version", "2024-08"),
        (entry(name="Athena", rolle="reader"), "client[1].rolle", "role"),
        (entry(name="Athena", role="owner"), "client[1].role", None),
        (entry(version="1"), "client[1].name", None),
    ],
)
def test_what_is_not_known_is_refused_with_what_comes_close(data: bytes, field: str, near: str | None) -> None:
    with pytest.raises(RequestError) as caught:
        parse_my_clients(data, FACTS)
    assert caught.value.field == field
    nearest = caught.value.nearest
    assert near is None or near in ([nearest] if isinstance(nearest, str) else list(nearest or ()))  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [b"[[client", b"\xff", b'[client]\nname = "x"', b"", b"[[client]]\nname = 3"])
def test_what_is_no_such_file_is_refused(data: bytes) -> None:
    with pytest.raises(RequestError):
        parse_my_clients(data, FACTS)


@pytest.mark.parametrize(
    ("client", "version", "known"),
    [
        ("spark", "4.0", "4.0.0"),
        ("delta-spark", "3.3.0-SNAPSHOT", "3.2.0"),
        ("Databricks Runtime", "16.0.x-photon-scala2.12", "15.4 LTS"),
        ("duckdb", "0.3.1", "v0.3.0"),
        ("presto", "2026-05-01", "2026-04"),
        ("delta-rs", "1.10.0", "1.6.3"),
    ],
)
def test_a_release_has_the_facts_of_the_newest_known_version_before_it(client: str, version: str, known: str) -> None:
    assert known_release(client_named(client, FACTS), version, FACTS) == known


ENGINES = {
    "Apache-Spark/4.2.1 Delta-Lake/4.4.0": ("delta-spark", "4.4.0"),
    "Databricks-Runtime/10.4.x-scala2.12": ("Databricks Runtime", "10.4.x-scala2.12"),
    "delta-rs:py-1.6.6": ("delta-rs (python deltalake)", "1.6.6"),
    "Kernel-3.4.0-SNAPSHOT/test-engine": ("delta-kernel-java", "3.4.0-SNAPSHOT"),
    "<unknown>": (None, ""),
}


@pytest.mark.parametrize("text", ENGINES)
def test_a_writer_is_named_by_what_it_says_of_itself(text: str) -> None:
    assert engine_named(text) == ENGINES[text]


def _engines() -> Iterator[str]:
    for root in (golden_root(), reference_root()):
        for commit in (root / "tables").glob("*/_delta_log/*.json"):
            yield from re.findall(r'"engineInfo":"([^"]*)"', commit.read_text(errors="replace"))


@pytest.mark.golden
@pytest.mark.reference
def test_every_writer_of_the_shared_tables_is_named() -> None:
    found = set(_engines())
    assert len(found) > 20
    assert {text for text in found if engine_named(text)[0] is None} == {"<unknown>"}
    assert {engine_named(text)[0] for text in found} - {None} <= FACTS.versions.keys()


@pytest.mark.reference
def test_the_writers_of_a_history_are_counted_and_added_once() -> None:
    import explorer

    history = explorer.open_table(reference_root() / "tables" / "vacuum").history_record()
    (seen,) = writers_seen(history.commits, FACTS)
    assert (seen.client, seen.version_from, seen.commits, seen.last_version) == ("delta-spark", "4.3.0", 22, 21)
    assert with_writers((), [seen])[0].role == "writer"
    named = parse_my_clients(entry(name="spark", version="4.3.0"), FACTS)
    assert with_writers(named, [seen]) == named


def test_a_writer_of_which_nothing_is_known_is_told_as_it_calls_itself() -> None:
    commits = [
        [small_logs.PROTOCOL, small_logs.METADATA, small_logs.commit_info("WRITE", engine_info="Delta-Lake/0.0.1")],
        [small_logs.commit_info("WRITE", engine_info="house writer 7")],
        [small_logs.commit_info("WRITE")],
        [small_logs.commit_info("WRITE", engine_info="Delta-Lake/0.0.1")],
    ]
    seen = writers_seen(small_logs.table(dict(enumerate(commits))).history_record().commits, FACTS)
    told = [(each.engine_info, each.client, each.version, each.version_from, each.commits) for each in seen]
    assert told == [("Delta-Lake/0.0.1", "delta-spark", "0.0.1", None, 2), ("house writer 7", None, "", None, 1)]
    assert [(each.first_version, each.last_version) for each in seen] == [(0, 3), (1, 1)]


def test_mine_come_first_then_the_worst() -> None:
    table = requirements(small_logs.MASKED, small_logs.METADATA, has_vectors=True)
    rows = matrix(table, compatibility(table, FACTS), FACTS, mine())
    assert {row.client for row in rows[:3]} == {each.client for each in mine()}
    own = [WORST_FIRST.index(row.worst) for row in rows[:3]]
    assert own == sorted(own)
    assert (rows[0].client, rows[0].worst) == ("Presto", "wrong")
    others = [WORST_FIRST.index(row.read) for row in rows[3:]]
    assert others == sorted(others)
    assert not any(row.mine for row in rows[3:])
    assert rows[0].source
    assert rows[0].because == ("deletionVectors",)


def test_a_reader_is_not_judged_by_its_writing() -> None:
    table = requirements(Protocol(min_reader_version=1, min_writer_version=6), small_logs.METADATA)
    reader = parse_my_clients(entry(name="spark", version="1.0.0", role="reader"), FACTS)
    writer = parse_my_clients(entry(name="spark", version="1.0.0", role="writer"), FACTS)
    assert [matrix(table, (), FACTS, each)[0].worst for each in (reader, writer)] == ["yes", "no"]


def test_a_writer_of_which_nothing_is_known_is_unknown() -> None:
    table = requirements(small_logs.PROTOCOL, small_logs.METADATA)
    (row,) = matrix(table, (), FACTS, [MyClient("my own engine", "", None, "writer", seen=True)])
    assert (row.read, row.write, row.version_from, row.seen) == ("unknown", "unknown", None, True)


def test_losses_of_mine_are_those_of_what_they_do() -> None:
    before = requirements(small_logs.PROTOCOL, small_logs.METADATA)
    after = requirements(small_logs.MASKED, small_logs.METADATA, has_vectors=True)
    found = my_losses(before, after, FACTS, mine())
    told = [(each.mine.client, each.loss.operation, each.loss.after) for each in found]
    assert told[0] == ("Presto", "read", "wrong")
    assert ("Presto", "write") not in {each[:2] for each in told}
    assert found[0].document()["mine"] == {
        "version": "2026-01",
        "role": "reader",
        "owner": "finance",
        "note": "monthly reports",
    }
