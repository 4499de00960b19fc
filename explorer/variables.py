"""The names of environment variables that the command line sets or reads before it loads what they concern."""

from __future__ import annotations

from typing import Final

OFF: Final = "off"
"""The value of a variable that names a place, for none."""
ACTIVITY_VARIABLE: Final = "DELTA_EXPLORER_ACTIVITY"
"""The environment variable that names the file or folder of the activity record; ``off`` writes none."""
NOTICES_VARIABLE: Final = "DELTA_EXPLORER_NOTICES"
"""The environment variable that names the folder of the notices; ``off`` keeps none."""
WEBHOOK_SECRET_VARIABLE: Final = "DELTA_EXPLORER_WEBHOOK_SECRET"  # noqa: S105  # the name of the variable
"""The environment variable that holds the secret that signs webhooks without a file of their own."""
MAIL_PASSWORD_VARIABLE: Final = "DELTA_EXPLORER_MAIL_PASSWORD"  # noqa: S105  # the name of the variable
"""The environment variable that holds the password of the mail server."""
CACHE_VARIABLE: Final = "DELTA_EXPLORER_CACHE"
"""The environment variable that names the cache folder, or switches the cache off with ``off``."""
JOURNAL_VARIABLE: Final = "DELTA_EXPLORER_JOURNAL"
"""The environment variable that names the folder of the journal of maintenance, or switches it off with ``off``."""
CLIENTS_VARIABLE: Final = "DELTA_EXPLORER_CLIENTS"
"""The environment variable that names the file of the clients in use."""
CONFIG_VARIABLE: Final = "DELTA_EXPLORER_CONFIG"
"""The environment variable that names the configuration file; ``off`` uses none."""
OIDC_SECRET_VARIABLE: Final = "DELTA_EXPLORER_OIDC_SECRET"  # noqa: S105  # the name of the variable
"""The environment variable that holds the secret of this server at the issuer of single sign-on."""
MASTER_VARIABLE: Final = "DELTA_EXPLORER_SPARK"
"""The environment variable that says where Spark runs."""
ANALYSIS_VARIABLE: Final = "DELTA_EXPLORER_ANALYSIS_SECONDS"
"""The environment variable that sets the deadline for the analysis of an expression."""
WORK_VARIABLE: Final = "DELTA_EXPLORER_EXPRESSION_SECONDS"
"""The environment variable that sets the deadline for work that evaluates expressions."""
UNITY_VARIABLES: Final = {
    "url": "UNITY_CATALOG_URL",
    "token": "UNITY_CATALOG_TOKEN",
    "token_file": "UNITY_CATALOG_TOKEN_FILE",
    "client_id": "UNITY_CATALOG_CLIENT_ID",
    "client_secret": "UNITY_CATALOG_CLIENT_SECRET",
    "client_secret_file": "UNITY_CATALOG_CLIENT_SECRET_FILE",
    "oauth_url": "UNITY_CATALOG_OAUTH_URL",
    "folders": "UNITY_CATALOG_FOLDERS",
    "allow_http": "UNITY_CATALOG_ALLOW_HTTP",
}
"""The environment variables of a Unity Catalog, by their keys in the configuration file."""
