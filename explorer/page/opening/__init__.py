"""What a window is answered with first: the page, or else what is known of it soon.

In: a table whose log is being read, and the threads that make its page.
Out: a page of its newest versions, and the end of a wait.
Always: whoever waits waits only so long, and on the server's loop keeps no other window.
"""
