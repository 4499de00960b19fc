"""The pages as a server of their own.

In: the roots to serve, an address and a port, a password.
Out: the server, and its URL.
Always: it listens on this machine only, unless asked otherwise; nobody unnamed may commit or have a report signed.
"""
