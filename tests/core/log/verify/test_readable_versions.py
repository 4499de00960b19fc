"""Verifying names what keeps versions from being read, and the oldest version that a reader gets."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.core.errors import ExplorerError, TableError, UnsupportedFeature
from explorer.core.log.log_path import checkpoint_name, commit_name, compaction_name
from explorer.core.log.verify.verify import IntegrityReport, verify
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, SCHEMA, Line, add, lines, metadata, new_store, write
from tests.support.shared_tables import golden_root

MAPPED = Protocol(min_reader_version=2, min_writer_version=5)
WIDENED = Protocol(
    min_reader_version=3,
    min_writer_version=7,
    reader_features=("typeWidening",),
    writer_features=("typeWidening",),
)
NO_LISTS = Protocol(min_reader_version=3, min_writer_version=7)
BY_NAME = {"delta.columnMapping.mode": "name"}
START = (PROTOCOL, METADATA, add("a"))


def field(name: str, kind: Any = "long", **carried: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": carried}


def of(*fields: dict[str, Any], **more: Any) -> Metadata:
    """A metaData action with these fields."""
    return Metadata(id=METADATA.id, schema_string=json.dumps({"type": "struct", "fields": fields}), **more)


def mapped(name: str, **carried: Any) -> dict[str, Any]:
    return field(name, **{f"delta.columnMapping.{key}": value for key, value in carried.items()})


def stored(commits: Mapping[int, Iterable[Line]], checkpoints: Mapping[int, Iterable[Any]] | None = None) -> LogStore:
    store = new_store()
    write(store, commits)
    for version, actions in (checkpoints or {}).items():
        write_checkpoint(store, version, tuple(actions), "classic")
    return store


def told(report: IntegrityReport) -> list[tuple[str, int | None, str]]:
    return [(each.kind, each.version, each.file) for each in report.problems]


def first_readable(store: LogStore, latest: int) -> int | None:
    """The oldest version whose files a reader gets."""

    def reads(version: int) -> bool:
        try:
            return explorer.Table(store).snapshot(version).num_files >= 0
        except ExplorerError:
            return False

    return next((version for version in range(latest + 1) if reads(version)), None)


def wide(kind_before: str, kind_after: str) -> Metadata:
    return of(field("a", kind_after, **{"delta.typeChanges": [{"fromType": kind_before, "toType": kind_after}]}))


BROKEN: dict[str, tuple[str, tuple[Line, ...], str]] = {
    "reader 3 without lists": ("invalid-protocol", (NO_LISTS, METADATA), "needs the list readerFeatures"),
    "reader 0": ("invalid-protocol", (Protocol(min_reader_version=0, min_writer_version=0), METADATA), "below 1"),
    "reader 3, writer 6": (
        "invalid-protocol",
        (Protocol(min_reader_version=3, min_writer_version=6, reader_features=()), METADATA),
        "reader version 3 needs writer version 7",
    ),
    "features at reader 1": (
        "invalid-protocol",
        (Protocol(min_reader_version=1, min_writer_version=2, reader_features=("a",)), METADATA),
        "only be listed with reader version 3",
    ),
    "files of another format": (
        "invalid-metadata",
        (PROTOCOL, {"metaData": {"id": "m", "format": {"provider": "orc"}, "schemaString": SCHEMA}}),
        "Version 0 declares the data file format 'orc'",
    ),
    "no such partition column": ("invalid-metadata", (PROTOCOL, metadata({"id": "long"}, ["zz"])), "'zz'"),
    "a field without a type": ("invalid-metadata", (PROTOCOL, of({"name": "a"})), "it needs name and type"),
    "an unknown type": ("invalid-metadata", (PROTOCOL, metadata({"a": "frob"})), "'frob'"),
    "a type without its feature": ("invalid-metadata", (PROTOCOL, metadata({"a": "geometry(OGC:CRS84)"})), "geometry"),
    "half a schema": (
        "invalid-metadata",
        (PROTOCOL, Metadata(id="m", schema_string=SCHEMA[: len(SCHEMA) // 2])),
        "it is not JSON",
    ),
    "an id used twice": (
        "invalid-metadata",
        (MAPPED, of(mapped("a", id=1, physicalName="x"), mapped("b", id=1, physicalName="y"), configuration=BY_NAME)),
        "Columns a and b share id 1",
    ),
    "no id": ("invalid-metadata", (MAPPED, of(field("a"), configuration=BY_NAME)), "no column-mapping id"),
    "an unknown mode": (
        "invalid-metadata",
        (MAPPED, of(field("a"), configuration={"delta.columnMapping.mode": "foo"})),
        "delta.columnMapping.mode is 'foo'",
    ),
    "a type that readers cannot widen": ("invalid-metadata", (WIDENED, wide("string", "integer")), "string to integer"),
    "no schema": ("no-metadata", (PROTOCOL, {"metaData": {"id": "m"}}), "no schemaString"),
    "no metadata": ("no-metadata", (PROTOCOL,), "no metaData action"),
    "no protocol": ("no-protocol", (METADATA,), "no protocol action"),
    "no valid line": ("unreadable-commit", (*START, b"{"), "Line 4"),
}


@pytest.mark.conformance("FEAT-010", "META-006", "META-007", "CM-016", "TYPEWIDEN-002", "LOG-021", "PROTO-009")
@pytest.mark.parametrize("case", BROKEN)
def test_what_no_reader_may_read_is_a_problem_that_names_it_and_no_version_is_readable(case: str) -> None:
    kind, held, said = BROKEN[case]
    store = stored({0: held, 1: (add("b"),)})
    report = verify(store)
    (problem,) = (each for each in report.problems if each.kind != "missing-member")
    assert (problem.kind, problem.version, problem.file) == (kind, 0, commit_name(0))
    assert problem.breaking
    assert said in problem.detail
    assert (report.first_version, report.last_version) == (None, 1)
    with pytest.raises((TableError, UnsupportedFeature)):
        explorer.Table(store).snapshot().require_schema()


@pytest.mark.parametrize(
    ("protocol", "held"),
    [
        (Protocol(min_reader_version=4, min_writer_version=8), of({"name": "a"})),
        (
            Protocol(min_reader_version=3, min_writer_version=7, reader_features=("x",), writer_features=("x",)),
            metadata({"a": "frob"}),
        ),
        (
            Protocol(
                min_reader_version=3,
                min_writer_version=7,
                reader_features=("geospatial",),
                writer_features=("geospatial",),
            ),
            metadata({"a": "geometry(OGC:CRS84)"}),
        ),
    ],
    ids=["a later reader version", "an unknown feature", "a type of a feature"],
)
def test_a_table_that_needs_what_this_program_lacks_is_not_called_broken(protocol: Protocol, held: Metadata) -> None:
    store = stored({0: (protocol, held, add("a"))})
    with pytest.raises(UnsupportedFeature):
        explorer.Table(store).snapshot()
    report = verify(store)
    assert (report.problems, report.first_version) == ((), 0)


def test_a_catalog_s_commits_can_be_read_with_what_it_says_so_their_metadata_is_judged() -> None:
    managed = Protocol(
        min_reader_version=3, min_writer_version=7,
        reader_features=("catalogManaged",), writer_features=("catalogManaged", "inCommitTimestamp"),
    )  # fmt: skip
    assert verify(stored({0: (managed, METADATA)})).problems == ()
    assert told(verify(stored({0: (managed, metadata({"a": "frob"}))}))) == [("invalid-metadata", 0, commit_name(0))]


@pytest.mark.conformance("PROTO-004", "CM-001")
@pytest.mark.parametrize(
    ("commits", "found"),
    [
        # Broken from a version on; the versions before can be read.
        ({0: START, 1: (metadata({"a": "frob"}),), 2: ()}, [("invalid-metadata", 1)]),
        ({0: START, 1: (NO_LISTS,), 2: ()}, [("invalid-protocol", 1)]),
        ({0: START, 1: (Metadata(id="m"),), 2: ()}, [("no-metadata", 1)]),
        ({0: START, 1: (b"{",), 2: ()}, [("unreadable-commit", 1)]),
        # Repaired by a later commit.
        ({0: (PROTOCOL, metadata({"a": "frob"})), 1: (), 2: (METADATA,), 3: ()}, [("invalid-metadata", 0)]),
        ({0: (NO_LISTS, METADATA), 1: (MAPPED,)}, [("invalid-protocol", 0)]),
        ({0: (METADATA,), 1: (PROTOCOL,)}, [("no-protocol", 0)]),
        ({0: (PROTOCOL,), 1: (METADATA,)}, [("no-metadata", 0)]),
        # Repeated, and replaced by what is broken in another way.
        ({0: (PROTOCOL, metadata({"a": "frob"})), 1: (metadata({"a": "frob"}),)}, [("invalid-metadata", 0)]),
        (
            {0: (PROTOCOL, metadata({"a": "frob"})), 1: (metadata({"a": "brof"}),)},
            [("invalid-metadata", 0), ("invalid-metadata", 1)],
        ),
        # A new protocol does not say again what is wrong with the metadata; but it can make it wrong.
        ({0: (PROTOCOL, metadata({"a": "frob"})), 1: (MAPPED,)}, [("invalid-metadata", 0)]),
        ({0: (PROTOCOL, of(field("a"), configuration=BY_NAME)), 1: (MAPPED,)}, [("invalid-metadata", 1)]),
        ({0: (NO_LISTS, metadata({"a": "frob"})), 1: (PROTOCOL,)}, [("invalid-protocol", 0), ("invalid-metadata", 1)]),
    ],
)
def test_each_change_of_protocol_and_metadata_is_judged_where_it_is_made(
    commits: dict[int, Any], found: list[tuple[str, int]]
) -> None:
    store = stored(commits)
    report = verify(store)
    assert told(report) == [(kind, version, commit_name(version)) for kind, version in found]
    assert report.first_version == first_readable(store, report.last_version)


def test_a_reader_begins_at_the_newest_checkpoint_and_so_does_the_judgement() -> None:
    wrong = (PROTOCOL, of(field("a", "frob")), add("a"))
    spoiled = stored({0: START, 1: (), 2: ()}, {1: wrong})
    report = verify(spoiled)
    assert told(report) == [
        ("invalid-metadata", 1, checkpoint_name(1)),
        ("checkpoint-differs", 1, checkpoint_name(1)),
    ]
    assert report.first_version == first_readable(spoiled, 2) == 0
    saved = stored({0: wrong, 1: (), 2: ()}, {1: START})
    report = verify(saved)
    assert [(kind, version) for kind, version, _ in told(report)] == [
        ("invalid-metadata", 0),
        ("checkpoint-differs", 1),
    ]
    assert report.first_version == first_readable(saved, 2) == 1
    renewed = stored({0: (NO_LISTS, METADATA), 1: (), 2: (add("b"),)}, {1: (PROTOCOL, METADATA)})
    report = verify(renewed)
    assert [(kind, version) for kind, version, _ in told(report)] == [
        ("invalid-protocol", 0),
        ("checkpoint-differs", 1),
    ]
    assert report.first_version == first_readable(renewed, 2) == 1
    agreeing = stored({0: wrong, 1: ()}, {1: wrong})
    assert told(verify(agreeing)) == [("invalid-metadata", 0, commit_name(0))]
    cleaned = stored({3: (), 4: (METADATA,)}, {2: wrong})
    report = verify(cleaned)
    assert told(report) == [("invalid-metadata", 2, checkpoint_name(2))]
    assert report.first_version == first_readable(cleaned, 4) == 4


def test_the_oldest_version_is_the_one_after_a_checkpoint_that_cannot_be_read() -> None:
    store = stored({3: (add("b"),), 4: ()}, {4: START})
    store.put_if_absent(checkpoint_name(2), b"PAR1")
    report = verify(store)
    assert told(report) == [("unreadable-checkpoint", 2, checkpoint_name(2))]
    assert report.first_version == first_readable(store, 4) == 4
    alone = stored({3: ()})
    alone.put_if_absent(checkpoint_name(2), b"PAR1")
    assert (told(verify(alone)), verify(alone).first_version) == (told(report), None)


@pytest.mark.conformance("COMPACT-003")
def test_a_compaction_in_place_of_lost_commits_leads_to_the_version_that_it_ends_with() -> None:
    for held, first in ((METADATA, 1), (metadata({"a": "frob"}), None)):
        store = stored({2: (add("b"),), 3: ()})
        store.put_if_absent(compaction_name(0, 1), lines((PROTOCOL, held, add("a"))))
        report = verify(store)
        assert report.first_version == first_readable(store, 3) == first
        broken = [] if first is not None else [("invalid-metadata", 1, compaction_name(0, 1))]
        assert told(report) == [*broken, ("truncated-log", 2, commit_name(2))]


@pytest.mark.conformance("COMPACT-003")
def test_a_compaction_leads_to_no_version_where_readers_begin_at_a_broken_checkpoint_or_what_it_needs_is_gone() -> None:
    store = stored({0: START, 1: (), 2: ()})
    sidecar = next(key for key in write_checkpoint(store, 4, START, "v2-sidecars") if "_sidecars" in key)
    store.delete(sidecar)
    store.put_if_absent(sidecar, b"")
    store.put_if_absent(compaction_name(3, 4), b"")
    report = verify(store)
    assert [(kind, version) for kind, version, _ in told(report)] == [("gap", 3), ("unreadable-checkpoint", 4)]
    assert report.first_version is None
    write(store, {5: ()})
    store.put_if_absent(compaction_name(5, 5), b"")
    assert verify(store).first_version == 4
    cleaned = stored({2: (), 3: (), 4: ()}, {3: START})
    cleaned.put_if_absent(compaction_name(1, 2), b"")
    report = verify(cleaned)
    assert (report.problems, report.first_version) == ((), 3)
    assert first_readable(cleaned, 4) == 3


@pytest.mark.conformance("COMPACT-003", "V2CKPT-007")
def test_a_compaction_leads_on_where_the_checkpoint_before_it_lost_a_sidecar() -> None:
    store = stored({0: START, 1: (), 4: ()})
    store.delete(next(key for key in write_checkpoint(store, 1, START, "v2-sidecars") if "_sidecars" in key))
    store.put_if_absent(compaction_name(2, 3), lines([add("b")]))
    report = verify(store)
    assert [(kind, version) for kind, version, _ in told(report)] == [("incomplete-checkpoint", 1), ("gap", 2)]
    assert report.first_version == 3
    assert explorer.Table(store).snapshot(3).num_files == 2


# --- a checkpoint that lost a sidecar ---------------------------------------------------------------------------------


@pytest.mark.conformance("V2CKPT-007")
@pytest.mark.parametrize("shape", ["v2-sidecars", "v2-json-sidecars"])
def test_a_checkpoint_that_lost_a_sidecar_is_incomplete_where_readers_do_without_it(shape: Any) -> None:
    store = new_store()
    write(store, {0: START, 1: (add("b"),), 2: (add("c"),)})
    top, sidecar, _ = sorted(write_checkpoint(store, 1, (*START, add("b")), shape), key=lambda key: "_sidecars" in key)
    store.delete(sidecar)
    report = verify(store)
    assert told(report) == [("incomplete-checkpoint", 1, top)]
    assert not report.problems[0].breaking
    assert sidecar.rpartition("/")[2] in report.problems[0].detail
    assert report.first_version == first_readable(store, 2) == 0
    assert explorer.Table(store).snapshot(2).num_files == 3
    store.put_if_absent(sidecar, b"")
    report = verify(store)
    assert told(report) == [("damaged-checkpoint", 1, top)]
    assert not report.problems[0].breaking
    assert explorer.Table(store).snapshot(2).num_files == 3


@pytest.mark.conformance("V2CKPT-007")
def test_a_checkpoint_that_lost_a_sidecar_cannot_be_read_where_the_commits_before_it_are_gone() -> None:
    def spoiled(commits: dict[int, Any], *later: int) -> tuple[LogStore, str]:
        store = stored(commits, dict.fromkeys(later, START))
        top, sidecar, _ = sorted(write_checkpoint(store, 3, START, "v2-sidecars"), key=lambda key: "_sidecars" in key)
        store.delete(sidecar)
        return store, top

    for commits, later, kinds, first in (
        ({3: (), 4: ()}, (), ["unreadable-checkpoint"], None),
        ({}, (), ["unreadable-checkpoint"], None),
        ({3: (), 4: (), 5: (), 6: ()}, (5,), ["unreadable-checkpoint"], 5),
        ({2: (), 3: (), 4: ()}, (1,), ["incomplete-checkpoint"], 1),
    ):
        store, top = spoiled(commits, *later)
        report = verify(store)
        assert [(kind, version, file) for kind, version, file in told(report)] == [(kind, 3, top) for kind in kinds]
        assert report.first_version == first_readable(store, 6) == first


@pytest.mark.golden
@pytest.mark.conformance("V2CKPT-007")
def test_a_golden_table_whose_sidecar_is_deleted_loses_no_version(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    shutil.copytree(golden_root() / "tables" / "kernelrs__v2-checkpoints-parquet-with-sidecars", folder)
    sidecars = folder / "_delta_log" / "_sidecars"
    [lost] = [path for path in sidecars.iterdir() if path.name.startswith(f"{1:020d}.")]
    lost.unlink()
    report = verify(open_store(folder))
    assert [(each.kind, each.version, each.breaking) for each in report.problems] == [
        ("incomplete-checkpoint", 1, False)
    ]
    assert report.first_version == 0
    expected = [
        explorer.open_table(golden_root() / "tables" / "kernelrs__v2-checkpoints-parquet-with-sidecars")
        .snapshot(version)
        .num_files
        for version in range(7)
    ]
    assert [explorer.open_table(folder).snapshot(version).num_files for version in range(7)] == expected
    lost.write_bytes(b"")
    assert [(each.kind, each.version) for each in verify(open_store(folder)).problems] == [("damaged-checkpoint", 1)]
    assert explorer.open_table(folder).snapshot().num_files == expected[-1]
