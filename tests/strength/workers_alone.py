"""A plugin of pytest for coverage: the workers of pytest-xdist are measured, and no program that a test starts.

What coverage.py does at the end of a program would count as the program's own.
"""

from __future__ import annotations

import os

if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"):
        os.environ.pop(name, None)
