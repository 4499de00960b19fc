"""A single byte of a report or its signature changed, added or removed is found."""

from functools import cache

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.report import render, verify_report
from explorer.report.signature import SigningKey
from tests.support.comparison.audited_tables import NOW, loaded, written

_KEY = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(range(32))), "ana")
_CHANGES = ("changed", "added", "removed")


@cache
def _signed() -> tuple[bytes, bytes, bytes]:
    """A report with its signature, and one without."""
    table = written(loaded("0.parquet"), loaded("1.parquet", None))
    data = render(table.report(NOW, signer=_KEY.signer)).encode()
    return data, _KEY.sign(data), render(table.report(NOW)).encode()


def _struck(data: bytes, place: int, change: str, byte: int) -> bytes:
    at = place % len(data)
    if change == "removed":
        return data[:at] + data[at + 1 :]
    new = bytes([byte])
    return data[:at] + new + data[at + (change == "changed") :]


rendered_again = settings(max_examples=max(30, settings.default.max_examples // 4))
strikes = st.tuples(st.integers(0, 2**20), st.sampled_from(_CHANGES), st.integers(0, 255))


@rendered_again
@given(strikes)
def test_of_a_report_without_a_signature(strike: tuple[int, str, int]) -> None:
    _, _, data = _signed()
    struck = _struck(data, *strike)
    assert verify_report(struck).valid == (struck == data)


@given(strikes)
def test_of_a_signature(strike: tuple[int, str, int]) -> None:
    data = b'{"digest":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}\n'
    signature = _KEY.sign(data)
    struck = _struck(signature, *strike)
    assert verify_report(data, struck).valid == (struck == signature)


@rendered_again
@given(strikes)
def test_of_a_signed_report(strike: tuple[int, str, int]) -> None:
    data, signature, _ = _signed()
    struck = _struck(data, *strike)
    assert verify_report(struck, signature).valid == (struck == data)
