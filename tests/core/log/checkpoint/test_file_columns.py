"""Columns of files out of a checkpoint's members: a map that is null has no entries, whatever lies behind it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from explorer.core.log.checkpoint.file_columns import _empty_for_null
from explorer.core.protocol.arrow.arrays import string_maps


def _maps(*entries: dict[str, str] | None) -> pa.MapArray:
    return string_maps(list(entries))


def _behind_null(maps: pa.MapArray, *is_null: bool) -> pa.MapArray:
    """The same maps, some of them null, though their entries are still in the buffers."""
    valid = pa.py_buffer(np.packbits([not each for each in is_null], bitorder="little").tobytes())
    entries = pa.StructArray.from_arrays([maps.keys, maps.items], fields=[maps.type.key_field, maps.type.item_field])
    return pa.Array.from_buffers(maps.type, len(maps), [valid, maps.buffers()[1]], children=[entries])


@pytest.mark.parametrize(
    ("maps", "found"),
    [
        (_maps({"a": "1"}, {}, {"b": "2", "c": "3"}), [[("a", "1")], [], [("b", "2"), ("c", "3")]]),
        (_maps({"a": "1"}, None, {"b": "2"}, None), [[("a", "1")], [], [("b", "2")], []]),
        (_maps(None, {"b": "2"}), [[], [("b", "2")]]),
        (_maps(None, None), [[], []]),
        (_behind_null(_maps({"a": "1"}, {"x": "y"}, {}), False, True, False), [[("a", "1")], [], []]),
        (_behind_null(_maps({"x": "y"}, {"a": "1"}, {"b": "2"}), True, False, True), [[], [("a", "1")], []]),
        (_behind_null(_maps({"x": "y"}, {}, {"b": "2"}), True, True, False), [[], [], [("b", "2")]]),
    ],
)
@pytest.mark.parametrize("start", [0, 1])
def test_a_map_that_is_null_is_empty(maps: pa.MapArray, found: list[list[tuple[str, str]]], start: int) -> None:
    whole = _empty_for_null(maps)
    whole.validate(full=True)
    assert (whole.null_count, whole.to_pylist()) == (0, found)
    part = _empty_for_null(maps.slice(start, 2))
    part.validate(full=True)
    assert (part.null_count, part.to_pylist()) == (0, found[start : start + 2])
