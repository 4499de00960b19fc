"""The server: which ports it refuses, and where its pages take their styles from."""

from __future__ import annotations

from pathlib import Path

import pytest
from bokeh.models import ImportedStyleSheet
from tornado.httputil import HTTPServerRequest, RequestStartLine

from explorer.core.errors import RequestError
from explorer.web import serve
from explorer.web.html import environment, plain_page
from explorer.web.serving.listener import BLOCKED_PORTS, check_port
from tests.support.at_least_one import at_least_one


def test_a_blocked_port_is_refused_by_name_with_another_one(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"refuse to open port 5060.*such as 5062") as refused:
        serve([str(tmp_path)], port=5060, start=False)
    assert refused.value.field == "port"


def test_the_port_that_is_named_instead_is_none_of_them() -> None:
    for port in at_least_one(sorted(BLOCKED_PORTS)):
        with pytest.raises(RequestError) as refused:
            check_port(port)
        named = int(str(refused.value).rsplit(" ", 1)[1].rstrip("."))
        check_port(named)
        assert named >= 1024


def test_a_page_whose_socket_opens_late_takes_its_styles_from_this_server(tmp_path: Path) -> None:
    # Its session is gone by then, and another one is made without a request for a page.
    server = serve([str(tmp_path)], start=False)
    document = server._tornado.applications["/"].application.create_document()
    sheets = at_least_one(document.select({"type": ImportedStyleSheet}))
    server.stop()
    assert [sheet.url for sheet in sheets if "://" in sheet.url] == []


def test_the_mark_is_drawn_in_one_template_and_leads_home_from_every_page() -> None:
    templates = environment().loader
    assert templates is not None
    sources = {name: templates.get_source(environment(), name)[0] for name in at_least_one(templates.list_templates())}
    assert [name for name, source in sources.items() if 'class="brand"' in source] == ["macros.html"]
    assert sorted(name for name, source in sources.items() if "brand(" in source and name != "macros.html") == [
        "bar.html", "plain-page.html",
    ]  # fmt: skip
    lost = plain_page(
        "unknown-address", HTTPServerRequest(start_line=RequestStartLine("GET", "/x", "HTTP/1.0")), path="/x"
    )
    assert lost.count('<a class="brand" data-home href="/"><svg viewBox="0 0 16 16"') == 1
