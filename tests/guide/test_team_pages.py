"""Pages for a team: commands that are not run have the options that they name, and files do what the page says."""

from __future__ import annotations

import http.client
import re
import shlex
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from email.message import Message
from pathlib import Path

import pytest
import typer

from explorer.cli.app import command_group
from explorer.web.serving.people.password_file import write_user
from tests.guide.blocks import PAGES, blocks_of
from tests.support.at_least_one import at_least_one
from tests.support.dose import WHOLE_DOSE
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.nginx import running_nginx
from tests.support.pages.ports import free_port
from tests.support.pages.raw_pages import served_here
from tests.support.shared_tables import REPOSITORY

TEAM = REPOSITORY / "docs" / "guide" / "team.md"
NOT_RUN = [
    line
    for page in PAGES
    for block in blocks_of(page)
    if block.language == "bash" and block.mark == "not run"
    for line in block.text.splitlines()
    if line.startswith("delta-explorer ")
]


def _block(language: str) -> str:
    (block,) = [block for block in blocks_of(TEAM) if block.language == language]
    return block.text


def _parse(line: str) -> str | None:
    """Read a command line as the program does, without running it; return the name of the command."""
    _, name, *arguments = shlex.split(line, comments=True)
    command = command_group().commands[name]
    return command.make_context(name, arguments, parent=typer.Context(command_group())).info_name


@pytest.mark.parametrize("line", at_least_one(NOT_RUN))
def test_a_command_that_is_not_run_has_the_options_that_it_names(line: str) -> None:
    assert _parse(line) == line.split()[1]


def _units() -> list[str]:
    return [block.text for block in blocks_of(TEAM) if block.language == "ini"]


def test_the_units_start_commands_that_there_are() -> None:
    starts = [
        start for unit in _units() for start in re.findall(r"^ExecStart=\S+/(delta-explorer .+)$", unit, re.MULTILINE)
    ]
    assert [_parse(start) for start in starts] == ["serve", "tripwires"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd on this machine")
@pytest.mark.parametrize("place", [0, 1])
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path, place: int) -> None:
    own = str(Path(sys.executable).with_name("delta-explorer"))
    unit = tmp_path / "delta-explorer.service"
    unit.write_text(_units()[place].replace("/opt/explorer/bin/delta-explorer", own), "utf-8")
    verified = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (verified.returncode, [line for line in verified.stderr.splitlines() if unit.name in line]) == (0, [])


@contextmanager
def _nginx(folder: Path, port: int, inner: list[int]) -> Iterator[None]:
    """Run nginx with the configuration of the page, at ports and with a certificate of this test."""
    keys = ["-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem", "-subj", "/CN=example.org"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *keys]
    subprocess.run([*made, "-addext", "subjectAltName=DNS:example.org"], check=True, capture_output=True)
    text = _block("nginx").replace("listen 443", f"listen 127.0.0.1:{port}")
    text = text.replace("/etc/ssl/example.org.pem", f"{folder}/cert.pem")
    text = text.replace("/etc/ssl/example.org.key", f"{folder}/key.pem")
    servers = "".join(f"server 127.0.0.1:{each};" for each in inner)
    text = text.replace("server 127.0.0.1:5007;", servers)
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;\nevents {{ }}\n"
        f"http {{ access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b;\n"
        f"fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;\n{text}\n}}\n",
        "utf-8",
    )
    with running_nginx(folder, port):
        yield


def _ask(folder: Path, port: int, path: str, body: str | None = None, cookie: str = "") -> tuple[int, Message, bytes]:
    """Ask for an address of https://example.org/, as a browser does that trusts its certificate."""
    trusted = ssl.create_default_context(cafile=str(folder / "cert.pem"))
    trusted.check_hostname = False  # the address is 127.0.0.1 here
    headers = {"Host": "example.org", "Origin": "https://example.org", "Cookie": cookie}
    headers |= {} if body is None else {"Content-Type": "application/x-www-form-urlencoded"}
    with closing(http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=trusted)) as client:
        client.request("GET" if body is None else "POST", path, body, headers)
        answer = client.getresponse()
        return answer.status, answer.headers, answer.read()


@pytest.mark.skipif(not WHOLE_DOSE, reason="part of the whole dose: make prove; it needs nginx")
@pytest.mark.skipif(shutil.which("nginx") is None, reason="no nginx on this machine: install the package nginx-light")
def test_two_servers_behind_the_proxy_of_the_page_keep_each_visitor_at_one(tmp_path: Path) -> None:
    created = hostile_tables.created({"id": "long"})
    small_logs.write_log(tmp_path / "w" / "orders", [created, [small_logs.add("1.parquet", 3)]])
    write_user(tmp_path / "users.json", "ana", "secret")
    options = {"basic_auth": tmp_path / "users.json", "public_urls": ["https://example.org/lake/"]}
    port = free_port()
    with (
        served_here(tmp_path / "w", **options) as one,
        served_here(tmp_path / "w", **options) as other,
        _nginx(tmp_path, port, [one.port, other.port]),
    ):
        assert _ask(tmp_path, port, "/lake/healthz")[::2] == (200, b"ok\n")
        assert _ask(tmp_path, port, "/healthz")[0] == 404
        status, headers, _ = _ask(tmp_path, port, "/lake/?t=w/orders")
        assert (status, headers["Location"]) == (303, "/lake/login?next=%3Ft%3Dw%2Forders")
        _, headers, _ = _ask(tmp_path, port, "/lake/login", "name=ana&password=secret&next=%3Ft%3Dw%2Forders")
        assert headers["Location"] == "/lake/?t=w/orders"
        cookies = "; ".join(each.partition(";")[0] for each in headers.get_all("Set-Cookie") or ())
        for _ in range(6):
            status, _, page = _ask(tmp_path, port, "/lake/?t=w/orders", cookie=cookies)
            assert (status, b"orders" in page) == (200, True)
