"""The pages as a server of their own.

In: the roots to serve, an address and a port, the public URLs of a proxy, a password file.
Out: the server, and its URL.
Always: it listens on this machine only, unless asked otherwise. What is not listed in `application` does not exist. The
gate stands before every handler: only known hosts, only messages of its own pages. A page belongs to the login that
asked for it, has one socket, and takes the messages of our script alone. Nobody unnamed may commit or have a report
signed: a one-time token lets in whoever started the server, a login everyone else.
"""
