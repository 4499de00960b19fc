"""Credentials in texts: whatever a store, a configuration, or a header looks like, the value of a secret is hidden."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from explorer.credentials import safe_path, without_credentials
from explorer.file_names import FileNames

C = "CANARY4711"
SECRETS = [
    f"fs.s3a.secret.key: {C}", f"fs.s3a.access.key={C}", f"fs.azure.account.key.a.dfs.core.windows.net: {C}",
    f"fs.azure.sas.container.account={C}", f"'token': '{C}'", f"'secret': {C}", f"tokens: ['{C}']", f"{{secret: {C}}}",
    f"x-amz-security-token: {C}", f"X-Amz-Security-Token={C}&x=1", f"X-Amz-Credential={C}", f"x-goog-signature={C}",
    f"s3://user:{C}@b/x", f"s3://user%3A{C}%40b/x", f"https://us%3Aer:{C}%2F@b/x", f"s3://{C}%40b/x",
    f"next=s3%3A%2F%2Fu%3A{C}%40b", f"%3Fsv%3D1%26sig%3D{C}", f"sig\\u003d{C}\\u0026x", f"sig={C}", f"sig%3D{C}",
    f"Authorization: Bearer {C}", f"authorization: Basic {C}", f"Proxy-Authorization={C}", f"Bearer {C}",
    f"{{'Authorization': 'AWS4-HMAC-SHA256 Credential={C}/2026, SignedHeaders=host, Signature={C}'}}",
    f"Set-Cookie: a={C}; b={C}", f"AccountName=a;AccountKey={C}==;EndpointSuffix=x", f"ACCOUNT-KEY:{C}",
    f"SharedAccessSignature=sv=1&sig={C}", f"AWSAccessKeyId={C}", f"PASSWORD={C}", f"accountKey = {C}",
    f"SecretAccessKey={C}", f"AWS_SECRET_ACCESS_KEY: {C}", f"clientSecret => {C}", f"refreshToken: {C}",
    f'{{"secret\\": \\"{C}\\"}}', f'"{{\\"aws_secret_access_key\\": \\"{C}\\"}}"',
    f'\\\\\\"token\\\\\\": \\\\\\"{C}\\\\\\"',
    f"('aws_secret_access_key', '{C}')", f"secret_key:\n  {C}", f"password: '{C} more {C}'", f"password: '{C}\n{C}'",
    f'password="a\\"{C}" x', f'token="{C}', f"secret key: {C}", f"--aws-secret {C}", f"SAS_TOKEN : {C}",
    f"<SecretAccessKey>{C}</SecretAccessKey>", f"<name>fs.s3a.secret.key</name>\n<value>{C}</value>",
    f"-----BEGIN RSA PRIVATE KEY-----\n{C}\n-----END RSA PRIVATE KEY-----",
    f'"private_key": "-----BEGIN PRIVATE KEY-----\\n{C}\\n-----END PRIVATE KEY-----\\n"',
    f"jdbc:postgresql://h/db?user=a&password={C}", f"postgresql://a:{C}@h/db",
    f"secret.key is {C}", f"The option fs.s3a.access.key is set to '{C}'", f'the password was "{C} {C}"',
    f"token is: {C}.", f'"secret": {{"value": "{C}"}}', f'{{"token": {{"id": 1, "of": {{"x": ["{C}"]}}}}}}',
    f'{{\\"secret\\": {{\\"value\\": \\"{C}\\"}}}}', f'"password": {{"value": "{C}',
    f'{{"token": {{"a": {{"b": {{"c": {{"d": {{"e": "{C}"}}}}}}}}}}}}',
    f"user:{C}@host", f"admin:{C}@db.internal:5432", f"bot:a/{C}@10.0.0.1/x", f"'user:{C}@localhost'",
]  # fmt: skip
PLAIN = [
    "The token in this address is not valid. Each token opens the server to one browser, once.",
    "Unknown column secret. Did you mean secret_id?",
    "The password of 'ana' in /x is not hashed. Run: delta-explorer passwd /x ana",
    "A password has 1 to 1,000 characters. Choose another one.",
    "signature: valid", "s3://bucket/part-0001.parquet", "abfss://container@account/t", "secret = null", "token=true",
    "The secret is not set.", "token is expired", "a password is required", "key=5", "w:t@v3", "at 12:30:45 a@b",
    "the token is version 3", "mailto:me@example.com", "a: b@c.com", "user@host", "secret: {}", "the secret is 5",
    "Basic information is shown.", "sig = 'x' AND secret = 5", "part=a/part-1.parquet", "author: ana, sign: yes",
]  # fmt: skip


@pytest.mark.parametrize("text", SECRETS)
@pytest.mark.parametrize("around", ["{}", "The store answered 403: {}\nTry again.", "['{}', 1]"])
def test_a_secret_is_hidden_whatever_it_looks_like(text: str, around: str) -> None:
    shown = without_credentials(around.format(text))
    assert C not in shown
    assert "***" in shown
    assert without_credentials(shown) == shown


@pytest.mark.parametrize("text", PLAIN)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert without_credentials(text) == text


@pytest.mark.parametrize(
    "text",
    ['"secret": {x' * 20_000, '{"secret": ' * 20_000, "token is " * 30_000, "token is " + "a" * 200_000,
     "a:b" * 60_000 + "@", "a:" * 90_000 + "@", "a:b@" * 50_000, "token is 'a " * 20_000,
     "a" * 200_000, "secret" * 30_000, "secret=" * 30_000, "'secret': '" * 20_000, "secret " * 30_000,
     '\\"' * 50_000 + "secret", "x.secret" + " " * 100_000, "secret>" + "<a>" * 30_000, "%40" * 50_000,
     ":/" * 50_000 + "%40", "Authorization: " + "\\" * 100_000, "password: \\'" + "a\\" * 50_000,
     "-----BEGIN PRIVATE KEY-----" * 5_000, "bearer " * 30_000, "--secret " * 30_000, "secret\\\\\\" * 20_000],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_a_long_text_takes_no_long_time(text: str) -> None:
    begun = time.process_time()
    without_credentials(text)
    assert time.process_time() - begun < 5


def test_a_partition_is_not_a_credential_and_an_address_in_a_path_is() -> None:
    assert safe_path("token=a/part-1.parquet") == "token=a/part-1.parquet"
    assert safe_path(f"s3://b/f.parquet?sig={C}") == "s3://b/f.parquet?***"
    assert safe_path(f"s3%3A%2F%2Fu%3A{C}%40b/f.parquet") == "s3%3A%2F%2F***%40b/f.parquet"


def test_the_name_of_a_file_leads_back_to_its_path() -> None:
    paths = [f"s3://b/f?sig={C}1", "plain.parquet", f"s3://b/f?sig={C}2", f"s3://u:{C}@b/g", "token=a/h.parquet"]
    names = FileNames(pa.chunked_array([paths]))
    shown = [names.name(path) for path in paths]
    assert shown == ["s3://b/f?*** (1)", "plain.parquet", "s3://b/f?*** (2)", "s3://***@b/g", "token=a/h.parquet"]
    assert [names.path(name) for name in shown] == paths
    assert names.named(pa.table({"path": paths, "size": range(5)})).column("path").to_pylist() == shown
    assert names.name(f"s3://b/other?sig={C}") == "s3://b/other?***"
