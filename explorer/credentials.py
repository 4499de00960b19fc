"""Credentials in options, addresses and texts, and the same texts without them.

Stores and Spark repeat what they were sent in what they answer: keys, tokens, whole signed addresses. Invariants: no
text that leaves this program holds the value of a secret option, nor the user info or the query of an address; an
address that is given with credentials is refused before it is used, so none is in the name of a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

ADDRESS_IN_PATH: Final = r"(?i):/|%3A|\?|%3F|@|%40|#"
"""The paths that may contain credentials, as a pattern for Python and Arrow; paths below a table do not match."""
HIDDEN: Final = "***"
"""What stands in place of a credential."""
_SECRET: Final = ("key", "secret", "token", "sas", "password", "proxy_url", "proxy-url")
_SWITCHES: Final = frozenset({"", "true", "false", "0", "1"})
# Azure writes a container where other addresses have a user: container@account.
_CONTAINERS: Final = r"(?:a(?:bfss?|dl)|wasbs?)"
_CONTAINER: Final = re.compile(_CONTAINERS, re.IGNORECASE)
_SCHEME: Final = r"\b[A-Za-z][A-Za-z0-9+.\-]*:/+"
# A password may hold slashes and at signs, as keys of AWS do; a number after the colon is a port.
_PASSWORD: Final = re.compile(rf"({_SCHEME})[^\s/:@?#'\"<>]*:(?!\d+(?:[/?#\s]|$))(?:[^\s'\"<>]*@|[^\s@]*@)")
_USER: Final = re.compile(rf"(?!\b{_CONTAINERS}:)({_SCHEME})[^\s/:@?#'\"<>]+@", re.IGNORECASE)
_QUERY: Final = re.compile(rf"({_SCHEME}[^\s?#'\"<>]*)\?[^\s'\"<>#]*[^\s'\"<>#.,:]")
_FRAGMENT: Final = re.compile(rf"({_SCHEME}[^\s#'\"<>]*)#[^\s'\"<>]*=[^\s'\"<>]*")
# The same in an address that is a value of another one: s3%3A%2F%2Fuser%3Apassword%40bucket.
_ENCODED_USER: Final = re.compile(r"(?i)((?:%3A|:)(?:%2F|/){1,2})[^\s'\"<>&]*%40")
_ADDRESS: Final = re.compile(ADDRESS_IN_PATH)
_WORDS: Final = (
    r"(?:secret|token|passw(?:or)?d|passphrase|credential|azure\.sas\."
    r"|(?:api|access|account|private|encryption|shared|signing)[_\-.]?key)"
)
_BEGINS: Final = r"(?:(?<![\w.\-])|(?<=%26)|(?<=%3F))"
# The name of a setting, a header, a field, or an XML element: fs.s3a.secret.key, x-amz-security-token, AccountKey.
_SECRET_NAME: Final = rf"{_BEGINS}(?:(?=[\w.\-]*{_WORDS})[\w.\-]++(?:[ ]key)?|sig|sas|pwd|x-amz-(?:signature|date))"
# What stands between a name and its value: in a text, in JSON inside a string, in a URL, in XML, on a command line.
_SEPARATOR: Final = (
    r"(?:(?:\\*+[\"'])?\s*+(?:=>|[:=]|%3[AD]|\\++u003[ad])\s*+(?:\[\s*+)?"
    r"|\\*+[\"']\s*+,\s*+(?=\\*+[\"'])|\s*+(?:</\w++>\s*+<\w++)?>\s*+)"
)
# A value in quotes ends with them, or with the text. Without quotes, it is one word.
_VALUE: Final = (
    r"(?P<escaped>\\+[\"'])(?:.*?)(?:(?<!\\)(?P=escaped)|\Z)"
    r"|\"(?:\\.|[^\"\\])*(?:\"|\Z)|'(?:\\.|[^'\\])*(?:'|\Z)"
    r"|(?!(?:null|none|true|false)\b)[^\s&;,'\"<>()\[\]{}\\]*[^\s&;,'\"<>()\[\]{}\\.:]"
)
_NAMED: Final = re.compile(rf"(?is)({_SECRET_NAME}{_SEPARATOR})(?!\*\*\*)(?:{_VALUE})")
# An object of JSON under such a name; one that is cut off or nested deeply is hidden to the end of the text.
_OBJECT: Final = re.compile(
    rf"(?is)((?<!\\)\\*+[\"']{_SECRET_NAME}\\*+[\"']\s*+:\s*+)(?!\{{\s*+\}}|\{{\*\*\*)"
    r"\{(?:(?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+\}|.*)"
)
# In a sentence, a value has quotes or a digit: other words say what is wrong with it.
_SENTENCE: Final = re.compile(
    rf"(?i)({_SECRET_NAME}[\"'`]?\s++(?:is|was|set\s+to)\b(?:\s++(?:now|set\s+to|equal\s+to))?:?\s++)(?!\*\*\*)"
    r"(?:\"[^\"\n]++\"|'[^'\n]++'|`[^`\n]++`|(?=[^\s\d]*\d)(?!v?\d+(?:[\s.,;:)]|$))[^\s\"'`<>()\[\]{},;]{5,}[^\s\"'`<>()\[\]{},;.:])"
)
# The name of a setting and its value, with nothing but a blank between: secret_access_key wJalrXUt.
_FOLLOWED: Final = re.compile(
    rf"(?i)({_BEGINS}(?=[\w.\-]*{_WORDS})(?=[a-z0-9]++[_.\-])[\w.\-]++[\"'`]?\s++)(?!\*\*\*)"
    r"(?:\"[^\"\n]++\"|'[^'\n]++'"
    r"|(?=[^\s\d]*\d)(?!v?\d+(?:[\s.,;:)]|$))[^\s\"'`<>()\[\]{},;:=!]{8,}(?<![.]))"
)
# user:password@host without a scheme; a version of a table (t:a@v3) and the name of a file do not count.
_BARE_USER: Final = re.compile(
    r"(?i)(?<![\w/:@.%+\-])(?!(?:e-?)?mail(?:to)?:)([a-z_][\w.\-]{0,99}:)(?!/|\*\*\*@)[^\s:@'\"<>]{1,999}"
    r"(?=@(?!v\d+\b)(?![\w.\-]{1,250}\.(?:parquet|json|jsonl|crc|bin|csv|orc|avro)(?!\.?\w))[a-z0-9\-]{1,99}(?![@\w]))"
)
# The same behind two slashes, without a scheme before them.
_AUTHORITY: Final = re.compile(r"(?<![\w:/])(//)[^\s/@'\"<>]{1,999}@(?=[\w\[])")
# In a condition, such as secret = 5, a plain word is the name of a column.
_COMPARISON: Final = re.compile(r"[a-z]+\s+=\s*")
_SIGNATURE: Final = re.compile(r"(?i)(signature(?:=|%3D|\\+u003d))(?!\*\*\*)[^\s&;,'\"<>)\]}\\]*[^\s&;,'\"<>)\]}\\.]")
_OPTION: Final = re.compile(rf"(?i)(?<![\w\-])(--(?=[\w\-]*{_WORDS})[\w\-]++\s++)(?!\*\*\*|-)\S*[^\s.]")
_HEADER_NAME: Final = r"(?:authorization|cookie)(?:\\*[\"'])?\s*[:=]\s*(?:\\*[\"'])?"
_HEADER: Final = re.compile(
    rf"(?i)({_HEADER_NAME}(?:bearer|basic)\s+)(?!\*\*\*)[^\s\"'\\,;]*[^\s\"'\\,;.]"
    rf"|({_HEADER_NAME})(?!\*\*\*|\s|bearer\s|basic\s)[^\r\n\"'\\]*[^\r\n\"'\\\s]"
)
_BEARER: Final = re.compile(r"(?i)\b(bearer|basic)\s+(?!\*\*\*)(?=[\w.~+/=\-]*[\d+/=])[\w.~+/=\-]{8,}")
_PRIVATE_KEY: Final = re.compile(r"(?s)(-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----).*?(?:(?=-----END )|\Z)")
_HINT: Final = re.compile(
    rf"(?i){_WORDS}|(?:sig|sas|pwd)\b|signature|x-amz-|authorization|cookie|bearer|basic|PRIVATE KEY"
)


def secrets_of(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the values that no text may hold, longest first.

    Args:
        options: Options by name, or environment variables; their names say which are secret.
    """
    secrets = {
        value
        for name, value in options.items()
        if isinstance(value, str) and value.lower() not in _SWITCHES and any(word in name.lower() for word in _SECRET)
    }
    return tuple(sorted(secrets, key=len, reverse=True))


def concealed(text: str, secrets: Iterable[str]) -> str:
    """Return the text with ``***`` in place of each secret."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def without_credentials(text: str) -> str:
    """Return the text with ``***`` in place of the user info and the query of each address, and of named secrets."""
    if ":/" in text and ("@" in text or "?" in text or "#" in text):
        text = _PASSWORD.sub(rf"\1{HIDDEN}@", text)
        text = _USER.sub(rf"\1{HIDDEN}@", text)
        text = _QUERY.sub(rf"\1?{HIDDEN}", text)
        text = _FRAGMENT.sub(rf"\1#{HIDDEN}", text)
    if "@" in text:
        text = _AUTHORITY.sub(rf"\1{HIDDEN}@", _BARE_USER.sub(rf"\1{HIDDEN}", text))
    if "%40" in text:
        text = _ENCODED_USER.sub(rf"\1{HIDDEN}%40", text)
    if _HINT.search(text) is None:
        return text
    text = _OBJECT.sub(rf"\1{{{HIDDEN}}}", text)
    text = _NAMED.sub(_hidden, _HEADER.sub(rf"\1\2{HIDDEN}", _PRIVATE_KEY.sub(rf"\1{HIDDEN}", text)))
    for pattern in (_SIGNATURE, _OPTION, _SENTENCE, _FOLLOWED):
        text = pattern.sub(rf"\1{HIDDEN}", text)
    return _BEARER.sub(rf"\1 {HIDDEN}", text)


def _hidden(named: re.Match[str]) -> str:
    """Return a named secret without its value, and a comparison with a column as it is."""
    return named[0] if _COMPARISON.fullmatch(named[1]) else f"{named[1]}{HIDDEN}"


def safe_path(path: str) -> str:
    """Return the path of a data file without the user info, the query, and the named secrets of an address.

    In a path below the table, ``token=a`` is a partition, not a credential.
    """
    return path if _ADDRESS.search(path) is None else without_credentials(path)


def holds_credentials(address: str) -> bool:
    """Return whether an address has user info, a query or a fragment, which no address of a table needs."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        return False
    if "?" in rest or "#" in rest:
        return True
    # With a slash too many, what is behind it is still what its writer takes for the authority.
    authority = rest.lstrip("/").partition("/")[0]
    if "@" not in authority:
        # A password may hold a slash; what is behind the colon of a host is a number.
        user, colon, behind = authority.partition(":")
        return bool(user and colon) and not behind.isdecimal() and "@" in rest
    container = _CONTAINER.fullmatch(scheme) is not None and authority.count("@") == 1
    return not container or ":" in authority.partition("@")[0]


def safe_address(address: str) -> str:
    """Return one whole address without user info, query and fragment, whatever characters they hold."""
    if not holds_credentials(address):
        return address
    scheme, _, rest = address.partition("://")
    before, mark, _ = rest.partition("?") if "?" in rest else rest.partition("#")
    user, at, host = before.rpartition("@")
    return f"{scheme}://{HIDDEN if at and user else ''}{at}{host}{mark}{HIDDEN if mark else ''}"
