"""The pages behind nginx, with TLS and a prefix: whole with --public-url, and told what to set without."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from explorer.web.serving.people.password_file import write_user
from tests.e2e.conftest import CHROMIUM, settle
from tests.support.dose import WHOLE_DOSE
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.nginx import running_nginx
from tests.support.pages.ports import free_port
from tests.support.pages.raw_pages import served_here

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        not WHOLE_DOSE, reason="needs nginx: only under make prove; tests/web/serving/test_proxies.py has a small proxy"
    ),
    pytest.mark.skipif(
        shutil.which("nginx") is None, reason="no nginx on this machine: install the package nginx-light"
    ),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: install the package chromium"),
]

CONFIGURATION = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ }}
http {{
  access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
    location /lake/ {{
      proxy_pass http://127.0.0.1:{inner}{path};
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $http_connection;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      {host}
    }}
  }}
}}
"""
KEEPS_HOST = "proxy_set_header Host $http_host;"


@contextmanager
def nginx(folder: Path, port: int, inner: int, *, path: str, host: str) -> Iterator[None]:
    """Run nginx before a server; ``path`` is what it makes of the prefix, empty to leave it."""
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    keys = ["-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *keys, *subject]
    subprocess.run(made, check=True, capture_output=True)
    (folder / "nginx.conf").write_text(
        CONFIGURATION.format(folder=folder, port=port, inner=inner, path=path, host=host), encoding="utf-8"
    )
    with running_nginx(folder, port):
        yield


@pytest.fixture
def root(tmp_path: Path) -> Path:
    created = hostile_tables.created({"id": "long"})
    small_logs.write_log(tmp_path / "w" / "orders", [created, [small_logs.add("1.parquet", 3)]])
    return tmp_path / "w"


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(ignore_https_errors=True)
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    context.close()


@pytest.mark.parametrize("path", ["", "/"], ids=["prefix left", "prefix taken away"])
@pytest.mark.parametrize("host", [KEEPS_HOST, ""], ids=["host kept", "host changed"])
def test_with_its_public_url_everything_works(page: Any, root: Path, tmp_path: Path, path: str, host: str) -> None:
    write_user(tmp_path / "users.json", "ana", "secret")
    port = free_port()
    public = f"https://localhost:{port}/lake/"
    wrong: list[str] = []
    page.on("response", lambda answer: wrong.append(answer.url) if answer.status >= 400 else None)
    page.on("request", lambda request: wrong.append(request.url) if not _is_below(request.url, public) else None)
    page.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
    with (
        served_here(root, allow_commits=True, basic_auth=tmp_path / "users.json", public_urls=[public]) as pages,
        nginx(tmp_path, port, pages.port, path=path, host=host),
    ):
        page.goto(f"{public}?t=w/orders&tab=act&act=set-description&f.description=new&step=plan")
        page.get_by_label("Name").fill("ana")
        page.get_by_label("Password").fill("secret")
        page.get_by_role("button", name="Sign in").click()
        settle(page)
        (cookie,) = [found for found in page.context.cookies() if found["name"].startswith("explorer-session-")]
        assert (cookie["secure"], cookie["path"], cookie["sameSite"]) == (True, "/lake/", "Strict")
        page.locator("#act-plan").click()
        page.locator("form[data-confirm]").wait_for()
        page.get_by_role("link", name="Files", exact=True).click()
        settle(page)
        assert page.url.startswith(f"{public}?t=w/orders")
        page.goto(f"{public}logout")
        page.get_by_role("button", name="Sign out").click()
        assert page.get_by_role("heading", name="Sign in").is_visible()
        assert page.url == f"{public}login"
    assert wrong == []


@pytest.mark.parametrize("host", [KEEPS_HOST, ""], ids=["host kept", "host changed"])
def test_without_it_the_page_says_what_to_set(page: Any, root: Path, tmp_path: Path, host: str) -> None:
    port = free_port()
    with served_here(root) as pages, nginx(tmp_path, port, pages.port, path="/", host=host):
        page.goto(f"https://localhost:{port}/lake/?t=w/orders")
        if host:
            assert "Unknown host" in page.locator("h1").inner_text()
        else:
            page.wait_for_selector('html[data-silence="refused"]')
        assert "--public-url" in page.locator("main").inner_text()


def _is_below(url: str, public: str) -> bool:
    return url.startswith((public, f"blob:{public[: public.index('/', 8)]}", "data:"))
