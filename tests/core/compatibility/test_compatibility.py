"""Who reads and writes a table, and what a change does to them."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.compatibility.access import Access, ClientVerdict, Requirements, compatibility, losses, requirements
from explorer.core.compatibility.client_facts import ClientFacts, client_facts, parse_facts
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.table_features import FEATURES, supported_features
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, add, table, vector

LEGACY = [(1, 1), (1, 2), (1, 3), (1, 4), (2, 5), (2, 6)]
READER_FEATURES = [name for name, feature in FEATURES.items() if feature.reader]
RANK: dict[Access, int] = {"no": 0, "wrong": 1, "unknown": 2, "yes": 3}


def listing(*features: str) -> Protocol:
    """A protocol with feature lists."""
    return Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=tuple(name for name in features if name in READER_FEATURES),
        writer_features=features,
    )


def verdict(protocol: Protocol, client: str, version: str, **more: frozenset[str]) -> ClientVerdict:
    """The verdict on a client at this version: its own, or that of the version before which stands alike."""
    facts = client_facts()
    known = facts.versions[client]
    found = compatibility(Requirements(protocol, **more), facts)
    upto = known[: known.index(version) + 1]
    return [each for each in found if each.client == client and each.version_from in upto][-1]


def access(each: ClientVerdict) -> tuple[str, str]:
    return each.read, each.write


# --- verdicts ---------------------------------------------------------------------------------------------------------


def test_a_legacy_version_asks_for_what_it_implies() -> None:
    mapped = Protocol(min_reader_version=2, min_writer_version=5)
    assert access(verdict(mapped, "delta-spark", "0.8.0")) == ("no", "no")
    assert access(verdict(mapped, "delta-spark", "2.0.0")) == ("yes", "yes")
    lacking = verdict(mapped, "delta-rs (python deltalake)", "1.6.0")
    assert access(lacking) == ("yes", "no")
    assert lacking.because == ("columnMapping",)
    identity = Protocol(min_reader_version=2, min_writer_version=6)
    assert access(verdict(identity, "delta-spark", "2.4.0")) == ("yes", "no"), "it was taken off the list of 2.4.0"
    assert access(verdict(identity, "delta-spark", "3.3.0")) == ("yes", "yes")


def test_a_feature_for_writers_alone_keeps_nobody_from_reading() -> None:
    protocol = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("rowTracking", "domainMetadata"))
    assert access(verdict(protocol, "delta-rs (python deltalake)", "0.16.0")) == ("yes", "no")
    assert access(verdict(protocol, "delta-kernel-rs", "0.9.0")) == ("yes", "no")
    assert verdict(listing("clustering"), "Fabric KQL databases", "2024-2026 docs").read == "no", "a source says so"


def test_feature_that_a_list_lacks_is_refused_and_one_that_nobody_states_is_unknown() -> None:
    checkpoints = listing("v2Checkpoint")
    assert verdict(checkpoints, "delta-spark", "2.3.0").because == ("v2Checkpoint",)
    assert access(verdict(checkpoints, "delta-spark", "3.0.0")) == ("yes", "yes")
    nobody = verdict(listing("collations"), "Fabric Dataflows", "2024-2026 docs")
    assert nobody.write == "unknown"
    assert nobody.because == ("collations",)
    assert nobody.source.startswith("MicrosoftDocs/")
    assert nobody.source.endswith("; it says nothing on collations")
    assert nobody.as_of == "2024"


def test_unverified_yes_is_unknown() -> None:
    found = verdict(listing("timestampNtz"), "Databricks Runtime", "12.2 LTS")
    assert access(found) == ("unknown", "unknown")
    later = compatibility(Requirements(listing("timestampNtz")), client_facts())
    assert {each.read for each in later if each.client == "Databricks Runtime"} == {"no", "unknown"}


def test_silently_wrong_is_told_while_the_feature_is_in_use() -> None:
    mapped = Protocol(min_reader_version=2, min_writer_version=5)
    assert verdict(mapped, "Power BI fn_ReadDeltaTable.pq", "2022").read == "wrong"
    assert verdict(mapped, "DuckDB delta extension", "v0.2.0").read == "wrong"
    assert verdict(MASKED, "Presto", "before 2026-04").read == "wrong"
    unused = verdict(MASKED, "Presto", "before 2026-04", unused=frozenset(["deletionVectors"]))
    assert (unused.read, unused.because[-1]) == ("unknown", "deletionVectors"), "right until the first vector"


def test_refusal_goes_before_a_wrong_answer() -> None:
    both = listing("columnMapping", "deletionVectors")
    found = compatibility(Requirements(both), client_facts())
    power_bi = [each for each in found if each.client == "Power BI fn_ReadDeltaTable.pq"]
    assert [(each.version_from, each.read) for each in power_bi] == [("2022", "wrong"), ("2024", "no")]


def test_condition_of_a_row_counts() -> None:
    checked = listing("checkConstraints")
    assert verdict(checked, "delta-kernel-java", "4.4").write == "no"
    idle = verdict(checked, "delta-kernel-java", "4.4", unused=frozenset(["checkConstraints"]))
    assert idle.write == "yes"
    mapped = Protocol(min_reader_version=2, min_writer_version=5)
    by_name = Metadata(id="m", configuration={"delta.columnMapping.mode": "name"})
    by_id = Metadata(id="m", configuration={"delta.columnMapping.mode": "id"})
    reads = {
        mode.configuration["delta.columnMapping.mode"]: next(
            each.read
            for each in compatibility(requirements(mapped, mode), client_facts())
            if each.client == "Fabric Dataflows"
        )
        for mode in (by_name, by_id)
    }
    assert reads == {"name": "yes", "id": "no"}


def test_client_knows_what_the_library_it_pins_knows() -> None:
    duckdb = [
        (each.version_from, each.read, each.because)
        for each in compatibility(Requirements(listing("variantType")), client_facts())
        if each.client == "DuckDB delta extension"
    ]
    assert duckdb[0][:2] == ("v0.2.0", "unknown"), "nothing is known of kernels before 0.9.0"
    assert duckdb[1] == ("v0.4.0", "no", ("variantType",)), "kernel 0.12.1 does not list it"
    assert duckdb[2][:2] == ("HEAD 2026-07", "yes")
    flink = verdict(listing("deletionVectors"), "Flink (new delta-flink on Kernel)", "2026 preview")
    assert access(flink) == ("no", "yes")


def test_version_beyond_every_client_is_never_yes() -> None:
    for protocol in (
        Protocol(min_reader_version=1, min_writer_version=101),
        Protocol(min_reader_version=4, min_writer_version=8, reader_features=(), writer_features=()),
    ):
        found = compatibility(Requirements(protocol), client_facts())
        assert {each.write for each in found} <= {"no", "unknown"}
        if protocol.min_reader_version > 3:
            assert {each.read for each in found} <= {"no", "unknown"}


def test_who_does_not_write_never_writes() -> None:
    found = compatibility(Requirements(Protocol(min_reader_version=1, min_writer_version=1)), client_facts())
    silent = {each.client: each.write for each in found}
    for client in ("Athena", "BigQuery BigLake", "Redshift Spectrum", "Fabric Power BI Direct Lake"):
        assert silent[client] == "no"


def _stored_as(physical: str) -> Requirements:
    """A table by the protocol's version whose column ``id`` is mapped to a name in its files."""
    stated = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": physical}
    field = {"name": "id", "type": "long", "nullable": True, "metadata": stated}
    schema = msgspec.json.encode({"type": "struct", "fields": [field]}).decode()
    described = Metadata(id="m", schema_string=schema, configuration={"delta.columnMapping.mode": "name"})
    return requirements(Protocol(min_reader_version=2, min_writer_version=5), described)


def test_who_reads_columns_by_their_names_is_right_until_one_is_renamed() -> None:
    kept, renamed = _stored_as("id"), _stored_as("col-7")
    assert (kept.keeps_names, renamed.keeps_names) == (True, False)
    client = "delta-rs to_pyarrow_*/to_pandas path"
    assert ("1.6.6", "read", "yes", "wrong") in {
        (each.version_from, each.operation, each.before, each.after)
        for each in losses(kept, renamed, client_facts())
        if each.client == client
    }


def test_a_partition_column_of_another_name_in_the_log_is_a_condition_of_its_own() -> None:
    stated = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-7"}
    field = {"name": "day", "type": "string", "nullable": True, "metadata": stated}
    schema = msgspec.json.encode({"type": "struct", "fields": [field]}).decode()
    reads = []
    for partitions in at_least_one([(), ("day",)]):
        described = Metadata(
            id="m",
            schema_string=schema,
            partition_columns=partitions,
            configuration={"delta.columnMapping.mode": "name"},
        )
        asked = requirements(Protocol(min_reader_version=2, min_writer_version=5), described)
        found = compatibility(asked, client_facts())
        reads.append(next(each.read for each in reversed(found) if each.client == "DuckDB delta extension"))
    assert reads == ["yes", "wrong"]


def test_use_of_a_feature_is_seen_in_the_metadata() -> None:
    protocol = listing("columnMapping", "checkConstraints", "generatedColumns", "identityColumns", "deletionVectors")
    nothing = requirements(protocol, METADATA, has_vectors=False)
    assert nothing.unused >= set(protocol.writer_features or ())
    used = Metadata(
        id="m",
        schema_string='{"delta.generationExpression":"","delta.identity.start":1,"delta.invariants":""}',
        configuration={"delta.columnMapping.mode": "id", "delta.constraints.positive": "id > 0"},
    )
    assert requirements(protocol, used).unused == frozenset()
    assert requirements(protocol, used).by_id


# --- what a change does -----------------------------------------------------------------------------------------------


def test_enabling_deletion_vectors_names_who_loses_and_who_turns_wrong() -> None:
    before, after = Requirements(PROTOCOL), Requirements(listing("appendOnly", "invariants", "deletionVectors"))
    found = {
        (each.client, each.version_from, each.operation): (each.before, each.after, each.certain)
        for each in losses(before, after, client_facts())
    }
    assert found["delta-rs (python deltalake)", "0.15.0", "read"] == ("yes", "no", True)
    assert found["Presto", "2026-04", "read"] == ("yes", "wrong", True)
    assert found["Athena", "engine v3", "read"] == ("yes", "unknown", False)
    assert not [key for key in found if key[0] == "delta-spark" and key[1] > "2.3.0"]
    assert not [key for key in found if key[0] == "delta-kernel-rs"]


def test_change_back_loses_nothing_but_may_turn_a_client_wrong() -> None:
    before, after = Requirements(listing("appendOnly", "invariants", "deletionVectors")), Requirements(PROTOCOL)
    assert losses(before, after, client_facts()) == ()
    mapped = Requirements(Protocol(min_reader_version=2, min_writer_version=5))
    found = losses(Requirements(listing("columnMapping", "v2Checkpoint")), mapped, client_facts())
    reading = [(each.client, each.version_from, each.before, each.after) for each in found if each.operation == "read"]
    assert reading == [
        ("delta-rs to_pyarrow_*/to_pandas path", "1.6.6", "no", "wrong"),
        ("Power BI fn_ReadDeltaTable.pq", "2024", "no", "wrong"),
    ]


def test_switching_mapping_on_turns_clients_wrong_without_a_new_protocol() -> None:
    protocol = Protocol(min_reader_version=2, min_writer_version=5)
    renamed = Metadata(id="m", configuration={"delta.columnMapping.mode": "name"})
    found = losses(requirements(protocol, METADATA), requirements(protocol, renamed), client_facts())
    assert ("Presto", "wrong") in {(each.client, each.after) for each in found}


def test_document_of_a_loss_has_the_fields_of_the_command_line() -> None:
    (first, *_) = losses(Requirements(PROTOCOL), Requirements(MASKED), client_facts())
    names = ["client", "versionFrom", "before", "after", "because", "source", "asOf", "versionTo", "newest"]
    assert list(first.document()) == names


# --- properties -------------------------------------------------------------------------------------------------------

names = st.sampled_from([*FEATURES, "featureOfTomorrow"])
protocols = st.one_of(
    st.sampled_from(LEGACY).map(lambda pair: Protocol(min_reader_version=pair[0], min_writer_version=pair[1])),
    st.sets(names, max_size=6).map(lambda found: listing(*sorted(found))),
)


def by_release(table: Requirements, facts: ClientFacts) -> dict[tuple[str, str], tuple[Access, Access]]:
    """The verdict on each version of each client, also on those that stand as the one before."""
    starts = {(each.client, each.version_from): (each.read, each.write) for each in compatibility(table, facts)}
    found: dict[tuple[str, str], tuple[Access, Access]] = {}
    for client, versions in facts.versions.items():
        for version in versions:
            found[client, version] = starts.get((client, version)) or list(found.values())[-1]
    return found


@given(protocols, names)
def test_a_feature_more_never_gives_access(protocol: Protocol, name: str) -> None:
    richer = listing(*{*supported_features(protocol), name})
    before, after = (by_release(Requirements(each), client_facts()) for each in (protocol, richer))
    for release, granted in at_least_one(before.items()):
        pairs = zip(granted, after[release], strict=True)
        assert [(was, now) for was, now in pairs if RANK[now] > RANK[was]] == [], release


@given(protocols, names)
def test_silence_never_gives_access(protocol: Protocol, name: str) -> None:
    """Without the rows that say yes to a feature, nobody gains, and no unknown becomes a yes."""
    facts = client_facts()
    origins = {(client, known[0]) for client, known in facts.versions.items()}
    silent = ClientFacts(
        msgspec.structs.replace(row, read="unknown", write="unknown")
        if row.feature == name and (row.client, row.version_from) not in origins
        else row
        for row in facts.rows
    )
    before, after = by_release(Requirements(protocol), facts), by_release(Requirements(protocol), silent)
    for release, granted in at_least_one(after.items()):
        assert [operation for operation, now in enumerate(granted) if now == "yes" != before[release][operation]] == []


@given(protocols)
def test_every_verdict_has_a_source_a_date_and_a_reason(protocol: Protocol) -> None:
    for each in compatibility(Requirements(protocol), client_facts()):
        assert each.source
        assert each.as_of
        if "wrong" in access(each):
            assert each.because
    assert losses(Requirements(protocol), Requirements(protocol), client_facts()) == ()


def test_without_facts_there_is_no_verdict_and_silence_is_unknown() -> None:
    assert compatibility(Requirements(PROTOCOL), ClientFacts([])) == ()
    header = "client,version_from,feature,when,read,write,basis,note,source,as_of\n"
    facts = parse_facts(f"{header}novel,1.0,deletionVectors,,yes,yes,stated,,its pages,2026\n".encode())
    (found,) = compatibility(Requirements(PROTOCOL), facts)
    assert access(found) == ("unknown", "unknown")
    assert found.source == "nothing on minReaderVersion 1, minWriterVersion 2, appendOnly, invariants in its pages"


# --- of a table -------------------------------------------------------------------------------------------------------


def test_table_says_it_of_each_version_and_sees_whether_vectors_exist() -> None:
    orders = table(
        {
            0: [MASKED, METADATA, add("a.parquet")],
            1: [add("b.parquet", vector=vector("one"))],
        }
    )
    reads = [
        next(each.read for each in orders.compatibility(version) if each.client == "Presto") for version in (0, 1, None)
    ]
    assert reads == ["unknown", "wrong", "wrong"]


def test_table_that_this_program_cannot_read_is_judged_all_the_same() -> None:
    managed = table({0: [listing("catalogManaged", "inCommitTimestamp"), METADATA, add("a.parquet")]})
    found = {(each.client, each.version_from): access(each) for each in managed.compatibility()}
    assert found["delta-spark", "4.0.1"] == ("yes", "yes")
    assert found["delta-rs (python deltalake)", "0.15.0"] == ("no", "no")
