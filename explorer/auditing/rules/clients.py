"""Access: clients that return wrong results or refuse, and commits that raised what clients must know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy
from explorer.auditing.rule import Rule, see
from explorer.auditing.subject import Subject
from explorer.auditing.words import commit_evidence, named, spans
from explorer.core.compatibility.access import Access, ClientVerdict, losses, requirements
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.protocol.actions import Protocol


def _wrong(subject: Subject) -> tuple[Finding, ...]:
    return (*_mine(subject, "wrong"), *_wrong_of_all(subject))


def _refusing(subject: Subject) -> tuple[Finding, ...]:
    return (*_mine(subject, "no"), *_refusing_of_all(subject))


def _mine(subject: Subject, access: Access) -> tuple[Finding, ...]:
    """Report your clients that get wrong results or refuse the table."""
    clients = [client for client in subject.my_clients if client.worst == access]
    if not clients:
        return ()
    one, is_wrong = len(clients) == 1, access == "wrong"
    count = f"{len(clients)} of your {fmt.plural(len(subject.my_clients), 'client')}"
    does = (
        ("gets" if one else "get") + " wrong results" if is_wrong else ("refuses" if one else "refuse") + " the table"
    )
    owners = list(dict.fromkeys(client.owner for client in clients if client.owner))
    because = list(dict.fromkeys(name for client in clients for name in client.because))
    dates = sorted({client.as_of[:4] for client in clients})
    return (
        Finding(
            rule="wrong-answers" if is_wrong else "refusing-clients",
            severity="error" if is_wrong else "warning",
            label=f"{count} {does}",
            title=f"{count} {does}{' without an error' if is_wrong else ''}",
            evidence=(
                Evidence(named([f"{client.client} {client.version}" for client in clients])),
                *([Evidence(f"because of {named(because)}")] if because else ()),
                Evidence(f"sources of {dates[0]}" if len(dates) == 1 else f"sources of {dates[0]} to {dates[-1]}"),
                *([Evidence(f"owner: {named(owners)}")] if owners else ()),
            ),
            effect=_effect(is_wrong, one),
            remedy=_list_them(subject),
        ),
    )


def _effect(is_wrong: bool, one: bool) -> str:
    if is_wrong:
        return f"{'It does' if one else 'They do'} not refuse the table, so the errors go unnoticed."
    return f"{'It says' if one else 'They say'} so when {'it opens' if one else 'they open'} the table."


def _wrong_of_all(subject: Subject) -> tuple[Finding, ...]:
    wrong = [client for client in subject.clients if client.read == "wrong" or client.write == "wrong"]
    if not wrong:
        return ()
    count, one = fmt.plural(len(wrong), "client"), len(wrong) == 1
    engines = " ".join(subject.commits.unique("engine_info")).casefold()
    used = [client for client in wrong if client.client.split()[0].casefold() in engines]
    return (
        Finding(
            rule="wrong-answers",
            severity="warning" if used else "info",
            label=f"{count} get{'s' if one else ''} wrong results",
            title=f"{count}, in the newest known release, get{'s' if one else ''} wrong results without an error",
            evidence=(
                Evidence(_names(wrong)),
                Evidence(f"because of {named(_features(wrong))}"),
                Evidence(_as_of(wrong)),
                *([Evidence(f"has written this table: {named([client.client for client in used])}")] if used else ()),
            ),
            effect=_effect(True, one) + ("" if used else f" {'It' if one else 'They'} never wrote this table."),
            remedy=_list_them(subject),
        ),
    )


def _refusing_of_all(subject: Subject) -> tuple[Finding, ...]:
    """Report clients that refuse the table's reader requirements, except those that read no Delta table."""
    required = subject.requirements
    needs = {*required.reader_features, *required.demands, f"minReaderVersion {subject.protocol.min_reader_version}"}
    refusing = [client for client in subject.clients if client.read == "no"]
    lacking = [client for client in refusing if needs.intersection(client.because)]
    if not lacking:
        return ()
    others = len(refusing) - len(lacking)
    count, aside = fmt.plural(len(refusing), "client"), f", {others} for other reasons" if others else ""
    return (
        Finding(
            rule="refusing-clients",
            severity="info",
            label=f"{count} refuse{'s' if len(refusing) == 1 else ''} it",
            title=f"{count}, in the newest known release, cannot read the table",
            evidence=(
                Evidence(_names(refusing)),
                Evidence(f"because of {named(_features(lacking))}{aside}"),
                Evidence(_as_of(refusing)),
            ),
            effect=_effect(False, len(refusing) == 1),
            remedy=_list_them(subject),
        ),
    )


def _list_them(subject: Subject) -> Remedy:
    return see(subject, "See all clients", Place("clients"))


def _names(clients: Sequence[ClientVerdict]) -> str:
    """Return the clients, each with its newest known release: the verdict may hold since an older one."""
    newest = client_facts().versions
    return named([f"{client.client} {newest[client.client][-1]}" for client in clients])


def _as_of(clients: Sequence[ClientVerdict]) -> str:
    dates = sorted({client.as_of[:4] for client in clients})
    return f"sources of {dates[0]}" if len(dates) == 1 else f"sources of {dates[0]} to {dates[-1]}"


def _features(clients: Sequence[ClientVerdict]) -> list[str]:
    return list(dict.fromkeys(name for client in clients for name in client.because))


def _raised(subject: Subject) -> tuple[Finding, ...]:
    """Report the newest commit that requires more of clients."""
    raised = list(_raises(subject))
    if not raised:
        return ()
    version, before, after = raised[-1]
    metadata = subject.history.metadata_at(version) or subject.metadata
    lost = losses(requirements(before, metadata), requirements(after, metadata), client_facts())
    readers, writers = (
        {loss.client for loss in lost if loss.certain and loss.operation == operation}
        for operation in ("read", "write")
    )
    earlier = [(other, other) for other, _, _ in raised[:-1]]
    return (
        Finding(
            rule="protocol-raised",
            severity="info",
            label=f"protocol upgraded, v{version}",
            title=_raise(version, before, after),
            evidence=(
                commit_evidence(subject, version),
                Evidence(f"before: reader {before.min_reader_version}, writer {before.min_writer_version}"),
                *([Evidence(f"also {spans(earlier)}")] if earlier else ()),
            ),
            effect=_lost_clients(len(readers), len(writers)),
            remedy=_list_them(subject),
            versions=(*earlier, (version, version)),
            cause=version,
        ),
    )


def _lost_clients(readers: int, writers: int) -> str:
    lost = []
    if readers:
        wrong = "refuses it or gets" if readers == 1 else "refuse it or get"
        lost.append(f"{fmt.plural(readers, 'client')} that could read it before {wrong} wrong results")
    if writers:
        unable = "can no longer do so" if lost else "can no longer write it"
        lost.append(f"{fmt.plural(writers, 'client')} that could write it before {unable}")
    return f"In some releases, {', and '.join(lost)}." if lost else "No known client lost access."


def _raises(subject: Subject) -> Iterator[tuple[int, Protocol, Protocol]]:
    """Yield each commit that demands more than the one before: its version, and the protocols before and after."""
    for version in subject.commits.versions[subject.commits.flags("protocol_changed")].tolist():
        before, after = subject.history.protocol_at(version - 1), subject.history.protocol_at(version)
        if before is not None and after is not None and demands_more(before, after):
            yield version, before, after


def demands_more(before: Protocol, after: Protocol) -> bool:
    """Return whether a protocol requires more of clients than another: a higher version or another feature."""
    higher = after.min_reader_version > before.min_reader_version
    return (
        higher
        or after.min_writer_version > before.min_writer_version
        or bool(_features_of(after) - _features_of(before))
    )


def _features_of(protocol: Protocol) -> set[str]:
    return {*(protocol.reader_features or ()), *(protocol.writer_features or ())}


def _raise(version: int, before: Protocol, after: Protocol) -> str:
    new = sorted(_features_of(after) - _features_of(before))
    reader, writer = after.min_reader_version, after.min_writer_version
    if (before.min_reader_version, before.min_writer_version) == (reader, writer):
        return f"v{version} added {named(new)} to the protocol"
    features = f", with {named(new)}" if new else ""
    return f"v{version} raised the protocol to reader {reader}, writer {writer}{features}"


CLIENT_RULES: Final = (
    Rule(
        "wrong-answers",
        "warning",
        "clients that return wrong results",
        "A client that returns wrong results is worse than one that refuses the table, because the errors go "
        "unnoticed.",
        _wrong,
    ),
    Rule("refusing-clients", "info", "clients that refuse the table", "They cannot be used on it.", _refusing),
    Rule(
        "protocol-raised",
        "info",
        "commits that upgraded the protocol",
        "Since then, clients need to support more, and some lost access to the table.",
        _raised,
    ),
)
