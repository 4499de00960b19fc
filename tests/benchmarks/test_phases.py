"""The phases that the benchmark times are functions of the program."""

from __future__ import annotations

from tests.benchmarks.parts.phases import places


def test_every_clock_finds_its_function() -> None:
    found = [(phase, callable(getattr(place, name))) for place, name, phase in places()]
    assert len(found) >= 10
    assert all(known for _, known in found), found
