"""Whether a report is as it was written, and as it was signed; if not, the part that differs.

In: the bytes of a report, of its signature if there is one, and the keys to trust.
Out: a `Verification`.
Always: a report is valid only if its text follows from its document, its digest is that of its document, and each
signature that it has or names fits. A single byte changed, added or removed is detected. Without a key to trust, a
signature shows only that the holder of some key made it; the result says whose it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from explorer.auditing.document import digest_of
from explorer.core.errors import RequestError
from explorer.core.protocol.json_values import JsonRecord
from explorer.report.decoding import AnyReport, decode_report, embedded, is_html
from explorer.report.document import TablesReport
from explorer.report.page import render
from explorer.report.signature import Signature, TrustedKey, read_signature
from explorer.version import VERSION

_AROUND: Final = 60


class Difference(JsonRecord, frozen=True, kw_only=False):
    """A part of a report that is not as it should be: ``text``, ``document``, ``digest`` or ``signature``.

    Attributes:
        part: The part.
        detail: What is wrong.
        line: The first line of the file that differs, from 1; None where that is not the point.
        found, expected: That line around the place, in the file and as it should be.
    """

    part: str
    detail: str
    line: int | None = None
    found: str | None = None
    expected: str | None = None


class Verification(JsonRecord, frozen=True, kw_only=True):
    """The result of verifying a report.

    Attributes:
        valid: Whether everything is as it should be.
        digest: The digest of what the report states now; None if it states nothing that can be read.
        signer: The name under which the key is trusted, else the fingerprint of the key that signed; None without a
            signature that fits.
        trusted: Whether a key that was given to trust made the signature; None if none was given.
        differences: What is not as it should be; none in a valid report.
    """

    valid: bool
    digest: str | None
    signer: str | None
    trusted: bool | None
    differences: tuple[Difference, ...]


def verify_report(
    data: bytes, signature: bytes | None = None, trusted: Sequence[TrustedKey] | None = None
) -> Verification:
    """Verify a report.

    Args:
        data: The file: HTML, or lines of JSON.
        signature: Its detached signature; None if there is none.
        trusted: The keys to trust; None to ask only whether the signature fits.

    Raises:
        EngineUnavailable: A signature is to be verified, and the package for that is missing.
    """
    try:
        digest, differences, named = _html(data) if is_html(data) else _lines(data)
    except RequestError as error:
        digest, differences, named = None, [Difference("document", str(error))], set[str]()
    signer, known, wrong = _signature(data, signature, trusted, named)
    parts = (*differences, *wrong)
    return Verification(valid=not parts, digest=digest, signer=signer, trusted=known, differences=parts)


def _html(data: bytes) -> tuple[str, list[Difference], set[str]]:
    report = decode_report(embedded(data, "The file"))
    digest, differences = _digests(report)
    try:
        again = render(report).encode()
    except (ValueError, ArithmeticError) as error:
        # Only of a document that was not made here: a time that is none, or numbers that contradict each other.
        differences.append(Difference("document", f"The text cannot be rebuilt from the data: {error}."))
    else:
        differences += _text(data, again, report.program)
    return digest, differences, _named(report)


def _lines(data: bytes) -> tuple[str | None, list[Difference], set[str]]:
    """Yield the document of each line, of an audit or a full file; the digest is the last one's."""
    differences: list[Difference] = []
    named: set[str] = set()
    digest: str | None = None
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
        document = _decoded(line, number)
        digest = digest_of(document)
        if document.get("digest") != digest:
            detail = f"The stated digest is {document.get('digest')}, but the content has {digest}."
            differences.append(Difference("digest", detail, number))
        if msgspec.json.encode(document) != line:
            differences.append(Difference("text", "The line differs from the written form of the document.", number))
        signer = document.get("signer")
        if isinstance(signer, dict):
            named.add(str(signer.get("fingerprint")))
    if not data.endswith(b"\n"):
        differences.append(Difference("text", "The end of the last line is missing."))
    return digest, differences, named


def _decoded(line: bytes, number: int) -> dict[str, Any]:
    try:
        document: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(f"Line {number} is not a report document: {error}.") from error
    return document


def _digests(report: AnyReport) -> tuple[str, list[Difference]]:
    digest = digest_of(report)
    stated = [("The digest", report.digest, digest)]
    tables = report.tables if isinstance(report, TablesReport) else ()
    stated += [(f"The digest of {each.table}", each.digest, digest_of(each)) for each in tables]
    return digest, [
        Difference("digest", f"{what} is stated as {stated_digest}, but the content has {is_}.")
        for what, stated_digest, is_ in stated
        if stated_digest != is_
    ]


def _named(report: AnyReport) -> set[str]:
    return set() if report.signer is None else {report.signer.fingerprint}


def _text(data: bytes, again: bytes, program: str) -> list[Difference]:
    """Return the first line at which the file differs from its document."""
    if data == again:
        return []
    actual, expected = data.split(b"\n"), again.split(b"\n")
    at = next(
        (place for place, (one, other) in enumerate(zip(actual, expected, strict=False)) if one != other),
        min(len(actual), len(expected)),
    )
    other = "" if program.endswith(f" {VERSION}") else (
        f" It was made by {program} and read by {VERSION}, so the programs may differ. Verify it with the "
        "version that made it."
    )  # fmt: skip
    one, two = (lines[at].decode(errors="replace") if at < len(lines) else "" for lines in (actual, expected))
    shown = _around(one, two)
    return [Difference("text", f"The text does not match its data.{other}", at + 1, *shown)]


def _around(one: str, two: str) -> tuple[str, str]:
    """Return both lines around the first place at which they differ."""
    place = next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    start = max(place - _AROUND, 0)
    return one[start : place + _AROUND], two[start : place + _AROUND]


def _signature(
    data: bytes, signature: bytes | None, trusted: Sequence[TrustedKey] | None, named: set[str]
) -> tuple[str | None, bool | None, list[Difference]]:
    """Return the signer, whether the key is trusted, and the faults of the signature."""
    if signature is None:
        if named:
            keys = ", ".join(sorted(named))
            detail = f"According to the report, the key {keys} signed it, but there is no signature."
            return None, None, [Difference("signature", detail)]
        detail = "A key was provided, but there is no signature."
        return None, None, [Difference("signature", detail)] if trusted else []
    try:
        signed = read_signature(signature)
    except RequestError as error:
        return None, None, [Difference("signature", str(error))]
    if not signed.fits(data):
        detail = f"The signature of the key {signed.fingerprint} does not match the file: one of them was changed."
        return None, None, [Difference("signature", detail)]
    return _owner(signed, trusted, named)


def _owner(
    signature: Signature, trusted: Sequence[TrustedKey] | None, named: set[str]
) -> tuple[str | None, bool | None, list[Difference]]:
    wrong: list[Difference] = []
    if named and named != {signature.fingerprint}:
        detail = f"The report names the key {', '.join(sorted(named))}; {signature.fingerprint} signed it."
        wrong.append(Difference("signature", detail))
    owner = None if trusted is None else signature.owner(trusted)
    if trusted is not None and owner is None:
        wrong.append(Difference("signature", f"The key {signature.fingerprint} is not trusted."))
    return owner or signature.fingerprint, None if trusted is None else owner is not None, wrong
