"""A store that takes requests and does not answer: people are told, can cancel, and it is given up in the end."""

import os
import pty
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

import explorer
from explorer.core.errors import StorageError
from explorer.storage import object_stores
from explorer.storage.silence import silent_for, under_way, waiting_line
from tests.support.shared_tables import REPOSITORY

_KEYS = {
    "AWS_ACCESS_KEY_ID": "any",
    "AWS_SECRET_ACCESS_KEY": "any",
    "AWS_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
}
_SHOWN = """
import time
from explorer.cli.output import patience
from explorer.storage import silence
silence.SILENT = 0.5
with patience("Reading the log"), silence.under_way("s3://bucket/orders"):
    time.sleep(2.5)
"""


class SilentServer:
    """Accepts connections and never answers; ``asked`` is set by the first."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        self._socket.close()
        for each in self._open:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._open.append(connection)
            self.asked.set()


@pytest.fixture
def server() -> Iterator[SilentServer]:
    silent = SilentServer()
    yield silent
    silent.close()


def test_ctrl_c_ends_a_command_that_waits_for_a_store(server: SilentServer) -> None:
    environment = {**os.environ, **_KEYS, "AWS_ENDPOINT": server.address}
    # A shell starts what runs in the background with Ctrl-C ignored, also these tests.
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program += "from explorer.cli import main\nmain()"
    command = [sys.executable, "-c", program, "snapshot", "s3://bucket/orders"]
    with subprocess.Popen(
        command, cwd=REPOSITORY, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert server.asked.wait(60)
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, error) == (130, "Error: Cancelled.\n")


def test_a_silent_store_is_given_up(server: SilentServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_stores, "GIVEN_UP", 2)
    options = {key.lower(): value for key, value in _KEYS.items()} | {"aws_endpoint": server.address, "timeout": "1s"}
    with pytest.raises(StorageError, match="s3://bucket/orders"):
        explorer.open_table("s3://bucket/orders", storage_options=options).snapshot()
    assert silent_for() is None, "nothing waits any more"


def test_a_request_is_silent_after_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    with under_way("s3://bucket/orders"):
        now = 104.0
        assert waiting_line() == ""
        now = 107.0
        assert waiting_line() == (
            "Waiting for s3://bucket/orders: no answer for 7 seconds. It is given up after 60 seconds."
        )
        assert waiting_line("s3://other/events") == ""
    assert waiting_line() == ""


def test_a_terminal_shows_which_store_is_silent() -> None:
    terminal, stderr = pty.openpty()
    try:
        subprocess.run([sys.executable, "-c", _SHOWN], cwd=REPOSITORY, stderr=stderr, check=True, timeout=60)
        os.write(stderr, b"\nthe end\n")
        shown = os.read(terminal, 100_000)
    finally:
        os.close(terminal)
        os.close(stderr)
    assert b"Waiting for s3://bucket/orders" in shown
