"""Proof that an object store creates a name only once, before any write relies on it.

Protocol section: Storage (mutual exclusion). Some gateways ignore the condition of a put, or do not implement it; a
commit there would overwrite the commit of another writer. Invariants: nothing but a throw-away object is written
before the proof; a store is proved once for the life of the process; a proof that fails is tried again next time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from explorer.core.log.log_path import LOG_FOLDER

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_TRIES: Final = 3
_RIVALS: Final = 2
_STATUS: Final = re.compile(r"status code: (\d{3})")
_PASSING: Final = frozenset({"408", "409", "412", "425", "429"})
_PROVED: Final = set[str]()


class ConditionMissingError(Exception):
    """The store does not create objects only where there is none; the text says what it did instead."""


@dataclass(frozen=True, slots=True)
class CreationProof:
    """The proof for one store.

    Attributes:
        identity: The same for each opening of the store with the same endpoint and options, and for no other.
        single_try: Opens the store so that a request is sent once: a refusal need not be repeated. Deletes are sent
            object by object, as some gateways have no other request.
    """

    identity: str
    single_try: Callable[[], ObjectStore]

    def check(self, store: ObjectStore, prefix: str) -> None:
        """Prove that a second create of a name fails, unless that was proved before.

        Args:
            prefix: The key of the table's root, with a slash at its end, or empty.

        Raises:
            ConditionMissingError: It does not fail.
            Exception: As the store raises them, if it cannot be reached or refuses to be written to.
        """
        if self.identity in _PROVED:
            return
        with _created(store, self.single_try(), prefix) as (key, content):
            _check_content(store, key, content, "it did not keep the content of an object that it created")
            for _ in range(_RIVALS):
                _check_refused(store, key)
            _check_content(store, key, content, "it overwrote an object although it answered that the name is taken")
        _PROVED.add(self.identity)

    def withdraw(self) -> None:
        """Forget the proof, because the store broke its promise."""
        _PROVED.discard(self.identity)


def is_plain_refusal(error: Exception) -> bool:
    """Return whether a store's answer to a put says that nothing was written: 400, 405, 501, and the like."""
    from obstore import exceptions

    refusals = (
        FileNotFoundError,
        exceptions.InvalidPathError,
        exceptions.NotFoundError,
        exceptions.NotSupportedError,
        exceptions.PermissionDeniedError,
        exceptions.UnauthenticatedError,
    )
    status = _status(error)
    named = status is not None and (status == "501" or status[0] == "4") and status not in _PASSING
    return isinstance(error, refusals) or named or _is_not_implemented(error)


def is_passing_conflict(error: Exception) -> bool:
    """Return whether a store's answer means that another request for the name runs, not that the name is taken."""
    return "ConditionalRequestConflict" in str(error)


def _is_condition_refused(error: Exception) -> bool:
    """Return whether the store refused a put for its condition, and not for its credentials or its place."""
    return _status(error) in {"400", "405", "501"} or _is_not_implemented(error)


def _is_not_implemented(error: Exception) -> bool:
    from obstore import exceptions

    return isinstance(error, exceptions.NotSupportedError | NotImplementedError)


def _status(error: Exception) -> str | None:
    match = _STATUS.search(str(error).split("\n", 1)[0])
    return None if match is None else match[1]


@contextmanager
def _created(store: ObjectStore, single_try: ObjectStore, prefix: str) -> Iterator[tuple[str, bytes]]:
    """Create a throw-away object, and delete it at the end."""
    import obstore

    made = [_throw_away(prefix)]
    try:
        for attempt in range(_TRIES):
            try:
                obstore.put(store if attempt else single_try, made[-1], made[-1].encode(), mode="create")
                break
            except Exception as error:
                if _is_condition_refused(error) and _takes(single_try, made[-1]):
                    raise ConditionMissingError(
                        "it refuses to create an object only if there is none of that name (it answered "
                        f"{_status(error) or 'that this is not implemented'})"
                    ) from error
                if attempt == _TRIES - 1 or is_plain_refusal(error):
                    raise
                if not is_passing_conflict(error):
                    made.append(_throw_away(prefix))
        yield made[-1], made[-1].encode()
    finally:
        for key in made:
            with suppress(Exception):  # what stays is a temporary file, which is listed as one
                obstore.delete(single_try, key)


def _throw_away(prefix: str) -> str:
    """Return the name of a temporary file of this program: no client reads it, and leftovers are listed."""
    return f"{prefix}{LOG_FOLDER}/.put-if-absent.{token_hex(8)}.tmp"


def _takes(store: ObjectStore, key: str) -> bool:
    """Return whether the store takes an object without a condition; if not, it did not refuse the condition."""
    import obstore

    try:
        obstore.put(store, key, b"")
    except Exception:  # noqa: BLE001 - the first refusal is reported
        return False
    return True


def _check_refused(store: ObjectStore, key: str) -> None:
    """Check that another create of a name fails."""
    import obstore
    from obstore import exceptions

    for attempt in range(_TRIES):
        try:
            obstore.put(store, key, b"a second object of the same name", mode="create")
        except exceptions.AlreadyExistsError as error:
            if not is_passing_conflict(error) or attempt == _TRIES - 1:
                return
        else:
            raise ConditionMissingError(
                "it created an object of the same name twice: it ignores the condition of a put (If-None-Match)"
            )


def _check_content(store: ObjectStore, key: str, content: bytes, lack: str) -> None:
    """Check that an object holds what was written to it first; the text says what is wrong with the store if not."""
    import obstore

    if bytes(obstore.get(store, key).bytes()) != content:
        raise ConditionMissingError(lack)
