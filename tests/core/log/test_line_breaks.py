"""What line breaks say of commits before they are decoded, beside a reading line by line with the standard library."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from explorer.core.errors import MalformedAction
from explorer.core.log.commit import decode_commit, line_breaks
from tests.support.at_least_one import at_least_one

_PIECES = st.sampled_from(
    (
        *(b"{", b"}", b"\n", b",", b" ", b"\r", b'"a":1', b'"a":{}', b'"a":{"b":1}', b'{"txn":{}}', "\u00e9".encode()),
        *(b'{"txn":{"appId":"x","version":1}}', b'{"txn":{"appId":"x","version":1}}\n', b'"x":"\\n"', b"\xff"),
    )
)
_CONTENT = st.lists(_PIECES, max_size=6).map(b"".join)


@given(contents=st.lists(_CONTENT, min_size=1, max_size=6))
def test_many_files_looked_at_together_say_what_each_says_alone(contents: list[bytes]) -> None:
    assert [line_breaks([data])[0] for data in contents] == line_breaks(contents)
    assert [data.isascii() for data in contents] == [each.is_ascii for each in line_breaks(contents)]


@given(contents=st.lists(_CONTENT, min_size=1, max_size=4))
def test_a_commit_is_read_if_each_of_its_lines_is_one_object(contents: list[bytes]) -> None:
    for version, (data, breaks) in enumerate(at_least_one(zip(contents, line_breaks(contents), strict=True))):
        try:
            found = len(decode_commit(data, version, f"{version}.json", breaks).lines)
        except MalformedAction:
            found = -1
        assert _objects(data) == found


def _objects(data: bytes) -> int:
    """How many lines that are not blank are objects with a decodable action, by the standard library; -1 if one is
    not."""
    lines = [line for line in data.split(b"\n") if line.strip(b" \t\r")]
    try:
        objects = [json.loads(line.decode("utf-8")) for line in lines]
    except ValueError:
        return -1
    return len(objects) if all(isinstance(each, dict) for each in objects) else -1
