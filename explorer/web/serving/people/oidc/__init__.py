"""Single sign-on by OpenID Connect: the authorization code flow with PKCE.

In: the settings of one issuer, and the answers of that issuer.
Out: who signed in, the person's groups, and until when; or why not, in words.
Always: a token counts only with a signature of the issuer's keys, for this client, for this login, and within its time.
No secret, code, or token is in a log, an error, or a page. Nothing is fetched from any server but the issuer's.
"""
