"""What a window is answered with first: the page, or else what is known of it soon.

In: a table whose log is being read, and the threads that make its page.
Out: a page of its newest versions, and the end of a wait.
Always: a wait is bounded, and on the host's loop it holds up no other window.
"""
