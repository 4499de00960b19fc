"""The pages as a server of their own.

In: the roots to serve, an address and a port, the public URLs and addresses of proxies, a password file.
Out: the server, and its URL.
Always: the server listens only on this machine, unless started otherwise. Addresses that are not listed in
`application` do not exist. The gate checks each request first: only known hosts, and only messages of a page to the
address that it was opened at. A page belongs to the login that requested it, has one socket, and accepts only the
messages of our script. Commits and signatures need a login, or the one-time token that the start prints.
"""
