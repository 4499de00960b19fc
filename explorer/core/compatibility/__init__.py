"""Which other clients read and write a table, now or after a change.

In: the protocol and metadata of a version, and the statements of `client_facts` (each with a source and a date).
Out: for each client and span of its versions: reads, writes, wrong results, or unknown, and the features that decide;
the same of the clients in use, which a file names or which wrote the table, and these first.
Always: a client has access only if a statement gives it every feature; what no source states is unknown. An additional
feature never gives access.

Protocol sections: Protocol Evolution, Table Features.
"""
