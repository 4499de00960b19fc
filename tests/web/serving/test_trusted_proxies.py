"""The address of a client: what a trusted proxy reports, and never what the client says of itself."""

from __future__ import annotations

import pytest
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from explorer.web.serving.public_urls import THIS_MACHINE, read_trusted_proxies


def request_of(peer: str, *forwarded: str) -> HTTPServerRequest:
    headers = HTTPHeaders({"Host": "example.org"})
    for text in forwarded:
        headers.add("X-Forwarded-For", text)
    made = HTTPServerRequest(start_line=RequestStartLine("POST", "/login", "HTTP/1.1"), headers=headers)
    made.remote_ip = peer
    return made


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("198.51.100.1", [], "198.51.100.1"),
        ("198.51.100.1", ["203.0.113.9"], "198.51.100.1"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("::1", ["203.0.113.9"], "203.0.113.9"),
        ("::ffff:127.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("127.0.0.1", ["1.1.1.1, 203.0.113.9"], "203.0.113.9"),
        ("127.0.0.1", ["1.1.1.1", "203.0.113.9"], "203.0.113.9"),
        ("127.0.0.1", ["1.1.1.1, 203.0.113.9, 10.0.0.7"], "203.0.113.9"),
        ("127.0.0.1", ["203.0.113.9:51000"], "203.0.113.9"),
        ("127.0.0.1", ['"[2001:db8::7]:51000"'], "2001:db8::/64"),
        ("127.0.0.1", ["2001:db8::ffff"], "2001:db8::/64"),
        ("127.0.0.1", ["unknown"], "127.0.0.1"),
        ("127.0.0.1", ["203.0.113.9, ,"], "127.0.0.1"),
        ("127.0.0.1", ["<script>"], "127.0.0.1"),
        ("127.0.0.1", ["::ffff:203.0.113.9"], "203.0.113.9"),
        ("2001:db8::1", ["203.0.113.9"], "2001:db8::/64"),
    ],
)
def test_the_client_is_the_last_peer_that_is_not_a_trusted_proxy(peer: str, forwarded: list[str], client: str) -> None:
    proxies = read_trusted_proxies((*THIS_MACHINE, "10.0.0.0/8"))
    assert proxies.client(request_of(peer, *forwarded)) == client


def test_without_trusted_proxies_every_header_is_ignored() -> None:
    assert read_trusted_proxies(()).client(request_of("127.0.0.1", "203.0.113.9")) == "127.0.0.1"
