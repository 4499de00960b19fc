"""Why an object store did not do what it was asked: its own code and words, the kind of the refusal, and advice.

The text of an error of obstore has the request first, then the store's answer: XML of S3 and Azure, JSON of Google
Cloud Storage; then how its client saw it. Invariants: of an answer only code and message are repeated, as other parts
quote the request; a kind is found by the store's code, else by the way the request failed. Tasks of Spark use this
module too, so it imports nothing of this program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Action = Literal["list", "read", "write", "look at", "delete"]

_CODE: Final = re.compile(r"<Code>\s*([^<]{1,100}?)\s*</Code>", re.IGNORECASE)
_MESSAGE: Final = re.compile(r"<Message>\s*([^<]{1,2000}?)\s*</Message>", re.IGNORECASE)
_DETAIL: Final = re.compile(r"<(?:AuthenticationErrorDetail|Details)>\s*([^<]{1,2000}?)\s*</", re.IGNORECASE)
_BULK: Final = re.compile(r"request failed for key .{1,2000}: (.{1,300}) \(code: (\w{1,100})\)")
_JSON_CODE: Final = re.compile(r'"reason"\s*:\s*"([^"]{1,100})"|"error"\s*:\s*"(\w{1,100})"')
_JSON_MESSAGE: Final = re.compile(r'"(?:message|error_description)"\s*:\s*"((?:[^"\\]|\\.){1,2000})"')
_STATUS: Final = re.compile(r"status code: (\d{3}(?: [A-Z][A-Za-z\-]*(?: [A-Z][A-Za-z\-]*)*)?)")
_REGION: Final = re.compile(
    r"<Region>\s*([\w\-]+)\s*</Region>|expecting '?([a-z]{2,}-[\w\-]+)"
    r"|<Endpoint>\s*[\w.\-]*?s3[.\-]([a-z]{2}-[\w\-]+)\."
)
_SPENT: Final = re.compile(r" in (?P<seconds>\d+(?:\.\d+)?)s, after \d+ retries")
_LONGEST: Final = 300
_PERMISSIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "S3Store": {
        "list": "s3:ListBucket on the bucket",
        "read": "s3:GetObject on its objects",
        "look at": "s3:GetObject on its objects, and s3:ListBucket on the bucket",
        "write": "s3:PutObject on its objects",
        "delete": "s3:DeleteObject on its objects",
    },
    "GCSStore": {
        "list": "storage.objects.list",
        "read": "storage.objects.get",
        "look at": "storage.objects.get",
        "write": "storage.objects.create, and storage.objects.delete to replace one",
        "delete": "storage.objects.delete",
    },
    "AzureStore": {
        "list": "the role Storage Blob Data Reader, or a SAS with the permission to list (l)",
        "read": "the role Storage Blob Data Reader, or a SAS with the permission to read (r)",
        "look at": "the role Storage Blob Data Reader, or a SAS with the permission to read (r)",
        "write": "the role Storage Blob Data Contributor, or a SAS with the permission to write (w)",
        "delete": "the role Storage Blob Data Contributor, or a SAS with the permission to delete (d)",
    },
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of refusal.

    Attributes:
        name: For programs: the fact ``reason`` of the error.
        codes: The stores' codes of it.
        signs: A pattern of texts of the error that show it, where the store gives no code or one of many meanings.
        advice: What to do; ``{permission}`` and ``{region}`` are filled in.
        words: What happened, where the store has not said it.
    """

    name: str
    codes: str
    signs: str
    advice: str
    words: str = ""

    def shows(self, code: str | None, text: str) -> bool:
        """Return whether a refusal is of this kind."""
        named = code is not None and code.lower() in self.codes.lower().split()
        return named or (bool(self.signs) and re.search(self.signs, text) is not None)


OTHER: Final = Kind("other", "", "", "Check the address, the network and the credentials.")
# The first that shows is taken: a sign in the details of an answer is more exact than a code of many meanings.
KINDS: Final = (
    Kind(
        "no-credentials",
        "NoAuthenticationInformation MissingSecurityHeader",
        r"http://(?:169\.254\.\d|metadata\.google)|/latest/api/token|/latest/meta-data/|[Aa]nonymous caller",
        "Set them in the environment, as a named profile, or as storage options; for a public bucket set the storage "
        "option skip_signature = true.",
        "no credentials are set, and the machine has no role of a cloud",
    ),
    Kind(
        "http-not-allowed",
        "",
        r"BadScheme",
        "Use an https:// endpoint, or set the storage option allow_http = true if the network is your own.",
        "the endpoint is http://, which sends everything unencrypted and is not allowed unless you say so",
    ),
    Kind(
        "expired",
        "ExpiredToken ExpiredTokenException TokenRefreshRequired RequestExpired",
        r"(?i)not valid in the specified time frame|token (?:is|has) expired|lifetime validation failed|token expired",
        "Sign in again, or get new temporary credentials, and set all of them.",
    ),
    Kind(
        "clock-skew",
        "RequestTimeTooSkewed RequestInTheFuture",
        r"(?i)date header .{0,40}too old|request time too skewed",
        "Set the clock of this machine: it differs from that of the store by more than the store allows.",
    ),
    Kind(
        "wrong-secret",
        "SignatureDoesNotMatch",
        r"(?i)MAC signature|signature did not match|invalid jwt signature",
        "The secret does not belong to the key. Copy it again, all of its characters, and check that key and secret "
        "are of one pair.",
    ),
    Kind(
        "unknown-key",
        "InvalidAccessKeyId InvalidClientTokenId UnrecognizedClientException account_not_found",
        r"(?i)account not found",
        "The store does not know the key: it was deleted, or is one of another account or endpoint. Check it and the "
        "endpoint.",
    ),
    Kind(
        "invalid-token",
        "InvalidToken AuthenticationFailed InvalidAuthenticationInfo InvalidSecurity authError invalid_grant "
        "invalid_client invalid_request unauthorized_client AuthenticationRequired required CredentialsNotSupported",
        r"status code: 401|failed to authenticate",
        "The credentials are not valid there, or not any more. Sign in again, set all parts of them (also the session "
        "token), and check the account and the endpoint.",
    ),
    Kind(
        "other-region",
        "PermanentRedirect TemporaryRedirect AuthorizationHeaderMalformed IllegalLocationConstraintException",
        r"BareRedirect",
        "Set the storage option region {region}.",
        "the bucket is in another region than the one that is set",
    ),
    Kind(
        "no-bucket",
        "NoSuchBucket ContainerNotFound InvalidBucketName InvalidResourceName ContainerBeingDeleted",
        r"specified bucket does not exist",
        "The bucket or container does not exist at this endpoint. Check its name, the account, and the endpoint.",
    ),
    Kind(
        "archived",
        "InvalidObjectState BlobArchived",
        "",
        "Restore the object from the archive tier, then try again.",
    ),
    Kind(
        "throttled",
        "SlowDown ServerBusy TooManyRequests RequestLimitExceeded rateLimitExceeded userRateLimitExceeded "
        "ServiceUnavailable OperationTimedOut backendError",
        r"status code: (?:429|503)",
        "The store has too much to do. Try again later.",
    ),
    Kind(
        "denied",
        "AccessDenied AllAccessDisabled AccountProblem AuthorizationFailure AuthorizationPermissionMismatch "
        "AuthorizationSourceIPMismatch AuthorizationProtocolMismatch AuthorizationServiceMismatch "
        "AuthorizationResourceTypeMismatch InsufficientAccountPermissions AccountIsDisabled "
        "PublicAccessNotPermitted KeyBasedAuthenticationNotPermitted forbidden insufficientPermissions "
        "UserProjectAccountProblem UserProjectMissing",
        r"status code: 403",
        "The credentials lack a right: {permission}. Ask the owner of the bucket for it, or use other credentials.",
    ),
    Kind(
        "certificate",
        "",
        r"(?i)invalid ?certificate|certificate|InvalidContentType|UnknownIssuer",
        "Check that the endpoint speaks https, and that this machine trusts its certificate; the storage option "
        "root_certificate names one of your own.",
        "no encrypted connection could be made",
    ),
    Kind("no-host", "", r"dns error", "Check the endpoint, the account, and the network.", "its host is not known"),
    Kind(
        "refused",
        "",
        r"ConnectionRefused",
        "Check the address and the port, and that the store runs.",
        "nothing listens at its address",
    ),
    Kind(
        "no-answer",
        "",
        r"TimedOut|(?i:timed out)|kind: Timeout|NetworkUnreachable|HostUnreachable|ConnectionReset|IncompleteMessage",
        "Check the address, the network, and the proxy.",
        "it did not answer",
    ),
    Kind(
        "no-store",
        "",
        r"Header missing from response|[Ii]nvalid (?:list|put|get) response|nvalid XML|DeError",
        "Check the endpoint: it may be the one of a web page or a proxy.",
        "what answered is not an object store",
    ),
    OTHER,
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a store said, or how it could not be asked.

    Attributes:
        kind: Its kind.
        code: The store's code; None if it gave none.
        words: What happened, in words.
        region: The region that the store names; None if it names none.
    """

    kind: Kind
    code: str | None
    words: str
    region: str | None = None

    def advice(self, action: Action, store: str) -> str:
        """Return what to do.

        Args:
            store: The class of the obstore store, which knows the names of rights.
        """
        permission = _PERMISSIONS.get(store, {}).get(action, f"to {action} objects")
        region = f"= {self.region}" if self.region else "to the bucket's own, which its owner knows"
        return self.kind.advice.format(permission=permission, region=region)

    def sentences(self, action: Action, store: str) -> str:
        """Return what happened, and what to do."""
        return f"{self.words}. {self.advice(action, store)}"


def refusal_of(text: str, *, given_up: float | None = None) -> Refusal:
    """Return what the text of an error of obstore says.

    Args:
        given_up: The seconds after which a store that does not answer is given up; None if it is not known.
    """
    code, message = _answer(text)
    if code is None and given_up is not None and _seconds(text) >= 0.9 * given_up:
        kind = next(each for each in KINDS if each.name == "no-answer")
        return Refusal(kind, None, f"the store did not answer within {given_up:.0f} seconds")
    kind = next((each for each in KINDS if each.shows(code, text)), OTHER)
    named, status = _REGION.search(text), _STATUS.search(text)
    region = None if named is None else next(filter(None, named.groups()))
    answer = code or (status[1].strip() if status is not None and not kind.words else None)
    if answer is None:
        words = kind.words or _first_line(text)
    else:
        # The code behind the words: before a colon, TOKEN in its name would make the words a secret.
        words = f'the store answered "{message}" ({answer})' if message else f"the store answered {answer}"
    return Refusal(kind, code, words, region)


def names_no_bucket(text: str) -> bool:
    """Return whether an object is not found because its bucket is not."""
    return refusal_of(text).kind.name == "no-bucket"


def _answer(text: str) -> tuple[str | None, str | None]:
    """Return the code and the message of the store's answer, as far as it has them."""
    answer = text.split("\n\nDebug source:", 1)[0]
    code, message, detail = _CODE.search(answer), _MESSAGE.search(answer), _DETAIL.search(answer)
    if code is not None:
        words = " ".join(_one_line(each[1]) for each in (message, detail) if each is not None)
        return code[1], words or None
    if (bulk := _BULK.search(answer)) is not None:
        return bulk[2], _one_line(bulk[1])
    message, named = _JSON_MESSAGE.search(answer), _JSON_CODE.search(answer)
    if message is None and named is None:
        return None, None
    return None if named is None else named[1] or named[2], None if message is None else _one_line(message[1])


def _one_line(message: str) -> str:
    """Return the first line of a message, without the full stop, as a sentence goes on with it."""
    import html

    lines = html.unescape(message).replace("\\n", "\n").strip().splitlines()
    return lines[0].strip().rstrip(".")[:_LONGEST] if lines else ""


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0].rpartition(" - ")[2].strip().rstrip(".")[:_LONGEST]


def _seconds(text: str) -> float:
    spent = _SPENT.search(text.split("\n", 1)[0])
    return 0.0 if spent is None else float(spent["seconds"])
