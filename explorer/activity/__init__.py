"""The record of who did what: lines that are only ever added, each with the digest of the line before.

In: events, as the hosts of the pages and the command line tell them.
Out: files of JSON lines, what they contain, and whether they are as they were written.
Always: a line is on the disk before what it announces is done. No line has a value of a row, a condition, or a secret.
A record that cannot be written raises a typed error, and is written again as soon as it can be.
"""
