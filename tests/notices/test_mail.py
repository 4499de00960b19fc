"""Mail against a real server: TLS, a sign-in, refusals, and texts that try to become headers."""

from __future__ import annotations

import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.errors import RequestError
from explorer.notices.channel import OutgoingMessage
from explorer.notices.mail import Mail
from explorer.notices.notice import NoticeList, NoticeMessage
from explorer.variables import MAIL_PASSWORD_VARIABLE
from tests.support.notices.books import NOW, notice

PASSWORD = "pass-word-secret"


class Box:
    """Takes mails, and answers as a test says."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.answer = "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802  # aiosmtpd calls it
        if self.answer.startswith("250"):
            mail = message_from_bytes(envelope.content, policy=policy.default)
            assert isinstance(mail, EmailMessage)
            self.mails.append(mail)
        return self.answer


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    arguments = [*command.split(), "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*arguments, "-keyout", "key", "-out", "cert"], cwd=folder, check=True, capture_output=True)
    return folder / "cert", folder / "key"


@contextmanager
def serving(box: Box, certificate: tuple[Path, Path] | None = None, *, sign_in: bool = False) -> Iterator[int]:
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)

    class Server(Controller):
        def factory(self) -> SMTP:
            return SMTP(
                box,
                tls_context=context,
                require_starttls=context is not None,
                auth_required=sign_in,
                authenticator=authenticated if sign_in else None,
            )

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = Server(box, hostname="127.0.0.1", port=port)
    server.start()
    try:
        yield port
    finally:
        server.stop()


def authenticated(server: Any, session: Any, envelope: Any, mechanism: str, data: LoginPassword) -> AuthResult:
    right = (data.login, data.password) == (b"explorer", PASSWORD.encode())
    return AuthResult(success=right, handled=False)


def outgoing(**fields: Any) -> OutgoingMessage:
    message = NoticeMessage(timestamp="2026-05-28T20:26:40Z", data=NoticeList(notices=(notice(**fields),)))
    return OutgoingMessage("msg_0123456789", msgspec.json.encode(message), message)


def mail_to(port: int, **fields: Any) -> Mail:
    values = {"host": "127.0.0.1", "sender": "explorer@example.org", "to": ("lake@example.org",), "security": "none"}
    return Mail(port=port, **(values | fields))


def trusting(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificate[0])


def test_a_mail_says_what_the_notice_says() -> None:
    box = Box()
    with serving(box) as port:
        answer = mail_to(port, to=("lake@example.org", "ben@example.org")).send(
            outgoing(address="https://example.org/lake/?t=lake/orders&v=3"), NOW / 1000
        )
    assert answer.accepted
    (mail,) = box.mails
    assert mail["Subject"] == "orders: rows gone, v3"
    assert mail["To"] == "lake@example.org, ben@example.org"
    assert mail["Message-ID"] == "<msg_0123456789@example.org>"
    text = mail.get_content()
    assert "v3 by ben: 100 rows removed." in text
    assert "https://example.org/lake/?t=lake/orders&v=3" in text
    assert "Table: lake/orders" in text


def test_a_password_goes_over_tls_alone(certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAIL_PASSWORD_VARIABLE, PASSWORD)
    box = Box()
    with serving(box, certificate, sign_in=True) as port:
        mail = mail_to(port, security="starttls", user="explorer", trust=trusting(certificate))
        assert mail.send(outgoing(), NOW / 1000).accepted
        with pytest.raises(RequestError, match="in the clear"):
            mail_to(port, user="explorer").check()
    assert len(box.mails) == 1


def test_a_certificate_that_is_not_trusted_ends_it(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MAIL_PASSWORD_VARIABLE, PASSWORD)
    box = Box()
    with serving(box, certificate, sign_in=True) as port:
        answer = mail_to(port, security="starttls", user="explorer").send(outgoing(), NOW / 1000)
    assert not answer.accepted
    assert "certificate" in answer.text
    assert box.mails == []


def test_a_server_without_starttls_gets_nothing() -> None:
    box = Box()
    with serving(box) as port:
        answer = mail_to(port, security="starttls").send(outgoing(), NOW / 1000)
    assert not answer.accepted
    assert "does not offer" in answer.text
    assert box.mails == []


def test_a_wrong_password_is_said_and_not_repeated(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MAIL_PASSWORD_VARIABLE, "another-secret")
    with serving(Box(), certificate, sign_in=True) as port:
        mail = mail_to(port, security="starttls", user="explorer", trust=trusting(certificate))
        answer = mail.send(outgoing(), NOW / 1000)
    assert not answer.accepted
    assert "refused the sign-in (535)" in answer.text
    assert "another-secret" not in answer.text


@pytest.mark.parametrize("said", ["451 try again", "552 the box is full"])
def test_what_the_server_refuses_is_said(said: str) -> None:
    box = Box()
    box.answer = said
    with serving(box) as port:
        answer = mail_to(port).send(outgoing(), NOW / 1000)
    assert not answer.accepted
    assert said in answer.text


def test_a_server_that_is_not_there_is_named() -> None:
    with serving(Box()) as port:
        pass
    answer = mail_to(port).send(outgoing(), NOW / 1000)
    assert not answer.accepted
    assert "cannot be connected to" in answer.text


HOSTILE = "x\r\nBcc: thief@example.org\r\n\r\nbody\n.\r\nRCPT TO:<thief@example.org>"


def test_no_text_of_a_notice_becomes_a_header_or_a_recipient() -> None:
    box = Box()
    with serving(box) as port:
        hostile = outgoing(title=HOSTILE, text=HOSTILE, name=HOSTILE, table=HOSTILE, address=HOSTILE)
        assert mail_to(port).send(hostile, NOW / 1000).accepted
    (mail,) = box.mails
    assert sorted(mail.keys()) == sorted(set(mail.keys()))
    assert mail["Bcc"] is None
    assert mail["To"] == "lake@example.org"
    assert "Bcc: thief" in mail["Subject"]


@given(st.text(), st.text())
def test_any_text_makes_a_mail_with_the_same_headers(title: str, text: str) -> None:
    written = Mail(host="h", sender="a@example.org", to=("b@example.org",)).written(
        outgoing(title=title.encode("utf-8", "backslashreplace").decode(), text=text), NOW / 1000
    )
    read = message_from_bytes(written.as_bytes(), policy=policy.default)
    assert {name.lower() for name in read} == {
        *("from", "to", "subject", "date", "message-id", "auto-submitted", "content-type", "mime-version"),
        "content-transfer-encoding",
    }
    assert read["To"] == "b@example.org"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"to": ()}, "names nobody"),
        ({"to": ("a@example.org\r\nBcc: b@example.org",)}, "mail.to is not an address"),
        ({"sender": "explorer"}, "mail.sender is not an address"),
        ({"host": "example.org/x"}, "mail.host is not the name"),
        ({"user": "explorer", "security": "tls"}, "there is no password"),
    ],
)
def test_what_does_not_fit_is_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(RequestError, match=said):
        mail_to(25, **fields).check()
