"""Who comes to the pages: the password file, login sessions, the one-time token, and whom a request comes from.

In: requests, and the password file.
Out: the `explorer.web.identity.Identity` of a request, or None.
Always: the server alone knows whose a login session is, and asks the password file again at each message. A file that
cannot be used changes nothing.
"""
