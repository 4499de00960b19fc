"""Numbers, sizes, times and hostile text as people read them.

Unknown is never zero: every formatter of a number answers ``None`` with the word *unknown* (or a dash in a table).
Times carry their zone (UTC); ages are relative to a moment that is passed in, so that nothing here reads a clock.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from math import isnan

from explorer.credentials import safe_path

UNKNOWN = "unknown"
_MINUS = "\u2212"
_SIZES = ("B", "kB", "MB", "GB", "TB", "PB")
_COMPACT = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))
_AGES = ((31_536_000, "year"), (2_592_000, "month"), (86_400, "day"), (3_600, "hour"), (60, "minute"))


def count(number: int | None, unknown: str = UNKNOWN) -> str:
    """Return ``1,627,778``, or the word for unknown."""
    return unknown if number is None else f"{number:,}".replace("-", _MINUS)


def signed(number: int | None, unknown: str = UNKNOWN) -> str:
    """Return ``+1,234``, ``\u22121,234`` or ``0``."""
    if number is None:
        return unknown
    return f"+{number:,}" if number > 0 else count(number)


def compact(number: float | None, unknown: str = UNKNOWN) -> str:
    """Return at most three figures and a suffix: ``1.63 M``, ``20 k``, ``7``."""
    if number is None:
        return unknown
    for limit, suffix in _COMPACT:
        if abs(number) >= limit * 0.9995:
            return f"{_three_figures(number / limit)} {suffix}".replace("-", _MINUS)
    return f"{number:g}".replace("-", _MINUS)


def size(number: int | None, unknown: str = UNKNOWN) -> str:
    """Return a size in decimal units: ``319.5 MB``; below a kilobyte the exact bytes."""
    if number is None:
        return unknown
    value, unit = float(number), 0
    while abs(value) >= 999.95 and unit < len(_SIZES) - 1:
        value, unit = value / 1000, unit + 1
    text = f"{int(value):,}" if unit == 0 else f"{value:,.1f}"
    return f"{text} {_SIZES[unit]}".replace("-", _MINUS)


def percent(part: float | None, whole: float | None, unknown: str = UNKNOWN) -> str:
    """Return ``5.4 %``; a share that is not zero is never shown as zero."""
    if part is None or not whole:
        return unknown
    share = 100 * part / whole
    if 0 < share < 0.1:
        return "< 0.1 %"
    return f"{share:.1f} %".replace(".0 %", " %")


def plural(number: int, noun: str, nouns: str | None = None, shown: Callable[[int], str] = count) -> str:
    """Return ``1 file``, ``25 files``.

    Args:
        number: How many.
        noun: Of what.
        nouns: The same of more than one, if it does not only end in an s.
        shown: How the number is written: `count`, `signed` or `compact`.
    """
    return f"{shown(number)} {noun if abs(number) == 1 else nouns or noun + 's'}"


def quantity(number: int | None, noun: str, shown: Callable[[int], str] = count) -> str:
    """Return what `plural` returns, or ``rows unknown`` where the number is not known."""
    return f"{noun}s unknown" if number is None else plural(number, noun, shown=shown)


def hidden_rows(masked: int) -> str:
    """Return ``25 more rows hidden``, or ``1 row shown again`` for what is masked no more."""
    return f"{plural(-masked, 'row')} shown again" if masked < 0 else f"{plural(masked, 'more row')} hidden"


def moment(time: datetime | None) -> str:
    """Return ``Mon 2 Mar 2026 14:05:11 UTC``."""
    if time is None:
        return "time unknown"
    utc = time.astimezone(UTC)
    return f"{utc:%a} {utc.day} {utc:%b} {utc.year} {utc:%H:%M:%S} UTC"


def day(time: datetime | None) -> str:
    """Return ``2 Mar 2026 14:05 UTC``, the short form for lists."""
    if time is None:
        return "time unknown"
    utc = time.astimezone(UTC)
    return f"{utc.day} {utc:%b} {utc.year} {utc:%H:%M} UTC"


def timestamp(time: datetime | None, unknown: str = UNKNOWN) -> str:
    """Return ``2026-03-02 14:05:11 UTC``, the form that sorts."""
    return unknown if time is None else f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def age(time: datetime | None, now: datetime) -> str:
    """Return how long before ``now`` the time was: ``8 months ago``, ``just now``, ``in the future``."""
    if time is None:
        return ""
    seconds = (now - time).total_seconds()
    if seconds < -60:
        return "in the future"
    for length, noun in _AGES:
        if seconds >= length:
            return f"{plural(int(seconds // length), noun)} ago"
    return "just now"


def shorten(text: str, width: int = 42) -> str:
    """Shorten a long path or name in the middle, keeping its end: ``part-00012-9f3c\u2026.parquet``."""
    text = plain(text)
    if len(text) <= width:
        return text
    tail = max(8, width // 3)
    return f"{text[: width - tail - 1]}\u2026{text[-tail:]}"


def shorten_apart(texts: Sequence[str], width: int = 42) -> list[str]:
    """Shorten names of one list in the middle, or to their ends where the middles are what tells them apart."""
    cut = [shorten(text, width) for text in texts]
    if len(set(cut)) == len(set(texts)):
        return cut
    shown = map(plain, texts)
    ends = [text if len(text) <= width else f"\u2026{text[1 - width :]}" for text in shown]
    return max(cut, ends, key=lambda names: len(set(names)))


def shorten_path(path: str, width: int = 58) -> str:
    """Shorten a path so that both its folders and its file name stay distinguishable."""
    shown = plain(safe_path(path))
    folder, slash, name = shown.rpartition("/")
    if len(shown) <= width or not slash:
        return shorten(shown, width)
    room = max(12, width - 1 - max(width * 3 // 5, width - len(folder) - 1))
    return f"{shorten(folder, room)}/{shorten(name, width - 1 - min(room, len(folder)))}"


def plain(text: object, limit: int = 4000) -> str:
    """Return text with control and direction-changing characters made visible, cut at ``limit`` characters.

    Such characters can hide or reorder what a person reads; they are replaced by U+FFFD. Line breaks become spaces.
    """
    raw = str(text)
    part = raw[:limit]
    # Nearly every text is printable: of those that are, none has a character that hides or moves anything.
    shown = part if part.isprintable() else "".join(_visible(character) for character in part)
    return shown if len(raw) <= limit else shown.rstrip("\u2026") + "\u2026"


def readable_lines(text: object, limit: int = 20_000) -> str:
    """Return text as `plain` does, except that line breaks stay."""
    raw = str(text)
    shown = "\n".join(plain(line, limit) for line in raw[:limit].split("\n"))
    return shown if len(raw) <= limit else shown + "\u2026"


def plotly_text(text: object, limit: int = 80) -> str:
    """Return text that plotly draws unchanged.

    Plotly reads ``<b>``, ``<a href>`` and entities in any label, ``%{...}`` in templates and ``$...$`` as TeX;
    all of these are written as entities here.
    """
    shown = shorten(str(text), limit)
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;"), ("%{", "&#37;{")):
        shown = shown.replace(character, entity)
    return shown


def value_text(value: object, limit: int = 200) -> str:
    """Return a value of a row or a statistic as text: null as a word, bytes as hexadecimal, times with their zone."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case bytes():
            return "0x" + value[: limit // 2].hex() + ("\u2026" if len(value) > limit // 2 else "")
        case datetime():
            zone = "" if value.tzinfo is None else " UTC"
            return (value.astimezone(UTC) if zone else value).replace(tzinfo=None).isoformat(sep=" ") + zone
        case float():
            short = f"{value:.15g}"
            return short if float(short) == value or isnan(value) else repr(value)
        case dict():
            return plain("{" + _joined(f"{key}: {value_text(item, limit)}" for key, item in value.items()) + "}", limit)
        case list() | tuple():
            return plain("[" + _joined(value_text(item, limit) for item in value) + "]", limit)
        case _:
            return plain(value, limit)


def _joined(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _three_figures(value: float) -> str:
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _visible(character: str) -> str:
    if character in "\n\r\t":
        return " "
    return "\ufffd" if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"} else character
