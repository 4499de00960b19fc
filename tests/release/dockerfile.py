"""The Dockerfile as steps, and its steps run in folders that hold a clean Debian: there is no container engine.

A stage is a copy of the base; RUN is what the step says, in the stage, as its user; COPY is a copy. What only an engine
does is not tried: layers, caches of builds, the limits of a container, and how it publishes a port.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.support.shared_tables import REPOSITORY

__all__ = ["DOCKERFILE", "ENGINE_MISSING", "Stage", "Step", "base", "built", "steps"]

DOCKERFILE: Final = REPOSITORY / "Dockerfile"
_CERTIFICATES: Final = Path("/etc/ssl/certs/ca-certificates.crt")
_INCLUDED: Final = "ca-certificates,python3,python3-venv,python3-pip"


def _missing() -> str | None:
    if shutil.which("debootstrap") is None:
        return "the command debootstrap is not installed"
    tried = subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, check=False)
    return None if tried.returncode == 0 else "this user may not make namespaces"


ENGINE_MISSING: Final = _missing()
"""Why steps cannot be run in a clean folder, or None."""


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction, and the rest of its line."""

    name: str
    text: str

    @property
    def words(self) -> list[str]:
        """The text as words; those of the JSON form where it has it."""
        return [str(word) for word in json.loads(self.text)] if self.text.startswith("[") else shlex.split(self.text)


def steps(text: str) -> list[Step]:
    """Return the steps of a Dockerfile."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\s*\\\n\s*", " ", lines)
    return [Step(*line.split(None, 1)) for line in joined.splitlines() if line.strip()]


@dataclass
class Stage:
    """A stage that was built.

    Attributes:
        root: Its folder.
        environ: Variables of its processes.
        folder: Where they run.
        user: Who they are.
        start: The command of a container.
        health: The command that says whether it works.
    """

    root: Path
    environ: dict[str, str] = field(default_factory=lambda: {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"})
    folder: str = "/"
    user: str = "0:0"
    start: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)

    def command(self, *words: str, user: str | None = None) -> list[str]:
        """Return the command that runs one in the stage, in namespaces of its own for mounts and processes."""
        who = f"--userspec={self.user if user is None else user}"
        inside = f"cd {shlex.quote(self.folder)} && exec {shlex.join(words)}"
        mounted = 'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && shift'
        entered = ["chroot", who, str(self.root), "/bin/sh", "-c", inside]
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec",
                f'{mounted} && exec "$@"', "sh", str(self.root), *entered]  # fmt: skip

    def run(self, *words: str, user: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command in the stage, whose variables alone it has, and those of this machine's certificates."""
        return subprocess.run(
            self.command(*words, user=user), env=self.variables, capture_output=True, text=True, check=False,
            timeout=1_800,
        )  # fmt: skip

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables of a process in the stage."""
        inside = str(_CERTIFICATES)
        trusted = dict.fromkeys(("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"), inside)
        return {**trusted, "DEBIAN_FRONTEND": "noninteractive", **self.environ}


def base(folder: Path) -> Path:
    """Make a clean Debian with Python as the base of the stages has it, and return its folder.

    Raises:
        CalledProcessError: The packages cannot be fetched.
    """
    root = folder / "base"
    release = next(step for step in steps(DOCKERFILE.read_text("utf-8")) if step.name == "ARG").text.rpartition("-")[2]
    command = ["debootstrap", "--variant=minbase", f"--include={_INCLUDED}", release, str(root)]
    subprocess.run(command, check=True, capture_output=True)
    (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    # An engine names the machine itself.
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n", "ascii")
    # A machine whose traffic is inspected has certificates of its own.
    shutil.copy(_CERTIFICATES, root / _CERTIFICATES.relative_to("/"))
    return root


def built(folder: Path, root: Path) -> Iterator[tuple[Step, Stage]]:
    """Run the steps in their order, and yield each with the stage after it."""
    stages: dict[str, Stage] = {}
    stage: Stage | None = None
    for step in steps(DOCKERFILE.read_text("utf-8")):
        if step.name == "FROM":
            name = step.words[2] if "AS" in step.words else "last"
            subprocess.run(["cp", "--archive", str(root), str(folder / name)], check=True)
            stage = stages[name] = Stage(folder / name)
        if stage is not None:
            _carry_out(step, stage, stages)
            yield step, stage


def _carry_out(step: Step, stage: Stage, stages: Mapping[str, Stage]) -> None:
    match step.name:
        case "RUN":
            answer = stage.run("/bin/sh", "-c", step.text)
            assert answer.returncode == 0, f"{step.text}\n{answer.stdout[-2000:]}\n{answer.stderr[-2000:]}"
        case "COPY":
            _copy(step, stage, stages)
        case "WORKDIR":
            (stage.root / step.text.lstrip("/")).mkdir(parents=True, exist_ok=True)
            stage.folder = step.text
        case "ENV":
            for pair in step.words:
                name, _, value = pair.partition("=")
                stage.environ[name] = value.replace("$PATH", stage.environ["PATH"])
        case "USER":
            stage.user = step.text
        case "ENTRYPOINT" | "CMD":
            stage.start += step.words
        case "HEALTHCHECK":
            stage.health = [str(word) for word in json.loads(step.text.partition("CMD ")[2])]


def _copy(step: Step, stage: Stage, stages: Mapping[str, Stage]) -> None:
    *sources, target = step.words
    place = REPOSITORY
    if sources[0].startswith("--from="):
        place = stages[sources.pop(0).removeprefix("--from=")].root
    within = stage.root / os.path.join(stage.folder, target).lstrip("/")
    for source in sources:
        found = place / source.lstrip("/")
        if found.is_dir():
            shutil.copytree(found, within, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(found, within / found.name)
