"""Stores that refuse: their own reason in each error, its kind, and what to do; never a secret.

The answers are those that the makers of the stores document, sent by a server of the tests; the keys of an S3 server
with users of its own (moto's) are tried below.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from explorer.core.errors import StorageError
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store
from explorer.storage.refusals.reasons import KINDS, refusal_of
from tests.support.at_least_one import at_least_one
from tests.support.attacks.refusing_store import Answer, refusing_store

SECRET = "c2VjcmV0LXRlbGwtbm9ib2R5"
SIGNED = f"AWS4-HMAC-SHA256 {SECRET}"
Ask = Callable[[LogStore], object]
ASKS: dict[str, Ask] = {
    "list": lambda store: list(store.list_from("_delta_log")),
    "read": lambda store: store.read("x"),
    "look at": lambda store: store.head("x"),
    "write": lambda store: store.put("x", b"1"),
    "delete": lambda store: store.delete_many(["x"]),
}


def _xml(code: str, message: str, more: str = "") -> str:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{message}</Message>{more}</Error>'
    )


def _json(code: int, reason: str, message: str) -> str:
    error = {"code": code, "message": message, "errors": [{"message": message, "domain": "global", "reason": reason}]}
    return json.dumps({"error": error})


S3 = {
    "wrong-secret": (
        403,
        _xml(
            "SignatureDoesNotMatch",
            "The request signature we calculated does not match the signature you provided. Check your key and "
            "signing method.",
            f"<AWSAccessKeyId>key-id-4711</AWSAccessKeyId><StringToSign>{SIGNED}</StringToSign>",
        ),
        'signing method" (SignatureDoesNotMatch). The secret does not belong to the key.',
    ),
    "unknown-key": (
        403,
        _xml("InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records."),
        '"The AWS Access Key Id you provided does not exist in our records" (InvalidAccessKeyId). The store does not',
    ),
    "expired": (
        400,
        _xml("ExpiredToken", "The provided token has expired.", f"<Token-0>{SECRET}</Token-0>"),
        '"The provided token has expired" (ExpiredToken). Sign in again',
    ),
    "invalid-token": (
        400,
        _xml("InvalidToken", "The provided token is malformed or otherwise invalid."),
        '"The provided token is malformed or otherwise invalid" (InvalidToken). The credentials are not valid',
    ),
    "denied": (
        403,
        _xml("AccessDenied", "User: arn:aws:iam::1:user/ana is not authorized to perform: s3:ListBucket"),
        '"User: arn:aws:iam::1:user/ana is not authorized to perform: s3:ListBucket" (AccessDenied).',
    ),
    "no-bucket": (404, _xml("NoSuchBucket", "The specified bucket does not exist"), "(NoSuchBucket)"),
    "clock-skew": (
        403,
        _xml("RequestTimeTooSkewed", "The difference between the request time and the current time is too large."),
        "(RequestTimeTooSkewed). Set the clock",
    ),
    "other-region": (
        400,
        _xml(
            "AuthorizationHeaderMalformed",
            "The authorization header is malformed; the region 'us-east-1' is wrong; expecting 'eu-central-1'",
            "<Region>eu-central-1</Region>",
        ),
        "Set the storage option region = eu-central-1.",
    ),
    "archived": (
        403,
        _xml("InvalidObjectState", "The operation is not valid for the object's storage class"),
        "Restore the object from the archive tier",
    ),
}  # fmt: skip
AZURE = {
    "wrong-secret": (
        403,
        _xml(
            "AuthenticationFailed",
            "Server failed to authenticate the request. Make sure the value of Authorization header is formed "
            "correctly including the signature.\nRequestId:1\nTime:2026-01-01T00:00:00Z",
            "<AuthenticationErrorDetail>The MAC signature found in the HTTP request 'abc' is not the same as any "
            "computed signature.</AuthenticationErrorDetail>",
        ),
        'as any computed signature" (AuthenticationFailed). The secret does not belong to the key.',
    ),
    "expired": (
        403,
        _xml(
            "AuthenticationFailed",
            "Server failed to authenticate the request.",
            "<AuthenticationErrorDetail>Signature not valid in the specified time frame: Start [1] - Expiry [2]"
            "</AuthenticationErrorDetail>",
        ),
        "Signature not valid in the specified time frame",
    ),
    "denied": (
        403,
        _xml(
            "AuthorizationPermissionMismatch",
            "This request is not authorized to perform this operation using this permission.",
        ),
        "Storage Blob Data",
    ),
    "no-bucket": (404, _xml("ContainerNotFound", "The specified container does not exist."), "ContainerNotFound"),
    "clock-skew": (
        403,
        _xml(
            "AuthenticationFailed",
            "Server failed to authenticate the request.",
            "<AuthenticationErrorDetail>Request date header too old: 'Mon, 01 Jan 2024'</AuthenticationErrorDetail>",
        ),
        "Set the clock of this machine",
    ),
}
GOOGLE = {
    "invalid-token": (401, _json(401, "authError", "Invalid Credentials"), '"Invalid Credentials" (authError)'),
    "denied": (
        403,
        _json(403, "forbidden", "ana@example.org does not have storage.objects.list access to the bucket."),
        "does not have storage.objects.list access",
    ),
    "no-credentials": (
        401,
        _json(401, "required", "Anonymous caller does not have storage.objects.list access to the bucket."),
        "skip_signature",
    ),
    "no-bucket": (404, _json(404, "notFound", "The specified bucket does not exist."), "The specified bucket"),
}
CASES = [
    pytest.param(scheme, reason, *answer, id=f"{scheme}-{reason}")
    for scheme, answers in (("s3", S3), ("az", AZURE), ("gs", GOOGLE))
    for reason, answer in answers.items()
]


@pytest.fixture(scope="module")
def answer() -> Iterator[Answer]:
    with refusing_store() as served:
        yield served


def _store(answer: Answer, scheme: str, **more: str) -> LogStore:
    answer.headers, answer.requests[:] = {}, []
    account = {"gcs_base_url": answer.address, "disable_oauth": True, "client_email": "", "private_key": ""}
    options: dict[str, dict[str, Any]] = {
        "s3": {"aws_endpoint": answer.address, "aws_access_key_id": "key-id-4711", "aws_secret_access_key": SECRET},
        "az": {"azure_storage_account_name": "a", "azure_storage_account_key": SECRET, "endpoint": answer.address},
        "gs": {"google_service_account_key": json.dumps(account | {"private_key_id": ""})},
    }
    return open_store(f"{scheme}://bucket/orders", options[scheme] | {"allow_http": "true"} | more)


@pytest.mark.parametrize(("scheme", "reason", "status", "text", "said"), CASES)
def test_each_request_says_what_the_store_answered_and_what_to_do(  # noqa: PLR0917
    answer: Answer, scheme: str, reason: str, status: int, text: str, said: str
) -> None:
    store = _store(answer, scheme)
    answer.status, answer.text = status, text
    # No answer to a request for the facts of an object has a text, so a missing bucket looks like a missing object.
    asks = {name: ask for name, ask in ASKS.items() if (name, reason) != ("look at", "no-bucket")}
    for name, ask in at_least_one(asks.items()):
        with pytest.raises(StorageError) as caught:
            ask(store)
        error = caught.value
        assert (name, error.reason) == (name, reason)
        assert error.message.startswith(f"Cannot {name} {scheme}://bucket/orders/"), error.message
        assert said in error.message
        assert "<" not in error.message, "code and message, not the markup"
        for text_of in at_least_one([error.message, str(error.__cause__), json.dumps(error.facts())]):
            assert SECRET not in text_of
    if scheme != "gs":
        assert error.code is not None


def test_the_right_that_lacks_is_named_for_each_request(answer: Answer) -> None:
    rights = {"list": "s3:ListBucket", "read": "s3:GetObject", "write": "s3:PutObject", "delete": "s3:DeleteObject"}
    store = _store(answer, "s3")
    answer.status, answer.text = 403, _xml("AccessDenied", "Access Denied")
    for name, right in at_least_one(rights.items()):
        with pytest.raises(
            StorageError, match=rf'"Access Denied" \(AccessDenied\). The credentials lack a right: {right}'
        ):
            ASKS[name](store)


def test_a_redirect_without_a_place_names_the_region_of_the_bucket(answer: Answer) -> None:
    store = _store(answer, "s3")
    answer.status, answer.text = 301, _xml("PermanentRedirect", "The bucket must be addressed elsewhere.")
    answer.headers = {"x-amz-bucket-region": "eu-central-1"}
    with pytest.raises(StorageError, match="Set the storage option region = eu-central-1") as caught:
        store.read("x")
    assert caught.value.reason == "other-region"
    method, path, headers = answer.requests[-1]
    assert (method, path) == ("HEAD", "/bucket")
    assert not {"authorization", "x-amz-security-token"} & {name.lower() for name in headers}


def test_a_redirect_that_names_no_region_says_so(answer: Answer) -> None:
    store = _store(answer, "s3")
    answer.status, answer.text = 301, ""
    with pytest.raises(StorageError, match="Set the storage option region to the bucket's own"):
        store.read("x")


def test_http_is_not_used_unless_it_is_allowed(answer: Answer) -> None:
    store = _store(answer, "s3", allow_http="false")
    for ask in at_least_one(ASKS.values()):
        with pytest.raises(StorageError, match="allow_http = true") as caught:
            ask(store)
        assert caught.value.reason == "http-not-allowed"
    assert answer.requests == []


def test_a_store_that_is_not_there_is_told_by_its_kind() -> None:
    """As its client says it after its last try, which takes half a minute."""
    text = "Generic S3 error: Error performing GET http://x/y in 1.2s, after 9 retries, - HTTP error: error sending"
    seen = {
        "refused": "Os { code: 111, kind: ConnectionRefused }",
        "no-host": 'ConnectError("dns error", Custom { error: "failed to lookup address information" })',
        "no-answer": "kind: Timeout",
        "certificate": "InvalidCertificate(UnknownIssuer)",
    }
    for reason, source in at_least_one(seen.items()):
        assert refusal_of(f"{text}\n\nDebug source:\n{source}").kind.name == reason


def test_an_https_endpoint_that_does_not_encrypt_is_told(answer: Answer) -> None:
    store = _store(answer, "s3", aws_endpoint=answer.address.replace("http:", "https:"))
    with pytest.raises(StorageError, match="no encrypted connection") as caught:
        store.read("x")
    assert caught.value.reason == "certificate"


def test_a_web_page_is_not_taken_for_a_store(answer: Answer) -> None:
    store = _store(answer, "s3")
    answer.status, answer.text = 400, "<html><body>Bad Request</body></html>"
    with pytest.raises(StorageError, match="the store answered 400 Bad Request"):
        store.read("x")


def test_the_error_says_after_which_time_a_store_was_given_up() -> None:
    retried = "Error performing GET http://x in {}s, after 1 retries, max_retries: 10, retry_timeout: 60s  - HTTP error"
    given_up = refusal_of(retried.format("60.12"), given_up=60)
    assert (given_up.kind.name, given_up.words) == ("no-answer", "the store did not answer within 60 seconds")
    assert refusal_of(retried.format("3.1"), given_up=60).kind.name == "other"
    assert refusal_of("404 Not Found", given_up=60).kind.name == "other"


def test_a_server_with_users_refuses_by_kind() -> None:
    """One user may read objects, and neither list nor write."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    try:
        root = {"aws_access_key_id": "root", "aws_secret_access_key": "root", "region_name": "us-east-1"}
        bucket, users = (boto3.client(name, endpoint_url=address, **root) for name in ("s3", "iam"))
        bucket.create_bucket(Bucket="bucket")
        bucket.put_object(Bucket="bucket", Key="orders/x", Body=b"1")
        users.create_user(UserName="ana")
        key = users.create_access_key(UserName="ana")["AccessKey"]
        allowed = {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        users.put_user_policy(UserName="ana", PolicyName="reader", PolicyDocument=policy)
        # From here on it asks for the rights of each request.
        _ask_for_rights_after(address, b"0")

        def reasons(key_id: str, secret: str) -> dict[str, str | None]:
            options = {"aws_endpoint": address, "aws_access_key_id": key_id, "aws_secret_access_key": secret}
            store = open_store("s3://bucket/orders", options | {"region": "us-east-1", "allow_http": "true"})
            found = dict[str, str | None]()
            for name, ask in at_least_one(ASKS.items()):
                try:
                    ask(store)
                except StorageError as error:
                    found[name] = error.reason
            return found

        read, denied = reasons(key["AccessKeyId"], key["SecretAccessKey"]), dict.fromkeys(ASKS, "denied")
        assert read == {name: reason for name, reason in denied.items() if name not in {"read", "look at"}}
        assert reasons(key["AccessKeyId"], "another-secret") == dict.fromkeys(ASKS, "wrong-secret")
        assert reasons("AKIANOTKNOWN", "another-secret") == dict.fromkeys(ASKS, "unknown-key")
    finally:
        # The servers of other tests in this process share the number.
        _ask_for_rights_after(address, b"inf")
        server.stop()


def _ask_for_rights_after(address: str, requests: bytes) -> None:
    reset = urllib.request.Request(f"{address}/moto-api/reset-auth", requests, {"Content-Type": "text/plain"})  # noqa: S310
    urllib.request.urlopen(reset).close()  # noqa: S310 - the test's own server


def test_no_two_kinds_have_a_name_or_a_code_in_common() -> None:
    names = [kind.name for kind in KINDS]
    codes = [code.lower() for kind in KINDS for code in kind.codes.split()]
    assert len(set(names)) == len(names)
    assert len(set(codes)) == len(codes)
    assert all(kind.advice.endswith(".") for kind in KINDS)
