"""The channels and the rules of sending, as the configuration states them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.core.errors import RequestError
from explorer.core.protocol.times import DayHours, period
from explorer.notices.channel import Channel
from explorer.notices.mail import Mail
from explorer.notices.sender import SendingRules
from explorer.notices.webhook import Webhook

if TYPE_CHECKING:
    from explorer.configuration.records import Configuration


def checked_channels(values: Configuration) -> tuple[Channel, ...]:
    """Return the channels of a configuration; nothing is sent.

    Raises:
        RequestError: One does not fit; ``field`` is its key.
    """
    webhooks = tuple(
        Webhook(each.name or f"webhook {number}", each.url, each.secret_file, each.allow_http)
        for number, each in enumerate(values.webhooks, 1)
    )
    mails: tuple[Mail, ...] = ()
    if values.mail.host:
        given = values.mail
        mails = (
            Mail(
                host=given.host,
                sender=given.sender,
                to=given.to,
                port=given.port,
                security=given.security,
                user=given.user,
                password_file=given.password_file,
            ),
        )
    names = set[str]()
    for number, webhook in enumerate(webhooks):
        field = f"webhooks[{number + 1}]"
        if webhook.name in names or webhook.name == "mail":
            raise RequestError(f"The name {webhook.name!r} is used twice. Give each channel another one.", field=field)
        names.add(webhook.name)
        try:
            webhook.check()
        except RequestError as error:
            raise error.with_facts(field=field) from error
    for mail in mails:
        mail.check()
    return (*webhooks, *mails)


def sending_rules(values: Configuration) -> SendingRules:
    """Return when messages are sent.

    Raises:
        RequestError: A key of ``[notices]`` does not fit.
    """
    given = values.notices
    remind = None if given.remind is None else period(given.remind, "notices.remind")
    return SendingRules(
        quiet=_quiet(given.quiet, given.zone),
        urgent=given.urgent,
        remind=None if remind is None else round(remind.total_seconds() * 1000),
        tries=given.tries,
    )


def _quiet(text: str, zone: str) -> DayHours | None:
    if not text:
        return None
    try:
        return DayHours.read(text, zone)
    except ValueError as error:
        raise RequestError(
            f"notices.quiet is {text!r}, not hours such as 22:00-07:00.", field="notices.quiet"
        ) from error
    except RequestError as error:
        raise error.with_facts(field="notices.zone") from error
