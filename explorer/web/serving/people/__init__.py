"""The people who open the pages: the password file, login sessions, and the one-time token.

In: requests, and the password file.
Out: the `explorer.page.host.Identity` of a request, or None.
Always: only the server stores which person a login session belongs to. It checks the password file again at each
message. A file that cannot be used changes nothing.
"""
