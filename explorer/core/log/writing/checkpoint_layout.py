"""How a table's checkpoints are laid out, how often they are written, and for which tables they are refused.

Protocol sections: Checkpoints, V1 Spec, V2 Spec. Invariants: V2 needs its feature in both lists, V1 in one file is
always valid (V2CKPT-001); multi-part checkpoints are never written (CKPT-015, D-24). A protocol with a feature that
this program does not know may give a table state that it does not know either, so it is refused (CKPTPROT-002).
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from explorer.core.errors import CorruptTable, UnsupportedFeature
from explorer.core.log.table_state import TableState
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.table_features import CATALOG_FEATURES, FEATURES, supported_features
from explorer.core.protocol.table_properties.registry import CHECKPOINT_INTERVAL, CHECKPOINT_POLICY

_CLASSIC_EVERY: Final = 10


class CheckpointLayout(msgspec.Struct, frozen=True):
    """How a checkpoint is laid out.

    Attributes:
        spec: ``v1``, or ``v2`` where the table has the feature.
        top_level: Format of a V2 checkpoint's own file.
        classic_name: Whether a V2 checkpoint in Parquet has the classic name, by which old clients find the protocol
            that stops them (V2CKPT-010).
        most_inline: More file actions than this go to sidecars; those of a JSON file always do.
        sidecar_rows: File actions of one sidecar.
    """

    spec: Literal["v1", "v2"]
    top_level: Literal["parquet", "json"] = "parquet"
    classic_name: bool = False
    most_inline: int = 10_000
    sidecar_rows: int = 100_000


def checkpoint_due(configuration: dict[str, str], version: int) -> bool:
    """Return whether a checkpoint is due after a commit: every ten, or by the table's property (CKPT-012).

    Raises:
        CorruptTable: ``delta.checkpointInterval`` is not a positive integer.
    """
    return version > 0 and version % _interval(configuration) == 0


def checkpoint_layout(state: TableState, version: int) -> CheckpointLayout:
    """Return the layout of a table's policy; every tenth V2 checkpoint that is due has the classic name.

    Raises:
        CorruptTable: The protocol does not know the value of ``delta.checkpointPolicy``, or the interval is not one.
    """
    configuration = state.metadata.configuration
    policy = CHECKPOINT_POLICY.of(configuration)
    if policy not in CHECKPOINT_POLICY.allowed:
        raise CorruptTable(
            f"The table property {CHECKPOINT_POLICY} is {policy!r}; it must be classic or v2.", found=policy
        )
    if policy == "classic" or not _has_v2(state.protocol):
        return CheckpointLayout("v1")
    every = _CLASSIC_EVERY * _interval(configuration)
    return CheckpointLayout("v2", classic_name=version > 0 and version % every == 0)


def _interval(configuration: dict[str, str]) -> int:
    every = CHECKPOINT_INTERVAL.of(configuration)
    if every < 1:
        raise CorruptTable(
            f"The table property {CHECKPOINT_INTERVAL} is {every}; it must be at least 1.", found=str(every)
        )
    return every


def check_protocol(protocol: Protocol, version: int, layout: CheckpointLayout, *, by_catalog: bool = False) -> None:
    """Refuse to write a checkpoint that could lack something.

    Args:
        by_catalog: Whether the catalog that manages the commits ratified those of the version.

    Raises:
        UnsupportedFeature: The table has a feature that this program does not know, or a catalog manages it, or the
            layout is V2 and the table lacks the feature for it.
        CorruptTable: The protocol lacks a feature list that its versions demand.
    """
    names = supported_features(protocol)
    refused = [name for name in names if name not in FEATURES or (name in CATALOG_FEATURES and not by_catalog)]
    if protocol.min_reader_version > 3 or protocol.min_writer_version > 7:
        refused.append(f"protocol ({protocol.min_reader_version}, {protocol.min_writer_version})")
    if layout.spec == "v2" and not _has_v2(protocol):
        refused.append("v2Checkpoint")
    if refused:
        raise UnsupportedFeature(
            f"A checkpoint of version {version} cannot be written in this way: {', '.join(refused)}. This "
            "program does not implement these, or the table lacks them. Write the checkpoint with an engine that "
            "implements them, or add the missing ones to the table first.",
            features=refused,
            operation="write a checkpoint",
            version=version,
        )
    if (protocol.min_reader_version == 3 and protocol.reader_features is None) or (
        protocol.min_writer_version == 7 and protocol.writer_features is None
    ):
        raise CorruptTable(
            f"The protocol of version {version} lacks a feature list that its versions demand, so no checkpoint can be "
            "written from it. Ask the table's owner to correct the protocol.",
            version=version,
        )


def _has_v2(protocol: Protocol) -> bool:
    return all("v2Checkpoint" in (names or ()) for names in (protocol.reader_features, protocol.writer_features))
