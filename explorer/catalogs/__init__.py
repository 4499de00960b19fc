"""Tables by their names in a Unity Catalog: ``uc://catalog.schema.table``.

The package calls the catalog's open REST contract: it lists catalogs, schemas and tables, loads a table, gets temporary
credentials for its files, and sends commits of tables whose commits the catalog manages.

Invariants: the token goes to the configured host alone, over HTTPS unless the host is this machine or plain HTTP is
allowed; it is in no text and follows no redirect. Each request has a time limit, each answer a size limit, each listing
an end. Only requests that change nothing are repeated here. An answer that is not what the contract says is an error,
never a guess. A catalog decides where a table is, but not what this program may read: see `explorer.catalogs.opening`.

Protocol section: Catalog-managed tables.
"""
