"""HTML around the regions of a page.

In: a request, and what Bokeh and Panel generate for its session.
Out: the nonce, the scripts of a page, and whole pages that need no session.
Always: a script or a style without the nonce of its request does not run.
"""
