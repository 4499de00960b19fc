"""``serve`` and ``demo``: one URL that answers, and refusals before anything is served."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from explorer.web.serving.people.password_file import write_user
from tests.cli.conftest import Call
from tests.support.pages.ports import free_port
from tests.support.pages.serving_command import serving
from tests.support.shared_tables import REPOSITORY


@pytest.mark.whole("tests/demo/test_warehouse.py, and test_serve_takes_the_port_and_several_roots")
def test_demo_builds_serves_and_prints_one_url(tmp_path: Path) -> None:
    folder = tmp_path / "share" / "demo"
    with serving("demo", "--folder", str(folder)) as (line, process):
        (url,) = re.findall(r"http://\S+", line)
        assert _status(url) == 200
        assert (folder / "sales/orders/_delta_log").is_dir()
        process.send_signal(signal.SIGINT)
        rest, told = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "http" not in rest + told
    assert f"Built the demo tables in {folder}" in told
    assert "Traceback" not in told


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("data", [None, b"x=1"])
def test_an_address_that_is_no_page_leads_to_the_list_of_tables(data: bytes | None, demo_warehouse: Path) -> None:
    with serving("serve", str(demo_warehouse)) as (line, _):
        (url,) = re.findall(r"http://\S+", line)
        request = urllib.request.Request(f"{url}sales/%3Cb%3Eorders", data, {"Origin": url.rstrip("/")})  # noqa: S310
        with pytest.raises(urllib.error.HTTPError) as told:
            urllib.request.urlopen(request, timeout=30)  # noqa: S310  # our own server
        page = told.value.read().decode()
    assert (told.value.code, told.value.headers["Content-Type"]) == (404, "text/html; charset=UTF-8")
    assert '<a class="button primary" href="/">All tables</a>' in page
    assert "/sales/%3Cb%3Eorders" in page
    assert "<b>orders" not in page


@pytest.mark.whole("tests/demo/test_warehouse.py")
def test_demo_is_built_once(demo_warehouse: Path) -> None:
    with serving("demo", "--folder", str(demo_warehouse), "--json") as (line, _):
        document = json.loads(line)
        assert (document["folder"], document["built"]) == (str(demo_warehouse), False)
        assert _status(document["url"]) == 200


def test_a_supervisor_ends_the_server_in_good_order(demo_warehouse: Path) -> None:
    with serving("serve", str(demo_warehouse)) as (_, process):
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode == 0


def test_serve_takes_the_port_and_several_roots(demo_warehouse: Path) -> None:
    port = free_port()
    roots = [str(demo_warehouse / "sales"), str(demo_warehouse / "web")]
    with serving("serve", *roots, "--port", str(port), "--json") as (line, _):
        document = json.loads(line)
        assert document["roots"] == roots
        assert document["url"].startswith(f"http://127.0.0.1:{port}")
        assert _status(document["url"]) == 200


def test_basic_auth_asks_before_anything_is_shown(demo_warehouse: Path, tmp_path: Path) -> None:
    users = tmp_path / "users.json"
    write_user(users, "ana", "secret")
    arguments = ["serve", str(demo_warehouse), "--basic-auth", str(users), "--json"]
    with serving(*arguments) as (line, _), _open(json.loads(line)["url"]) as answer:
        assert "/login" in answer.url
        assert b"orders" not in answer.read()


@pytest.mark.parametrize("content", [None, "not json", "[]", '{"ana": 7}', '{"ana": "in plain text"}'])
def test_bad_file_of_users_is_refused(content: str | None, cli: Call, demo_warehouse: Path, tmp_path: Path) -> None:
    users = tmp_path / "users.json"
    if content is not None:
        users.write_text(content)
        users.chmod(0o600)
    result = cli("serve", demo_warehouse, "--basic-auth", users, "--json")
    assert (result.code, result.error()["error"]) == (2, "RequestError")
    assert f"delta-explorer passwd {users} " in result.error()["message"]


def test_commits_for_whoever_reaches_the_machine_are_refused_without_a_password(
    cli: Call, demo_warehouse: Path
) -> None:
    result = cli("serve", demo_warehouse, "--allow-commits", "--address", "192.0.2.1", "--json")
    assert (result.code, result.error()["error"]) == (2, "RequestError")


def test_root_that_is_not_there_is_refused(cli: Call, tmp_path: Path) -> None:
    result = cli("serve", tmp_path / "nowhere", "--json")
    assert (result.code, result.error()["error"]) == (3, "TableNotFound")


@pytest.mark.whole("test_serve_takes_the_port_and_several_roots")
def test_port_that_is_taken_is_refused(demo_warehouse: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        # In a process of its own: Bokeh leaves a socket open when it cannot listen.
        command = [sys.executable, "-m", "explorer.cli", "serve", str(demo_warehouse), "--json", "--port"]
        command.append(str(taken.getsockname()[1]))
        completed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=120)
    assert (completed.returncode, completed.stdout) == (2, "")
    assert json.loads(completed.stderr)["error"] == "RequestError"


def test_demo_in_a_folder_with_other_content_is_refused(cli: Call, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("words")
    result = cli("demo", "--folder", tmp_path, "--json")
    assert (result.code, result.error()["error"]) == (2, "RequestError")


def test_without_panel_the_pages_say_what_to_install(demo_warehouse: Path) -> None:
    program = "import sys; sys.modules['panel'] = None\nfrom explorer.cli import main\nmain()"
    arguments = [sys.executable, "-c", program, "serve", str(demo_warehouse), "--json"]
    completed = subprocess.run(arguments, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert completed.returncode == 6, completed.stderr
    assert json.loads(completed.stderr)["install"] == 'pip install "delta-table-explorer[web]"'


def _status(url: str) -> int:
    with _open(url) as answer:
        return int(answer.status)


def _open(url: str) -> http.client.HTTPResponse:
    assert url.startswith("http://127.0.0.1:")
    answer: http.client.HTTPResponse = urllib.request.urlopen(url, timeout=60)  # noqa: S310 - the scheme is checked
    return answer
