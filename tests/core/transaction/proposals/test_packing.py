"""Which files an OPTIMIZE packs together, against a plain packing file by file."""

from __future__ import annotations

import random

import pytest

import explorer
from explorer.core.transaction.intents.records import Optimize
from explorer.core.transaction.proposals.rows.optimize_files import packing
from tests.support.logs import small_logs
from tests.support.logs.small_logs import MASKED, add, metadata, vector


def _plainly(files: list[tuple[str, int, int]], target: int) -> list[set[int]]:
    """Pack files of (partition, size, masked rows of 100), as the reference writer does: by size, until one is full."""
    groups: list[set[int]] = []
    for partition in dict.fromkeys(name for name, _, _ in files):
        chosen = [
            place for place, (name, size, masked) in enumerate(files)
            if name == partition and (size < target or masked > 5)
        ]  # fmt: skip
        bins: list[list[int]] = []
        for place in sorted(chosen, key=lambda each: files[each][1]):
            if not bins or sum(files[each][1] for each in bins[-1]) + files[place][1] > target:
                bins.append([])
            bins[-1].append(place)
        groups += [set(each) for each in bins if len(each) > 1 or files[each[0]][2] > 5]
    return groups


@pytest.mark.parametrize("seed", range(40))
def test_files_are_packed_as_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    files = [
        (chance.choice("abc"), chance.choice([0, 1, 7, 40, 99, 100, 101, 250, chance.randrange(300)]),
         chance.choice([0, 0, 0, 5, 6]))
        for _ in range(chance.randrange(60))
    ]  # fmt: skip
    created = [MASKED, metadata({"id": "long", "p": "string"}, ("p",))]
    vectors = [vector(str(place), masked) if masked else None for place, (_, _, masked) in enumerate(files)]
    added = [
        add(f"{place:03}", 100, size=size, partition_values={"p": name}, vector=vectors[place])
        for place, (name, size, _) in enumerate(files)
    ]
    snapshot: explorer.Snapshot = small_logs.table({0: created, 1: added}).snapshot()
    listed = snapshot.files()
    order = [int(path) for path in listed.column("path").to_pylist()]
    packed = packing(Optimize(target_size=100), snapshot, listed)
    groups: dict[int, set[int]] = {}
    for place, group in zip(packed.places.tolist(), packed.groups.tolist(), strict=True):
        groups.setdefault(group, set()).add(order[place])
    in_order = [files[place] for place in order]
    expected = [{order[place] for place in group} for group in _plainly(in_order, 100)]
    assert packed.made == len(groups) == len(expected)
    assert sorted(map(sorted, groups.values())) == sorted(map(sorted, expected))
