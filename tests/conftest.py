"""Where the tests find the tables made by others, and how hard Hypothesis tries.

``golden_root`` and ``reference_root`` may be called at module level, to parametrize, and inside tests and fixtures.
"""

import os
from datetime import date
from pathlib import Path

import hypothesis
import pyarrow as pa
import pytest

REPOSITORY = Path(__file__).resolve().parent.parent

pytest_plugins = ["tests.conformance.plugin"]

hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("prove", deadline=None, max_examples=5_000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def golden_root() -> Path:
    """Return the folder of the golden tables, or skip with the reason."""
    return _shared_tables("golden", "DELTA_GOLDEN")


def reference_root() -> Path:
    """Return the folder of the tables of the reference writer, or skip with the reason."""
    return _shared_tables("reference", "DELTA_REFERENCE")


def _shared_tables(name: str, variable: str) -> Path:
    """Find a folder with ``tables`` and ``expected`` by a variable, else beside the repository.

    Absent tables skip. They fail where they were promised: a variable that names a wrong folder, or a CI machine that
    has the shared folder without them.
    """
    named = os.environ.get(variable)
    shared = REPOSITORY.parent / "shared"
    root = Path(named).resolve() if named else shared / name
    if (root / "tables").is_dir() and (root / "expected").is_dir():
        return root
    problem = f"no {name} tables at {root}: set {variable} to a folder with tables/ and expected/"
    if named or (os.environ.get("CI") == "true" and shared.is_dir()):
        pytest.fail(problem, pytrace=False)
    pytest.skip(problem, allow_module_level=True)


@pytest.fixture(scope="session")
def demo_build(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[int, pa.Table]]]:
    """Build the demo warehouse once: its folder, and for each table the rows that its versions should hold."""
    from explorer.demo import build_warehouse

    folder = tmp_path_factory.mktemp("demo") / "warehouse"
    return folder, build_warehouse(folder, date(2026, 4, 23))


@pytest.fixture(scope="session")
def demo_warehouse(demo_build: tuple[Path, dict[str, dict[int, pa.Table]]]) -> Path:
    """Return the folder of the demo warehouse; it is shared, so nobody may write to it."""
    return demo_build[0]
