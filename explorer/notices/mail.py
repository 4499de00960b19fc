"""Mail: a message of plain text over SMTP.

Invariants: a password is sent over TLS alone; no text of a notice becomes a header of its own; the ID of the mail is
that of the message, the same at every try.
"""

from __future__ import annotations

import re
import smtplib
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.errors import HeaderParseError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from functools import partial
from typing import Final, Literal, TypeAlias

from explorer import formatting as fmt
from explorer.core.errors import ExplorerError, RequestError
from explorer.credentials import concealed, without_credentials
from explorer.notices.channel import ChannelAnswer, OutgoingMessage
from explorer.notices.notice import Notice, NoticeMessage
from explorer.notices.secret import read_secret
from explorer.storage.silence import apart
from explorer.variables import MAIL_PASSWORD_VARIABLE

MailSecurity: TypeAlias = Literal["starttls", "tls", "none"]
PORTS: Final[dict[MailSecurity, int]] = {"starttls": 587, "tls": 465, "none": 25}
SECONDS: Final = 20.0
"""How long a server may be silent."""
LONGEST: Final = 60.0
"""How long a delivery may take in all."""
_LONGEST_SUBJECT: Final = 150
_HOST: Final = re.compile(r"[A-Za-z0-9.\-:\[\]]{1,253}")


@dataclass(frozen=True, slots=True)
class Mail:
    """Mail: a `explorer.notices.channel.Channel`.

    Attributes:
        host, port: The server.
        sender, to: Addresses, such as ``lake@example.org``.
        security: ``starttls``, ``tls`` from the beginning, or ``none``.
        user: The name to sign in with; empty without a sign-in.
        password_file: The file of the password; None for that of the environment variable.
        name: The name of the channel.
        trust: Verifies the certificate; None for what this machine trusts.
    """

    host: str
    sender: str
    to: tuple[str, ...]
    port: int | None = None
    security: MailSecurity = "starttls"
    user: str = ""
    password_file: str | None = None
    name: str = "mail"
    trust: ssl.SSLContext | None = None

    @property
    def place(self) -> str:
        """The server."""
        return f"{self.host}:{self._port}"

    @property
    def _port(self) -> int:
        return self.port or PORTS[self.security]

    def check(self) -> None:
        """Refuse what does not fit; nothing is sent.

        Raises:
            RequestError: With what is wrong.
        """
        if not _HOST.fullmatch(self.host):
            raise RequestError("mail.host is not the name of a server, such as smtp.example.org.", field="mail.host")
        if not self.to:
            raise RequestError('mail.to names nobody. Add to = ["lake-team@example.org"].', field="mail.to")
        for field, address in (("mail.sender", self.sender), *(("mail.to", each) for each in self.to)):
            _checked_address(address, field)
        if self.user and self.security == "none":
            raise RequestError(
                'mail.user is set, and mail.security is "none": the password would be sent in the clear. Use '
                '"starttls" or "tls".',
                field="mail.security",
            )
        if self.user and not self._password():
            raise RequestError(
                f"mail.user is set, and there is no password. Set mail.password_file, or {MAIL_PASSWORD_VARIABLE}.",
                field="mail.password_file",
            )

    def _password(self) -> str:
        return read_secret(self.password_file, MAIL_PASSWORD_VARIABLE, "mail.password_file")

    def send(self, outgoing: OutgoingMessage, now: float) -> ChannelAnswer:
        """Send a message, and return what came back."""
        try:
            self.check()
            password = self._password() if self.user else ""
            mail = self.written(outgoing, now)
        except ExplorerError as error:
            return ChannelAnswer(False, error.message)
        opened: list[smtplib.SMTP] = []
        try:
            return apart(partial(self._sent, mail, password, opened), LONGEST)
        except (smtplib.SMTPException, OSError, ValueError) as error:
            for server in opened:
                with suppress(OSError):
                    server.close()
            return ChannelAnswer(False, f"{self.place}: {concealed(_why(error), filter(None, (password,)))}")

    def _sent(self, mail: EmailMessage, password: str, opened: list[smtplib.SMTP]) -> ChannelAnswer:
        trust = self.trust or ssl.create_default_context()
        if self.security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(self.host, self._port, timeout=SECONDS, context=trust)
        else:
            server = smtplib.SMTP(self.host, self._port, timeout=SECONDS)
        opened.append(server)
        with server:
            if self.security == "starttls":
                server.starttls(context=trust)
            if self.user:
                server.login(self.user, password)
            refused = server.send_message(mail)
        without = f", and refused {fmt.plural(len(refused), 'recipient')}" if refused else ""
        return ChannelAnswer(True, f"{self.place} took the mail{without}")

    def written(self, outgoing: OutgoingMessage, now: float) -> EmailMessage:
        """Return the mail of a message."""
        message, mail = outgoing.message, EmailMessage(policy=SMTP)
        mail["From"] = _checked_address(self.sender, "mail.sender")
        mail["To"] = tuple(_checked_address(each, "mail.to") for each in self.to)
        mail["Subject"] = _one_line(subject(message.data.notices), _LONGEST_SUBJECT)
        mail["Date"] = format_datetime(datetime.fromtimestamp(now, UTC))
        mail["Message-ID"] = f"<{outgoing.id}@{mail['From'].addresses[0].domain or 'localhost'}>"
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(text_of(message))
        return mail


def _checked_address(text: str, field: str) -> Address:
    try:
        if not text.isascii() or not text.isprintable():
            raise ValueError
        address = Address(addr_spec=text.strip())
    except (ValueError, IndexError, HeaderParseError) as error:
        raise RequestError(f"{field} is not an address such as lake@example.org.", field=field) from error
    if not address.domain:
        raise RequestError(f"{field} is not an address such as lake@example.org.", field=field)
    return address


def subject(notices: Sequence[Notice]) -> str:
    """Return what a message is about, in one line."""
    first = notices[0]
    begin = "Resolved: " if first.state == "resolved" else ""
    return f"{begin}{first.title}" + (f" (and {len(notices) - 1} more)" if len(notices) > 1 else "")


def text_of(message: NoticeMessage) -> str:
    """Return a message for people."""
    parts = []
    if message.data.digest:
        parts.append("During quiet hours:")
    for notice in message.data.notices:
        lines = [("Resolved: " if notice.state == "resolved" else "") + _one_line(notice.title, 400)]
        lines += [f"Table: {_one_line(notice.name or notice.table, 1000)}"] if notice.table or notice.name else []
        lines += [without_credentials(fmt.readable_lines(notice.text, 4000))] if notice.text else []
        lines += [f"When: {notice.when}", f"Notice: {notice.id}"]
        lines += [fmt.plain(notice.address, 2000)] if notice.address else []
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _one_line(text: str, longest: int) -> str:
    return without_credentials(fmt.plain(" ".join(text.split()), longest))


def _why(error: Exception) -> str:
    match error:
        case smtplib.SMTPNotSupportedError():
            return "it does not offer what mail.security or mail.user needs"
        case smtplib.SMTPAuthenticationError():
            return f"it refused the sign-in ({error.smtp_code})"
        case smtplib.SMTPRecipientsRefused():
            return "it refused all recipients"
        case smtplib.SMTPResponseException():
            said = error.smtp_error.decode(errors="replace") if isinstance(error.smtp_error, bytes) else ""
            return f"it answered {error.smtp_code} {fmt.plain(said, 200)}"
        case ssl.SSLError():
            return "its certificate cannot be verified, or TLS failed"
        case TimeoutError():
            return "it did not answer in time"
        case smtplib.SMTPException():
            return "it ended the connection"
        case OSError():
            return f"it cannot be connected to: {error.strerror or type(error).__name__}"
        case _:
            return type(error).__name__
