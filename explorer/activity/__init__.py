"""The record of who did what: entries that are only ever added, each with the digest of the entry before.

In: events, as the hosts of the pages and the command line tell them.
Out: files of JSON lines, what they contain, and whether they are as they were written.
Always: an entry is on the disk before what it announces is done. No entry has a row's value, a condition, or a secret.
A record that cannot be written raises a typed error, and is written again as soon as it can be.
"""
