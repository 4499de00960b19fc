"""Which other clients read and write a table, and which get wrong results: now, or after a change.

Protocol sections: Protocol Evolution, Table Features. Invariants: a client reads a table only if it knows the reader
version and every reader feature, those that a version without feature lists implies included; it writes only if it
knows the writer version and every feature; a feature for writers alone keeps no client from reading unless a source
says so. What no source states is unknown and is never counted as access; an additional feature never gives access.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, Literal

import msgspec

from explorer.core.compatibility.client_facts import PROTOCOL, ClientFacts, Operation, Statement
from explorer.core.compatibility.demands import (
    UNLISTED_CHANGE,
    demands_beyond,
    demands_of,
    demands_of_contested,
    demands_of_paths,
)
from explorer.core.errors import CorruptTable, ExplorerError, UnsupportedFeature
from explorer.core.log.contested import ContestedFiles, files_of_empty_strings
from explorer.core.log.log_segment import LogSegment
from explorer.core.log.replay import checkpoint_reader, read_commits, replay_files, replay_state
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.protocol.schema.column_mapping import mapping_mode
from explorer.core.protocol.schema.data_types import PrimitiveType, parse_schema
from explorer.core.protocol.schema.field_metadata import TYPE_CHANGES
from explorer.core.protocol.schema.nested_types import Path, walk, walk_physical
from explorer.core.protocol.schema.type_widening import unlisted_changes
from explorer.core.protocol.table_definition import read_definition
from explorer.core.protocol.table_features import FEATURES, missing_features, supported_features
from explorer.core.protocol.table_properties.values import constraints

Access = Literal["yes", "no", "wrong", "unknown"]

# A client that refuses a table does no harm, so a refusal ranks before a wrong answer.
_LEAST_FIRST: Final[tuple[Access, ...]] = ("no", "wrong", "unknown", "yes")
_STRING: Final = PrimitiveType("string")
_OPERATIONS: Final[tuple[Operation, ...]] = ("read", "write")


class Requirements(msgspec.Struct, frozen=True):
    """What a table demands of its clients.

    Attributes:
        protocol: Versions and features in force.
        unused: Features among them that nothing in the table uses now.
        by_id: Columns are mapped in mode id.
        keeps_names: Columns are mapped, and the files have each under the name that it has in the table.
        maps_partitions: Columns are mapped, and a partition column has another name in the log.
        demands: What the metadata requires besides the protocol; see `explorer.core.compatibility.demands`.
    """

    protocol: Protocol
    unused: frozenset[str] = frozenset()
    by_id: bool = False
    keeps_names: bool = False
    maps_partitions: bool = False
    demands: frozenset[str] = frozenset()

    @property
    def reader_features(self) -> frozenset[str]:
        """The features that readers must know."""
        if self.protocol.min_reader_version >= 3:
            return frozenset(self.protocol.reader_features or ())
        return frozenset(
            name
            for name, feature in FEATURES.items()
            if 0 < feature.min_reader_version <= self.protocol.min_reader_version
        )


class ClientVerdict(msgspec.Struct, frozen=True, rename="camel"):
    """One client, from one version on until the next verdict of the same client.

    Attributes:
        client, version_from: The client, and the first version or date of which this is known.
        read, write: ``yes``; ``no``: it refuses; ``wrong``: it answers, and wrongly; ``unknown``.
        because: The features and protocol versions that keep it from yes.
        source, as_of: The source of that, and the date of the oldest statement.
    """

    client: str
    version_from: str
    read: Access
    write: Access
    because: tuple[str, ...]
    source: str
    as_of: str


class AccessLoss(msgspec.Struct, frozen=True, rename="camel"):
    """A client that reads or writes less well after a change, or silently gives wrong answers.

    Attributes:
        version_from, version_to: The first and the last known release of which this is so.
        newest: The last one is the newest known release of the client.
    """

    client: str
    version_from: str
    operation: Operation
    before: Access
    after: Access
    because: tuple[str, ...]
    source: str
    as_of: str
    version_to: str
    newest: bool

    @property
    def certain(self) -> bool:
        """True if the client is known to have had access and known to lose it, or is known to give wrong answers."""
        return self.after == "wrong" or (self.before == "yes" and self.after == "no")

    def document(self) -> JsonObject:
        """Return the loss as a JSON object, without the operation."""
        plain: JsonObject = msgspec.to_builtins(self)
        del plain["operation"]
        return plain


class _Answer(msgspec.Struct, frozen=True):
    """How one need of the table is met.

    Attributes:
        access: What it grants.
        name: The name of the need in ``because``; empty where the client does as much whatever the table demands.
        source, as_of: The source that states it; if none does, the source that was searched.
        stated: False if no source states it.
    """

    access: Access
    name: str
    source: str
    as_of: str
    stated: bool = True


def requirements(
    protocol: Protocol, metadata: Metadata, *, has_vectors: bool | None = None, of_files: frozenset[str] = frozenset()
) -> Requirements:
    """Say what a table demands of its clients.

    Args:
        has_vectors: Whether a live file has a deletion vector; None if not known, or if the next commit may add one.
        of_files: What the live files demand; see `explorer.core.compatibility.demands.demands_of_paths` and
            `explorer.core.compatibility.demands.demands_of_contested`.

    Raises:
        CorruptTable: The protocol does not know the column-mapping mode.
    """
    mode = mapping_mode(metadata.configuration, protocol)
    schema = metadata.schema_string or ""
    rows = (FEATURES[name] for name in supported_features(protocol) if name in FEATURES)
    unused = {row.name for row in rows if row.field_key is not None and row.field_key not in schema}
    if has_vectors is False:
        unused.add("deletionVectors")
    if mode == "none":
        unused.add("columnMapping")
    if not constraints(metadata.configuration):
        unused.add("checkConstraints")
    other_names = None if mode == "none" else _other_names(schema)
    return Requirements(
        protocol,
        frozenset(unused),
        by_id=mode == "id",
        keeps_names=other_names is not None and not other_names,
        maps_partitions=not (other_names or frozenset()).isdisjoint((name,) for name in metadata.partition_columns),
        demands=demands_of(metadata) | demands_beyond(protocol, metadata) | of_files | _of_changes(protocol, schema),
    )


def stored_requirements(store: LogStore, segment: LogSegment, storages: Mapping[str, str]) -> Requirements:
    """Say the same of a version as it is stored, also of one that this program cannot read.

    Args:
        storages: As of `explorer.core.compatibility.demands.demands_of_paths`.
    """
    commits = list(read_commits(store, segment.commits))
    base = checkpoint_reader(store, segment)
    state = replay_state(base, commits, segment.version)
    files = replay_files(base, commits)
    vectors = files.column("dv_unique_id") if "deletionVectors" in supported_features(state.protocol) else None
    return requirements(
        state.protocol,
        state.metadata,
        has_vectors=vectors is not None and vectors.null_count < len(vectors),
        of_files=demands_of_paths(files.column("raw_path"), store.root, storages)
        | demands_of_contested(_of_empty_strings(state.protocol, state.metadata, segment.version, files)),
    )


def _of_empty_strings(
    protocol: Protocol, metadata: Metadata, version: int, files: LogicalFiles
) -> ContestedFiles | None:
    if not metadata.partition_columns:
        return None
    try:
        schema = read_definition(protocol, metadata, version).schema
        fields = [field for name in metadata.partition_columns if (field := schema.field(name)) is not None]
        texts = [(field.name, field.physical_name) for field in fields if field.type == _STRING]
        return files_of_empty_strings(version, files, texts) if texts else None
    except ExplorerError:
        return None  # What cannot be read is refused where it is read.


def compatibility(table: Requirements, facts: ClientFacts) -> tuple[ClientVerdict, ...]:
    """Judge every client, one verdict for successive versions with the same access."""
    verdicts: list[ClientVerdict] = []
    for client, versions in facts.versions.items():
        verdicts_by_version = (verdict_of(table, facts, client, version) for version in versions)
        verdicts += (
            next(same) for _, same in groupby(verdicts_by_version, lambda each: (each.read, each.write, each.because))
        )
    return tuple(verdicts)


def losses(before: Requirements, after: Requirements, facts: ClientFacts) -> tuple[AccessLoss, ...]:
    """Find the clients that a change leaves with less access, or makes silently wrong."""
    if before == after:
        return ()
    by_client: list[AccessLoss] = []
    for client, versions in facts.versions.items():
        for operation in _OPERATIONS:
            lost = (loss_of(before, after, facts, (client, version), operation) for version in versions)
            ranges = (list(same) for _, same in groupby(lost, _outcome))
            by_client += (_joined(same[0], same[-1]) for same in ranges if same[0] is not None)
    return tuple(by_client)


def verdict_of(table: Requirements, facts: ClientFacts, client: str, version: str) -> ClientVerdict:
    """Judge one client at one of its known versions."""
    read = _deciding(table, facts, client, version, "read")
    write = _deciding(table, facts, client, version, "write")
    return ClientVerdict(
        client, version, read[0].access, write[0].access, _because([*read, *write]), *_evidence([*read, *write])
    )


def loss_of(
    before: Requirements, after: Requirements, facts: ClientFacts, release: tuple[str, str], operation: Operation
) -> AccessLoss | None:
    """Say what a change takes from one client at one of its known versions; None if nothing."""
    was = _deciding(before, facts, *release, operation)[0].access
    deciding = _deciding(after, facts, *release, operation)
    now = deciding[0].access
    turned_wrong = now == "wrong" and was != "wrong"
    if not turned_wrong and _LEAST_FIRST.index(now) >= _LEAST_FIRST.index(was):
        return None
    client, version = release
    newest = facts.versions[client][-1] == version
    return AccessLoss(
        *release, operation, was, now, _because(deciding), *_evidence(deciding), version_to=version, newest=newest
    )


def _outcome(loss: AccessLoss | None) -> tuple[Access, Access, tuple[str, ...]] | None:
    """Return what successive releases share that are reported together; None without a loss."""
    return None if loss is None else (loss.before, loss.after, loss.because)


def _joined(first: AccessLoss, last: AccessLoss | None) -> AccessLoss:
    """Return the loss of the first of some successive releases, which reaches to the last one."""
    assert last is not None, "releases with a loss are reported apart from others"
    return msgspec.structs.replace(first, version_to=last.version_to, newest=last.newest)


def _deciding(
    table: Requirements, facts: ClientFacts, client: str, version: str, operation: Operation
) -> list[_Answer]:
    """Return the answers that grant least, which make the verdict; at least that on the protocol's version."""
    answers = list(_answers(table, facts, client, version, operation))
    least = min(answers, key=lambda answer: _LEAST_FIRST.index(answer.access)).access
    return [answer for answer in answers if answer.access == least]


def _answers(
    table: Requirements, facts: ClientFacts, client: str, version: str, operation: Operation
) -> Iterator[_Answer]:
    """Return how a client meets each need of the table: the version of the protocol first, then every feature."""
    origin = facts.origin(client, version)
    version_statement = facts.statement(client, version, PROTOCOL, operation, listed=False)
    yield _version_answer(table.protocol, operation, version_statement or Statement("", origin.source, origin.as_of))
    reader_features = table.reader_features
    for name in sorted({*supported_features(table.protocol), *reader_features}):
        binding = operation == "write" or name in reader_features
        unused = name in table.unused
        statement = facts.statement(client, version, name, operation, when=_conditions(table, name), listed=binding)
        if statement is not None:
            yield _Answer(_access(statement.state, unused=unused), name, statement.source, statement.as_of)
        elif binding:
            yield _Answer("unknown", name, origin.source, origin.as_of, stated=False)
    for name in sorted(table.demands):
        statement = facts.statement(client, version, name, operation, listed=False)
        if statement is not None:
            yield _Answer(_access(statement.state, unused=False), name, statement.source, statement.as_of)
        else:
            yield _Answer("unknown", name, origin.source, origin.as_of, stated=False)


def _conditions(table: Requirements, name: str) -> tuple[str, ...]:
    """Return the conditions of facts that hold for a feature of the table."""
    mapping = name == "columnMapping"
    by_version = mapping and table.protocol.min_reader_version == 2
    holds = {
        "partitions mapped": mapping and table.maps_partitions,
        "reader 2, names kept": by_version and table.keeps_names,
        "names kept": mapping and table.keeps_names,
        "reader 2": by_version,
        "not in use": name in table.unused,
        "mode id": mapping and table.by_id and name not in table.unused,
    }
    return tuple(condition for condition, true in holds.items() if true)


def _of_changes(protocol: Protocol, schema: str) -> frozenset[str]:
    """Return what recorded changes of types require; without the feature they mean nothing."""
    if missing_features(["typeWidening"], protocol) or TYPE_CHANGES not in schema:
        return frozenset()
    try:
        unlisted = any(unlisted_changes(field) for _, field in walk(parse_schema(schema)))
    except (CorruptTable, UnsupportedFeature):
        return frozenset()
    return frozenset({UNLISTED_CHANGE} if unlisted else ())


def _other_names(schema: str) -> frozenset[Path] | None:
    """Return the columns that have another name in files; None of a schema that cannot be read."""
    try:
        return frozenset(path for path, physical, _ in walk_physical(parse_schema(schema)) if path != physical)
    except (CorruptTable, UnsupportedFeature):
        return None


def _version_answer(protocol: Protocol, operation: Operation, statement: Statement) -> _Answer:
    wanted = protocol.min_reader_version if operation == "read" else protocol.min_writer_version
    name = f"min{'Reader' if operation == 'read' else 'Writer'}Version {wanted}"
    known = statement.state.removesuffix("+")
    if not statement.state:
        return _Answer("unknown", name, statement.source, statement.as_of, stated=False)
    if not known.isdecimal():
        return _Answer("unknown", "", statement.source, statement.as_of)
    if wanted <= int(known):
        return _Answer("yes", "", statement.source, statement.as_of)
    if known != statement.state:
        return _Answer("unknown", name, statement.source, statement.as_of, stated=False)
    return _Answer("no", "" if known == "0" else name, statement.source, statement.as_of)


def _access(state: str, *, unused: bool) -> Access:
    match state:
        case "yes" | "no":
            return state
        case "wrong":
            # Right as long as nothing uses the feature, wrong from the first commit that uses it.
            return "unknown" if unused else "wrong"
        case _:
            return "unknown"


def _because(answers: Iterable[_Answer]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(answer.name for answer in answers if answer.access != "yes" and answer.name))


def _evidence(answers: Sequence[_Answer]) -> tuple[str, str]:
    """Return the sources, each once, and the date of the oldest."""
    silent: dict[str, dict[str, None]] = {}
    for answer in answers:
        if not answer.stated:
            silent.setdefault(answer.source, {})[answer.name] = None
    sources = dict.fromkeys(answer.source for answer in answers if answer.stated)
    nothing = (
        f"it says nothing on {', '.join(names)}"
        if source in sources and len(sources) == 1
        else f"nothing on {', '.join(names)} in {source}"
        for source, names in silent.items()
    )
    return "; ".join((*sources, *nothing)), min(answer.as_of for answer in answers)
