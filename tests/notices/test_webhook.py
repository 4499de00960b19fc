"""Webhooks against a real receiver: what it verifies, what it answers, and what no text may hold."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import msgspec
import pytest
import standardwebhooks
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.errors import RequestError
from explorer.notices import webhook as module
from explorer.notices.channel import ChannelAnswer
from explorer.notices.notice import NoticeMessage
from explorer.notices.sender import trial_message
from explorer.notices.webhook import Webhook, signature, signing_keys, waiting_time
from explorer.variables import WEBHOOK_SECRET_VARIABLE
from tests.support.at_least_one import at_least_one
from tests.support.notices.receiver import SECRET, Answering, Receiver, cut_off, drip, hang, receiving, status


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WEBHOOK_SECRET_VARIABLE, SECRET)


def sent_to(receiver: Receiver) -> ChannelAnswer:
    now = datetime.now(UTC).timestamp()
    answer = Webhook("chat", receiver.url).send(trial_message(now), now)
    assert "secret" not in answer.text
    return answer


def test_a_signature_is_that_of_the_specification() -> None:
    """The vector that the libraries of Standard Webhooks share."""
    keys = signing_keys("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    signed = signature(keys, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(st.binary(min_size=24, max_size=64), st.text(st.characters(codec="ascii", categories=["L", "N"])), st.binary())
def test_every_signature_is_that_of_another_implementation(key: bytes, name: str, body: bytes) -> None:
    other = standardwebhooks.Webhook(key)
    text = body.decode("latin-1")
    when = datetime(2026, 5, 28, tzinfo=UTC)
    expected = other.sign(msg_id=name, timestamp=when, data=text)
    assert signature((key,), name, int(when.timestamp()), text.encode()) == expected


def test_a_receiver_verifies_what_it_gets_and_reads_the_one_document() -> None:
    with receiving() as receiver:
        answer = sent_to(receiver)
    assert answer.accepted
    ((headers, body),) = receiver.got
    assert receiver.verified
    assert headers["content-type"] == "application/json"
    read = msgspec.json.decode(body, type=NoticeMessage)
    assert read.data.notices[0].kind == "test"


def test_a_secret_is_replaced_without_a_message_that_does_not_verify(tmp_path: Path) -> None:
    """While both are in the file, each message has both signatures."""
    place = tmp_path / "secret"
    place.write_text(f"whsec_{'A' * 44}\n{SECRET}\n")
    place.chmod(0o600)
    with receiving() as receiver:
        now = datetime.now(UTC).timestamp()
        assert Webhook("chat", receiver.url, str(place)).send(trial_message(now), now).accepted
    assert len(receiver.got[0][0]["webhook-signature"].split(" ")) == 2


@pytest.mark.parametrize(
    ("answering", "said", "wait"),
    [
        (status(500), "answered 500", None),
        (status(429, retry_after="120"), "answered 429", 120.0),
        (status(503, retry_after="999999999"), "answered 503", 86_400.0),
        (cut_off, "ended the connection without an answer", None),
    ],
)
def test_what_is_not_accepted_is_said(answering: Answering, said: str, wait: float | None) -> None:
    with receiving(answering) as receiver:
        answer = sent_to(receiver)
    assert (answer.accepted, answer.wait, answer.final) == (False, wait, False)
    assert said in answer.text


def test_a_receiver_that_is_gone_gets_no_more() -> None:
    with receiving(status(410)) as receiver:
        assert sent_to(receiver).final


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(code: int) -> None:
    with receiving() as other, receiving(status(code, location=other.url)) as receiver:
        answer = sent_to(receiver)
    assert not answer.accepted
    assert "redirects, which is not followed" in answer.text
    assert other.got == []


@pytest.mark.parametrize("answering", [hang(3), drip(6)], ids=["silent", "a byte at a time"])
def test_a_slow_receiver_holds_nothing_up(monkeypatch: pytest.MonkeyPatch, answering: Answering) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 1.0)
    monkeypatch.setattr(module, "LONGEST", 2.0)
    with receiving(answering) as receiver:
        answer = sent_to(receiver)
    assert not answer.accepted
    assert "did not answer in time" in answer.text


def test_a_receiver_that_is_not_there_is_named_by_its_host() -> None:
    with receiving() as receiver:
        pass
    answer = sent_to(receiver)
    assert "cannot be connected to" in answer.text
    assert "127.0.0.1" in answer.text


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://example.org/", "is not an address"),
        ("https://", "is not an address"),
        ("https://exämple.org/", "is not an address"),
        ("https://example.org/\nx", "is not an address"),
        ("https://a:secret@example.org/", "has a user or a password"),
        ("http://example.org/secret", "allow_http"),
        ("http://[::1", "is not an address"),
    ],
)
def test_an_address_that_does_not_fit_is_refused_and_not_repeated(url: str, said: str) -> None:
    with pytest.raises(RequestError) as found:
        Webhook("chat", url).check()
    assert said in str(found.value)
    assert "secret" not in str(found.value)
    assert "secret" not in repr(Webhook("chat", url))


@pytest.mark.parametrize("text", ["whsec_short", "whsec_$$$", f"whsec_{'A' * 120}"])
def test_a_secret_that_does_not_fit_is_refused_and_not_repeated(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(WEBHOOK_SECRET_VARIABLE, text)
    with pytest.raises(RequestError) as found:
        Webhook("chat", "https://example.org/").check()
    assert "24 to 64 random bytes" in str(found.value)
    assert text not in str(found.value)


def test_a_secret_that_others_can_read_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "secret"
    place.write_text(SECRET)
    place.chmod(0o644)
    with pytest.raises(RequestError, match=r"chmod 600"):
        Webhook("chat", "https://example.org/", str(place)).check()
    os.unlink(place)
    with pytest.raises(RequestError, match="cannot be read"):
        Webhook("chat", "https://example.org/", str(place)).check()


def test_a_time_to_wait_is_a_number_or_a_date() -> None:
    now = datetime(2026, 5, 28, tzinfo=UTC)
    stated = {
        "7": 7.0,
        format_datetime(now + timedelta(seconds=90), usegmt=True): 90.0,
        format_datetime(now - timedelta(days=9), usegmt=True): 0.0,
        "": None,
        "soon": None,
        "-1": None,
        "\u0663": None,
    }
    for text, expected in at_least_one(stated.items()):
        assert waiting_time(text, now.timestamp()) == expected, text
