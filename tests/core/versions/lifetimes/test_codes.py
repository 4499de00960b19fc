"""Values that are kept once: the numbers of paths and of deletion vectors, texts, and columns of one value."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.core.errors import MalformedAction
from explorer.core.protocol.actions import DeletionVectorId
from explorer.core.protocol.arrow.arrays import strings
from explorer.core.protocol.arrow.text_spans import TextSpans
from explorer.core.versions.lifetimes.batches import Batches, chosen, constant, thin
from explorer.core.versions.lifetimes.codes import PathCodes, VectorCodes

texts = TextSpans.of_texts


def test_paths_are_numbered_as_they_are_met_and_files_by_what_their_paths_mean() -> None:
    codes = PathCodes()
    assert (len(codes), codes.distinct(), codes.column().to_pylist()) == (0, [], [])
    first = codes.of(texts(["b", "a", "b"]))
    assert (first.tolist(), first.dtype) == ([0, 1, 0], np.dtype(np.int32))
    for _ in range(2):
        found = codes.of_files(texts(["b", "x%20y", "x y", "file:///z", "/z", "c"]))
        assert [each.tolist() for each in found] == [[0, 3, 3, 5, 5, 6], [0, 2, 3, 4, 5, 6]]
        assert [each.dtype for each in found] == [np.int32] * 2
    assert codes.of_files(texts(["x%20y"]))[0].tolist() == [3]
    assert [each.tolist() for each in codes.of_files(texts(["q%20r", "/z"]))] == [[8, 5], [7, 5]]
    assert codes.distinct() == ["b", "a", "x%20y", "x y", "file:///z", "/z", "c", "q%20r", "q r"]
    assert (len(codes), codes.column()) == (9, strings(codes.distinct()))
    assert codes.texts(np.array([8, 0, 0, 2])).to_pylist() == ["q r", "b", "b", "x%20y"]
    assert codes.texts(np.zeros(0, np.int32)).to_pylist() == []
    with pytest.raises(MalformedAction, match=r"The path 'mailto:x' is an opaque URI"):
        codes.of_files(texts(["c", "mailto:x"]))


def test_paths_that_were_kept_have_their_numbers_and_new_ones_the_next() -> None:
    kept = strings(["b", "a", "x y"])
    codes = PathCodes(kept)
    assert (len(codes), codes.column() is kept) == (3, True)
    assert codes.texts(np.array([2, 0, 2], np.int32)).to_pylist() == ["x y", "b", "x y"]
    copy = codes.copy()
    assert copy.column() is kept
    assert [each.tolist() for each in codes.of_files(texts(["x%20y", "a", "n"]))] == [[2, 1, 4], [3, 1, 4]]
    assert codes.column().to_pylist() == ["b", "a", "x y", "x%20y", "n"]
    assert (copy.of(texts(["m", "a"])).tolist(), len(copy)) == ([3, 1], 4)
    other = codes.copy()
    assert (other.of(texts(["one"])).tolist(), codes.of(texts(["two"])).tolist()) == ([5], [5])
    assert (other.distinct()[5:], codes.distinct()[5:]) == (["one"], ["two"])
    assert [each.tolist() for each in other.of_files(texts(["x%20y", "n"]))] == [[2, 4], [3, 4]]


LEAST, MOST = -(1 << 31), (1 << 31) - 1


def identified(kind: str, path: str, offset: int | None = None) -> DeletionVectorId:
    return DeletionVectorId(kind, path, offset)


VECTORS = [identified("u", "x", offset) for offset in (None, LEAST, -1, 0, 1, MOST)]
VECTORS += [identified("p", "x", 1), identified("i", "x"), identified("u", "y", 0)]


@pytest.mark.parametrize("with_none", [True, False])
@pytest.mark.parametrize("count", [1, 6, 9])
def test_deletion_vectors_have_numbers_out_of_which_all_of_them_comes(with_none: bool, count: int) -> None:
    vectors: list[DeletionVectorId | None] = [*VECTORS[:count]]
    vectors = [None, *vectors, None] if with_none else vectors
    codes = VectorCodes()
    found = codes.of(vectors)
    assert found.dtype == np.int64
    assert codes.of(vectors).tolist() == found.tolist()
    assert len({*found.tolist()}) == count + with_none
    assert codes.identities(found) == [None if vector is None else vector.unique_id for vector in vectors]
    offsets, known = codes.offsets(found)
    assert offsets.tolist() == [0 if vector is None else vector.offset or 0 for vector in vectors]
    assert known.tolist() == [vector is not None and vector.offset is not None for vector in vectors]
    heads = codes.listed()
    assert sorted(heads) == sorted([("u", "x"), ("p", "x"), ("i", "x"), ("u", "y")][: max(1, count - 5)])
    places = codes.places(found).tolist()
    assert [None if place < 0 else heads[place] for place in places] == [
        None if vector is None else (vector.storage_type, vector.path_or_inline_dv) for vector in vectors
    ]
    assert {place for place in places if place < 0} <= {-1}


def test_numbers_of_no_vectors_are_zero() -> None:
    codes = VectorCodes()
    assert (codes.of([None, None]).tolist(), codes.of([]).tolist(), codes.listed()) == ([0, 0], [], [])
    assert codes.of([None]).dtype == np.int64


def test_vectors_differ_by_their_identities_however_these_are_spelt() -> None:
    codes = VectorCodes()
    one, spelt, other, two = codes.of(
        [identified("u", "x", 1), identified("u", "x@1"), identified("u", "x"), identified("u", "x", 2)]
    ).tolist()
    pairs = [(one, one), (one, spelt), (spelt, one), (spelt, two), (one, other), (one, two), (0, 0), (0, spelt)]
    pairs += [(other, 0), (other, spelt), (0, one)]
    some, others = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    differ = [False, False, False, True, True, True, False, True, True, True, True]
    assert codes.differ(some, others).tolist() == differ
    assert codes.differ(some[:1], others[:1]).tolist() == [False]


def test_vectors_that_were_kept_have_their_numbers_and_a_copy_goes_on_apart() -> None:
    codes = VectorCodes([("u", "x"), ("p", "y")])
    assert codes.listed() == [("u", "x"), ("p", "y")]
    vectors = [identified("p", "y", 3), identified("u", "n"), identified("u", "x")]
    assert codes.places(codes.of(vectors)).tolist() == [1, 2, 0]
    copy = codes.copy()
    assert copy.places(copy.of([identified("u", "one"), identified("u", "n")])).tolist() == [3, 2]
    assert codes.places(codes.of([identified("i", "two")])).tolist() == [3]
    assert (codes.listed()[3:], copy.listed()[3:]) == ([("i", "two")], [("u", "one")])
    codes.listed().clear()
    assert len(codes.listed()) == 4


def test_storage_types_that_nobody_knows_are_told_from_all_others() -> None:
    vectors = [identified(kind, path) for kind, path in (("", "ab"), ("a", "b"), ("ab", ""), ("u", "ab"), ("1:a", "b"))]
    codes = VectorCodes()
    found = codes.of([*vectors, *vectors])
    assert found[:5].tolist() == found[5:].tolist()
    assert len({*found.tolist()}) == 5
    assert codes.identities(found[:5]) == [each.unique_id for each in vectors]
    again = VectorCodes(codes.listed())
    assert again.of(vectors).tolist() == found[:5].tolist()
    copy = again.copy()
    more = [identified("ab", "n"), identified("u", "n")]
    assert copy.of(more).tolist() == codes.of(more).tolist()
    assert again.listed() == codes.listed()[:5]


@pytest.mark.parametrize(("count", "large", "small"), [(7, 0, 7), (8, 1, 0), (9, 1, 1), (16, 2, 0)])
def test_batches_are_put_together_eight_at_a_time(count: int, large: int, small: int) -> None:
    some = Batches()
    for place in range(count):
        some.append({"a": np.array([place])})
    assert (len(some._large), len(some._small)) == (large, small)
    assert some.joined()["a"].tolist() == some.joined()["a"].tolist() == [*range(count)]


def test_columns_of_one_value_are_told_from_others() -> None:
    one, other = constant(np.int64(3), 2), constant(np.int64(4), 1)
    assert (one.tolist(), str(one.dtype), one.strides) == ([3, 3], "int64", (0,))
    flags = np.array([True, True, False])
    found = chosen({"one": constant(np.int64(3), 3), "many": np.array([1, 2, 3])}, flags)
    assert {name: (column.tolist(), column.strides) for name, column in found.items()} == {
        "one": ([3, 3], (0,)),
        "many": ([1, 2], (8,)),
    }
    columns = {"many": np.array([1, 2, 3])}
    whole = chosen(columns, np.ones(3, bool))
    assert (whole is columns, whole["many"] is columns["many"]) == (False, True)
    empty = np.zeros(0, np.int64)
    for parts, values, width in (
        ([one, one], [3, 3, 3, 3], 0),
        ([one, other], [3, 3, 4], 8),
        ([empty, one], [3, 3], 0),
        ([one, np.array([3])], [3, 3, 3], 8),
        ([empty, empty], [], 0),
    ):
        [joined] = Batches([{"a": part} for part in parts]).joined().values()
        assert (joined.tolist(), joined.strides) == (values, (width,))
    assert [thin(np.array(each)).strides for each in ([True, False], [False, False])] == [(1,), (0,)]
    assert Batches().joined() == {}
