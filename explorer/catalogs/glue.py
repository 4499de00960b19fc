"""Tables by their names in the AWS Glue Data Catalog: ``glue://database.table``.

In: a name, and the sign-in of AWS as boto3 reads it.
Out: where the table is; it is then opened like any other table in S3.
Always: one request, and only a Delta table in S3 has a location: a catalog that names a folder of this machine opens
nothing; anything else is refused by what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from explorer.catalogs.address import parse_parts
from explorer.core.errors import CatalogError, RequestError, TableNotFound
from explorer.storage.schemes import known_scheme
from explorer.storage.sign_in.source import cause_of, installed, not_installed

if TYPE_CHECKING:
    import boto3

GLUE_SCHEME: Final = "glue://"
_PLACEHOLDER: Final = "__PLACEHOLDER__"
_SYMLINK: Final = "SymlinkTextInputFormat"
_MANIFEST: Final = "/_symlink_format_manifest"
_SECONDS: Final = (5, 30)
"""To connect, and for an answer."""
_KEYS: Final = {
    "access_key_id": "aws_access_key_id",
    "secret_access_key": "aws_secret_access_key",
    "session_token": "aws_session_token",
    "token": "aws_session_token",
    "profile": "profile_name",
    "region": "region_name",
    "default_region": "region_name",
}
"""The storage options that boto3 takes, too, without ``aws_``."""
_WHERE: Final = "The AWS Glue Data Catalog"


def is_glue_address(location: str) -> bool:
    """Return whether a location is a name in AWS Glue."""
    return location[: len(GLUE_SCHEME)].lower() == GLUE_SCHEME


def glue_location(location: str, storage_options: Mapping[str, Any] | None = None) -> str:
    """Return where a table is: a URL of S3.

    Args:
        location: ``glue://database.table``, parts in backticks where needed.
        storage_options: Those of the table; keys, profile, and region among them sign in to AWS Glue, too.

    Raises:
        TableNotFound: There is no such table.
        RequestError: The name is none, no region is set, or it is not a Delta table in S3.
        CatalogError: AWS Glue refused, or did not answer.
        EngineUnavailable: boto3 is missing.
    """
    parts = parse_parts(location, GLUE_SCHEME)
    if len(parts) != 2:
        raise RequestError(
            f"{location!r} is not the name of a table in AWS Glue. Write glue://DATABASE.TABLE.",
            location=location,
            field="location",
        )
    if not installed("boto3"):
        raise not_installed("A name in AWS Glue", "boto3", "aws")
    table = _table(_session(storage_options or {}), *parts, location)
    return _location(table, location)


def _session(options: Mapping[str, Any]) -> boto3.session.Session:
    import boto3
    from botocore.exceptions import BotoCoreError

    given = {name.lower().removeprefix("aws_"): str(value) for name, value in options.items()}
    try:
        return boto3.session.Session(**{_KEYS[name]: value for name, value in given.items() if name in _KEYS})
    except BotoCoreError as error:
        raise RequestError(
            f"The sign-in of AWS cannot be read: {cause_of(error)}. Correct it in ~/.aws, or in the storage options.",
            field="aws_profile",
        ) from error


def _table(session: boto3.session.Session, database: str, name: str, location: str) -> dict[str, Any]:
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError, NoRegionError

    connect, answer = _SECONDS
    settings = Config(connect_timeout=connect, read_timeout=answer, retries={"total_max_attempts": 2})
    try:
        client = session.client("glue", config=settings)
        table: dict[str, Any] = client.get_table(DatabaseName=database, Name=name)["Table"]
    except NoRegionError as error:
        raise RequestError(
            "The region of AWS Glue is not known. Set AWS_DEFAULT_REGION, or the storage option aws_region.",
            field="aws_region",
        ) from error
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        if code == "EntityNotFoundException":
            raise TableNotFound(
                f"{_WHERE} has no table {database}.{name}: {cause_of(error)}. Check the name and the region; "
                "the table may have been dropped or renamed.",
                location=location,
            ) from error
        raise CatalogError(
            f"{_WHERE} refused to say where {database}.{name} is: {cause_of(error)}. The permission is glue:GetTable.",
            status=error.response.get("ResponseMetadata", {}).get("HTTPStatusCode"),
            reason=code or None,
        ) from error
    except BotoCoreError as error:
        raise CatalogError(
            f"{_WHERE} did not say where {database}.{name} is: {cause_of(error)}. Check the sign-in of AWS and the "
            "network, then try again.",
            reason="no-answer",
        ) from error
    return table


def _location(table: Mapping[str, Any], location: str) -> str:
    """Return the location of a Delta table in S3.

    Raises:
        RequestError: It is another kind of table, or elsewhere.
    """
    parameters = {str(key).lower(): str(value) for key, value in (table.get("Parameters") or {}).items()}
    storage = table.get("StorageDescriptor") or {}
    path = str((storage.get("SerdeInfo") or {}).get("Parameters", {}).get("path", ""))
    place = str(storage.get("Location") or "")
    if (link := table.get("TargetTable")) is not None:
        target = f"{GLUE_SCHEME}{link.get('DatabaseName')}.{link.get('Name')}"
        raise _refused(location, "a link to another table", f"Give the name of that table: {target}")
    if _SYMLINK in str(storage.get("InputFormat")):
        folder = place.rstrip("/").removesuffix(_MANIFEST)
        raise _refused(
            location, "a table of symlinks to files", f"If it was made of a Delta table, give that: {folder}"
        )
    kinds = [parameters.get(key, "").lower() for key in ("table_type", "spark.sql.sources.provider", "classification")]
    if "delta" not in kinds:
        kind = next((kind for kind in kinds if kind), str(table.get("TableType") or "table of another kind"))
        raise _refused(location, f"listed as {kind}", "Use an engine that reads that")
    # Spark writes a placeholder as the location, and the path beside it.
    location_there = path if path and (not place or _PLACEHOLDER in place) else place
    scheme = known_scheme(location_there) if "://" in location_there else None
    if scheme is None or scheme.environment != "AWS_":
        raise _refused(
            location, f"at {location_there or 'no location'}", "This program opens names in AWS Glue of tables in S3"
        )
    return location_there


def _refused(location: str, what: str, instead: str) -> RequestError:
    return RequestError(
        f"{location} is not a Delta table that this program opens: AWS Glue has it as {what}. {instead}.",
        location=location,
        found=what,
    )
