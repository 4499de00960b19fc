"""Clustering columns: the columns by which the table's files should be sorted.

Protocol section: Clustered Table. Invariants: the domain names columns physically, as a text or as a list of the parts
of a nested name (D-28); results are logical (CLUSTER-001).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from explorer.core.errors import CorruptTable
from explorer.core.protocol.schema.column_mapping import MappingMode, physical_paths
from explorer.core.protocol.schema.data_types import StructType

DOMAIN: Final = "delta.clustering"


class _Clustering(msgspec.Struct):
    clustering_columns: tuple[str | tuple[str, ...], ...] = msgspec.field(name="clusteringColumns")


def clustering_columns(
    schema: StructType, mode: MappingMode, domains: Mapping[str, str]
) -> tuple[tuple[str, ...], ...]:
    """Return the logical paths of the clustering columns in their order; empty if the table is not clustered.

    Raises:
        CorruptTable: The domain cannot be read, or names a column that is not in the schema.
    """
    configuration = domains.get(DOMAIN)
    if configuration is None:
        return ()
    try:
        columns = msgspec.json.decode(configuration, type=_Clustering).clustering_columns
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise CorruptTable(
            f"The domain {DOMAIN} does not contain clusteringColumns ({error}). A faulty client wrote it. Cluster the "
            "table again to write it again.",
            found=configuration,
        ) from error
    logical = {physical: path for path, physical in physical_paths(schema, mode).items()}
    return tuple(_logical((item,) if isinstance(item, str) else item, logical) for item in columns)


def _logical(physical: tuple[str, ...], logical: Mapping[tuple[str, ...], tuple[str, ...]]) -> tuple[str, ...]:
    path = logical.get(physical)
    if path is None:
        name = ".".join(physical)
        raise CorruptTable(
            f"The domain {DOMAIN} names the column {name!r} (its name in the files), which the schema does not have.",
            column=name,
        )
    return path
