"""Tables by their names in a Unity Catalog: ``uc://catalog.schema.table``.

In: a name in a catalog, the settings of its server, and the places that the program may read.
Out: by the catalog's open REST contract, the store of the table's files with temporary credentials, what the catalog
says of the table, and the catalog of its commits; and catalogs and schemas as folders.
Always: the token goes to the configured host alone, over HTTPS unless the host is this machine or plain HTTP is
allowed; it is in no text and follows no redirect. Each request has a time limit, each answer a size limit, each listing
an end. Only requests that change nothing are repeated here. An answer that is not what the contract says is an error,
never a guess. A catalog decides where a table is, but not what this program may read: see `explorer.catalogs.opening`.

Protocol section: Catalog-managed tables.
"""
