"""The names of environment variables that the command line sets or reads before it loads what they concern."""

from __future__ import annotations

from typing import Final

ACTIVITY_VARIABLE: Final = "DELTA_EXPLORER_ACTIVITY"
"""The environment variable that names the file or folder of the activity record; ``off`` writes none."""
CACHE_VARIABLE: Final = "DELTA_EXPLORER_CACHE"
"""The environment variable that names the cache folder, or switches the cache off with ``off``."""
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
