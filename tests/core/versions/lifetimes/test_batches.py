"""Columns that grow by batches are the columns of all their rows, however many batches there were."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.core.versions.lifetimes.batches import Arrays, Batches, chosen, constant, thin

BATCHES: list[Arrays] = [
    {
        "a": np.arange(place, dtype=np.int32),
        "b": constant(np.int64(7), place),
        "c": constant(np.bool_(place > 50), place),
    }
    for place in range(100)
]
"""``a`` differs by row, ``b`` is one value, ``c`` is one value in each batch."""


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 64, 100])
@pytest.mark.parametrize("last", [True, False])
def test_all_rows_are_there_in_their_order(count: int, last: bool) -> None:
    some = Batches()
    assert not some
    for batch in BATCHES[:count]:
        some.append(dict(batch))
    before = some.copy()
    found = some.joined(last=last)
    assert found["a"].tolist() == [row for place in range(count) for row in range(place)]
    assert found["b"].tolist() == [7] * sum(range(count))
    assert found["c"].tolist() == [place > 50 for place in range(count) for _ in range(place)]
    assert [column.dtype for column in found.values()] == [np.int32, np.int64, np.bool_]
    assert bool(some) is not last
    _same(before.joined(), found)


def test_a_copy_goes_on_apart() -> None:
    some = Batches([dict(BATCHES[3])])
    copy = some.copy()
    for batch in BATCHES[:40]:
        copy.append(dict(batch))
    _same(some.joined(), BATCHES[3])
    assert len(copy.joined()["a"]) == 3 + sum(range(40))


def test_what_is_the_same_in_all_rows_takes_no_memory() -> None:
    taken = Batches()
    for batch in BATCHES[:50]:
        taken.append(dict(batch))
    found = taken.joined()
    assert (found["b"].strides, found["c"].strides, found["a"].strides) == ((0,), (0,), (4,))
    some = chosen(found, np.arange(len(found["b"])) % 2 == 0)
    assert (some["b"].strides, len(some["b"])) == ((0,), (len(found["b"]) + 1) // 2)
    assert some["a"].tolist() == found["a"].tolist()[::2]


def test_flags_are_kept_where_they_differ() -> None:
    for flags in ([True, True, False], [True] * 3, [False] * 3, [True], []):
        assert thin(np.array(flags, bool)).tolist() == flags
    assert thin(np.array([True, True])).strides == (0,)


def _same(one: Arrays, other: Arrays) -> None:
    assert {name: column.tolist() for name, column in one.items()} == {
        name: column.tolist() for name, column in other.items()
    }
