"""The hint file: worked examples of the canonical form and its digests, and everything that discards a hint."""

from __future__ import annotations

import hashlib
import json

import pytest

from explorer.core.log.last_checkpoint import canonical_form, digests, parse_last_checkpoint

DOCUMENT = (
    """{"k0":"'v 0'", "checksum": "adsaskfljadfkjadfkj", "k1":{"k2": 2, "k3": ["v3", [1, 2], """
    """{"k4": "v4", "k5": ["v5", "v6", "v7"]}]}}"""
)


@pytest.mark.conformance("LASTCKPT-006", "LASTCKPT-008")
def test_the_document_of_the_specification_has_its_digest() -> None:
    assert digests(json.loads(DOCUMENT))[0] == "6a92d155a59bf2eecbd4b4ec7fd1f875"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (
            '{"a": 10, "b": {"y": null, "x": "https://delta.io"}}',
            '"a"=10,"b"+"x"="https%3A%2F%2Fdelta.io","b"+"y"=null',
        ),
        ('[null, "hi ho", 2.71]', '0=null,1="hi%20ho",2=2.71'),
        ('{"t":{},"l":[],"v":1}', '"v"=1'),
        ('{"k0":"normal","k1":"a€+"}', '"k0"="normal","k1"="a%E2%82%AC%2B"'),
        ('{"k":"~*\'>"}', '"k"="~%2A%27%3E"'),
        (
            '{"k1":"v1","k4":"v4","k3":23.45,"k2":123,"k6":null,"k5":true}',
            '"k1"="v1","k2"=123,"k3"=23.45,"k4"="v4","k5"=true,"k6"=null',
        ),
        (
            '{"stuff":[{"hx": "wx","h1":"w1"}, {"h2": "w2"}],"id":1}',
            '"id"=1,"stuff"+0+"h1"="w1","stuff"+0+"hx"="wx","stuff"+1+"h2"="w2"',
        ),
    ],
)
@pytest.mark.conformance("LASTCKPT-008", "LASTCKPT-009", "LASTCKPT-012")
def test_the_canonical_form_of_worked_examples(text: str, form: str) -> None:
    assert canonical_form(json.loads(text)) == form


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        ('{"a":{"checksum":1},"checksum":"zz"}', "0d776d6168ee61e154225fd7cf49ee41"),
        ('{"k0":"normal","k1":"a€+"}', "bb022b5f99cddb579f4c94a559e10610"),
        (
            '{"version":10,"size":13,"parts":3,"sizeInBytes":12345,"numOfAddFiles":7}',
            "9812d787d117ae834e94825bbbc2715a",
        ),
        ('{"version":1,"size":2,"parts":3}', "d84a0aa11c93304d57feca6acaceb7fb"),
        ("{}", "d41d8cd98f00b204e9800998ecf8427e"),
        ('{"t":{},"l":[],"v":1}', "f73e3fe9ed4ff61a6fc4d23bc64c8a1d"),
        ('{"k1":"v1","k4":"v4","k3":23.45,"k2":123,"k6":null,"k5":true}', "7ca7100a36b6a61f1f7d7d8467ccb8b1"),
    ],
)
@pytest.mark.conformance("LASTCKPT-010", "LASTCKPT-012")
def test_the_digest_of_worked_examples(text: str, digest: str) -> None:
    assert digests(json.loads(text))[0] == digest


@pytest.mark.conformance("LASTCKPT-013")
def test_long_lists_have_two_digests_and_either_is_accepted() -> None:
    document = '{"l":[0,1,2,3,4,5,6,7,8,9,10]}'
    both = ("78a7568c9b473e4c9f9f908319f1c87f", "472724d28cb3396e50d3e696653c1683")
    assert digests(json.loads(document)) == both
    # By path alone 1 comes before 10 and 10 before 2; with what follows the path 10 comes before 1 too.
    by_path = sorted(range(11), key=lambda place: f'"l"+{place}')
    by_text = sorted(range(11), key=lambda place: f'"l"+{place}={place}')
    for order, digest in zip((by_path, by_text), both, strict=True):
        form = ",".join(f'"l"+{place}={place}' for place in order)
        assert hashlib.md5(form.encode(), usedforsecurity=False).hexdigest() == digest
    body = '{"l":[0,1,2,3,4,5,6,7,8,9,10],"size":1,"version":7,"checksum":"%s"}'
    for digest in digests(json.loads(body.replace("%s", ""))):
        hint = parse_last_checkpoint((body % digest).encode())
        assert hint is not None
        assert hint.version == 7


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json",
        "[]",
        "{}",
        '{"version":"three"}',
        '{"version":-1,"size":1}',
        '{"version":1,"version":2}',
        '{"version":1,"size":2,"checksum":"00000000000000000000000000000000"}',
        '{"version":1,"t":{"a":1,"a":2}}',
    ],
)
@pytest.mark.conformance("LASTCKPT-007", "LASTCKPT-011")
def test_an_unusable_hint_is_discarded(text: str) -> None:
    assert parse_last_checkpoint(text.encode()) is None


@pytest.mark.conformance("LASTCKPT-007", "LASTCKPT-008")
@pytest.mark.parametrize(
    ("number", "same"),
    [("1.50", "1.5"), ("1E3", "1000.0"), ("1e-7", "1E-7"), ("-0", "0"), ("9" * 23, f"{10**23 - 1}.0")],
)
def test_numbers_count_as_they_are_written(number: str, same: str) -> None:
    digest = hashlib.md5(f'"tags"+"n"={number},"version"=2'.encode(), usedforsecurity=False).hexdigest()
    texts = [f'{{"version":2,"tags":{{"n":{each}}},"checksum":"{digest}"}}' for each in (number, same)]
    assert [parse_last_checkpoint(text.encode()) is None for text in texts] == [False, True]
