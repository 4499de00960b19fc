"""A plugin of pytest for mutants: mutmut calls every function through others, so calls are three times as deep."""

from __future__ import annotations

import sys

sys.setrecursionlimit(4 * sys.getrecursionlimit())
