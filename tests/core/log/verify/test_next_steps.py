"""Every kind of problem has a next step."""

from __future__ import annotations

import re

from explorer.core.log.verify.integrity import LogProblem as Exported
from explorer.core.log.verify.problem import BREAKING, LogProblem

KINDS = set(re.findall(r"``([a-z-]+)``", LogProblem.__doc__ or ""))


def test_each_kind_has_a_step_and_breaking_ones_say_how_the_log_comes_back() -> None:
    assert Exported is LogProblem
    assert BREAKING < KINDS
    steps = {kind: LogProblem(kind, 1, "f", "d").next_step for kind in KINDS}
    assert all(step.endswith(".") for step in steps.values())
    assert len(steps) == 40
