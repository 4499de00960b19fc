"""Records of every action, the only place with the wire names of the protocol.

Protocol section: Actions. Invariants: records are frozen; a field that this program does not know is preserved in
``unknown`` and written back unchanged (PROTO-003, META-009); absent optional fields are left out when written.
Reading a commit in bulk goes through `explorer.core.log.commit`, which decodes less; these records are for single
actions and for writing.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, ClassVar, Self

import msgspec
from msgspec import to_builtins

from explorer.core.protocol.json_values import JsonObject, JsonValue, decode_json, encode_json

Int32 = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""Numbers as wide as the protocol's; JSON itself has no such bounds."""


class DeletionVectorId(msgspec.Struct, frozen=True, gc=False):
    """The identity of a deletion vector (section Deletion Vectors); one file may contain several, each at its offset.

    Attributes:
        storage_type: ``u`` (file next to the table), ``p`` (absolute path) or ``i`` (inline).
        path_or_inline_dv: Encoded UUID, absolute URI, or the encoded bytes.
        offset: Position of the vector in the file, in bytes; None means the file as a whole.
    """

    storage_type: str
    path_or_inline_dv: str
    offset: int | None = None

    @property
    def unique_id(self) -> str:
        """The identity as text, part of a logical file's key (DV-006)."""
        return _unique_id(self.storage_type, self.path_or_inline_dv, self.offset)


class DeletionVectorDescriptor(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Location and size of a deletion vector (section Deletion Vector Descriptor Schema).

    Attributes:
        storage_type: ``u`` (file next to the table), ``p`` (absolute path) or ``i`` (inline).
        path_or_inline_dv: Encoded UUID, absolute URI, or the encoded bytes.
        size_in_bytes: Size of the bitmap, magic number included, in bytes.
        cardinality: Number of rows that it masks.
        offset: Position of the size field in the file, in bytes.
        max_row_index: Largest row index, where the writer recorded it.
    """

    storage_type: str
    path_or_inline_dv: str
    size_in_bytes: Int32
    cardinality: Int64
    offset: Int32 | None = None
    max_row_index: Int64 | None = None

    @property
    def id(self) -> DeletionVectorId:
        """The identity of the vector."""
        return DeletionVectorId(self.storage_type, self.path_or_inline_dv, self.offset)

    @property
    def unique_id(self) -> str:
        """The vector's identity as text, part of a logical file's key (DV-006)."""
        return _unique_id(self.storage_type, self.path_or_inline_dv, self.offset)


def _unique_id(storage_type: str, path_or_inline_dv: str, offset: int | None) -> str:
    head = storage_type + path_or_inline_dv
    return head if offset is None else f"{head}@{offset}"


class _Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The common parts of the action records: the wire name, and the fields that this program does not know."""

    wire_name: ClassVar[str] = ""
    unknown: JsonObject = {}

    @classmethod
    def decode(cls, raw: bytes | msgspec.Raw) -> Self:
        """Decode the action's JSON object, preserving fields that the record does not know.

        Raises:
            msgspec.ValidationError: A known field has a wrong type, or a required one is missing.
            msgspec.DecodeError: The bytes are not JSON.
        """
        return cls.from_wire(decode_json(raw))

    @classmethod
    def from_wire(cls, value: JsonValue) -> Self:
        """Make the record of a decoded JSON object; nulls count as absent, as they do in checkpoints."""
        if not isinstance(value, dict):
            raise msgspec.ValidationError(f"Expected `object`, got `{type(value).__name__}`")
        names = set(cls.__struct_encode_fields__) - {"unknown"}
        known = {name: item for name, item in value.items() if name in names and item is not None}
        record = msgspec.convert(known, cls)
        extra = {name: item for name, item in value.items() if name not in names}
        return msgspec.structs.replace(record, unknown=extra) if extra else record

    def to_wire(self) -> JsonObject:
        """Return the action as a JSON-able object in the protocol's names, without absent fields."""
        names = zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True)
        members = ((encoded, getattr(self, name)) for name, encoded in names if name != "unknown")
        known = {name: to_builtins(value, builtin_types=(Decimal,)) for name, value in members if value is not None}
        return known | self.unknown


class Protocol(_Record, frozen=True, kw_only=True, rename="camel"):
    """Versions and features a client must implement (section Protocol Evolution)."""

    wire_name: ClassVar[str] = "protocol"
    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None


class Format(msgspec.Struct, frozen=True, omit_defaults=False):
    """Encoding of the data files (section Format Specification)."""

    provider: str = "parquet"
    options: dict[str, str] = {}


class Metadata(_Record, frozen=True, kw_only=True, rename="camel"):
    """The table's metadata (section Change Metadata). ``created_time`` is ms since the epoch."""

    wire_name: ClassVar[str] = "metaData"
    id: str
    name: str | None = None
    description: str | None = None
    format: Format = Format()
    schema_string: str | None = None
    partition_columns: tuple[str, ...] = ()
    configuration: dict[str, str] = {}
    created_time: int | None = None

    @classmethod
    def from_wire(cls, value: JsonValue) -> Self:
        """Make the record as for every action; nulls inside ``format`` count as absent too (META-002)."""
        if isinstance(value, dict) and isinstance(form := value.get("format"), dict):
            value = {**value, "format": {name: item for name, item in form.items() if item is not None}}
        return super().from_wire(value)


class Add(_Record, frozen=True, kw_only=True, rename="camel"):
    """A logical file enters the table (section Add File and Remove File). Sizes in bytes, times in epoch ms."""

    wire_name: ClassVar[str] = "add"
    path: str
    partition_values: dict[str, str | None] = {}
    size: int
    modification_time: int
    data_change: bool = True
    stats: str | None = None
    tags: dict[str, str | None] | None = None
    deletion_vector: DeletionVectorDescriptor | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    clustering_provider: str | None = None


class Remove(_Record, frozen=True, kw_only=True, rename="camel"):
    """A logical file leaves the table; a tombstone until it expires. ``deletion_timestamp`` is ms since the epoch."""

    wire_name: ClassVar[str] = "remove"
    path: str
    deletion_timestamp: int | None = None
    data_change: bool = True
    extended_file_metadata: bool | None = None
    partition_values: dict[str, str | None] | None = None
    size: int | None = None
    stats: str | None = None
    tags: dict[str, str | None] | None = None
    deletion_vector: DeletionVectorDescriptor | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None


class AddCDCFile(_Record, frozen=True, kw_only=True, rename="camel"):
    """A file of recorded changes (section Add CDC File)."""

    wire_name: ClassVar[str] = "cdc"
    path: str
    partition_values: dict[str, str | None] = {}
    size: int
    data_change: bool = False
    tags: dict[str, str | None] | None = None


class TransactionAction(_Record, frozen=True, kw_only=True, rename="camel"):
    """Progress of one application (section Transaction Identifiers)."""

    wire_name: ClassVar[str] = "txn"
    app_id: str
    version: int
    last_updated: int | None = None


class DomainMetadata(_Record, frozen=True, kw_only=True, rename="camel"):
    """A named configuration (section Domain Metadata)."""

    wire_name: ClassVar[str] = "domainMetadata"
    domain: str
    configuration: str = ""
    removed: bool = False


class CommitInfo(_Record, frozen=True, kw_only=True, rename="camel"):
    """Provenance of a commit (section Commit Provenance Information); any further field is unknown."""

    wire_name: ClassVar[str] = "commitInfo"
    timestamp: Int64 | None = None
    in_commit_timestamp: Int64 | None = None
    operation: str | None = None
    operation_parameters: JsonObject | None = None
    operation_metrics: JsonObject | None = None
    user_id: str | None = None
    user_name: str | None = None
    user_metadata: str | None = None
    engine_info: str | None = None
    read_version: int | None = None
    is_blind_append: bool | None = None
    isolation_level: str | None = None
    txn_id: str | None = None


class CheckpointMetadata(_Record, frozen=True, kw_only=True, rename="camel"):
    """Describes a v2 checkpoint (section V2 Spec)."""

    wire_name: ClassVar[str] = "checkpointMetadata"
    version: int
    tags: dict[str, str | None] | None = None


class Sidecar(_Record, frozen=True, kw_only=True, rename="camel"):
    """A file with a part of a v2 checkpoint's file actions (section Sidecar File Information)."""

    wire_name: ClassVar[str] = "sidecar"
    path: str
    size_in_bytes: int
    modification_time: int
    tags: dict[str, str | None] | None = None


Action = (
    Protocol
    | Metadata
    | Add
    | Remove
    | AddCDCFile
    | TransactionAction
    | DomainMetadata
    | CommitInfo
    | CheckpointMetadata
    | Sidecar
)


for _record in (Protocol, Metadata, TransactionAction, DomainMetadata, Sidecar, CommitInfo):
    # A record's fields are computed when it is first decoded, which takes longer than opening a small table.
    msgspec.json.Decoder(_record)


def encode_line(action: Action) -> bytes:
    """Encode an action as one line of a commit, without the newline (LOG-007, LOG-008)."""
    return encode_json({action.wire_name: action.to_wire()})
