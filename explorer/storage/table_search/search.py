"""The search below one root: breadth-first, as many listings at once as its storage takes, ended and resumed at will.

Each listing runs on a thread of its own, so that Ctrl-C and the end of the program wait for no store.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Final, TypeAlias

from explorer.core.errors import ExplorerError, StorageError
from explorer.storage.table_search.folder_tree import FolderContent, FolderTree

_HIDDEN: Final = ("_", ".")


@dataclass(frozen=True, slots=True)
class Unlisted:
    """A folder whose tables are not listed.

    Attributes:
        location: Where it is.
        error: Why.
        below: Its path below the root.
    """

    location: str
    error: ExplorerError
    below: str = ""

    @property
    def why(self) -> str:
        """The reason in words."""
        return self.error.message


_Answer: TypeAlias = tuple[str, FolderContent | ExplorerError]


class TableSearch:
    """The search for the tables below a root.

    Args:
        tree: The root's folders.
        most: How many tables are listed; None for all.
        leave_out: Folders that are not searched, by their paths below the root.
        known: Tables, by their paths below the root: where a folder still holds them, they are not listed again.

    Attributes:
        known: As given.
        tables: The tables so far, by their paths below the root.
        unlisted: Folders that could not be listed.
        listed: How many folders were listed.
        cut: Whether the search ended because it had found ``most`` tables.
    """

    def __init__(
        self,
        tree: FolderTree,
        *,
        most: int | None = None,
        leave_out: Collection[str] = (),
        known: Collection[str] = (),
    ) -> None:
        self.tree = tree
        self.tables: list[str] = []
        self.unlisted: list[Unlisted] = []
        self.listed = 0
        self.cut = False
        self.known = known
        self._most, self._leave_out = most, leave_out
        self._ahead = deque([""] if "" not in leave_out else [])
        self._answers: SimpleQueue[_Answer | None] = SimpleQueue()
        self._stopped = False

    @property
    def is_done(self) -> bool:
        """Whether no folder is left to be listed."""
        return not self._ahead

    def stop(self) -> None:
        """End the iteration soon; from any thread. `found` goes on from there."""
        self._stopped = True
        self._answers.put(None)

    def steps(self, listed: Callable[[int], None] | None = None) -> Iterator[str | Unlisted]:
        """Yield the tables, by their paths below the root, and the folders that cannot be listed, as each is found.

        A search that was stopped or cut goes on where it was.

        Args:
            listed: Called with the number of folders that were listed, after each.
        """
        self.cut = False
        self._answers = SimpleQueue()
        enough = None if self._most is None else len(self.tables) + self._most
        under_way: set[str] = set()
        threads = _Threads(self.tree, self._answers)
        try:
            while (self._ahead or under_way) and not self._stopped and not self.cut:
                while self._ahead and len(under_way) < self.tree.at_once:
                    under_way.add(below := self._ahead.popleft())
                    threads.list(below, len(under_way))
                answer = self._answers.get()
                if answer is None:
                    break
                under_way.discard(answer[0])
                self.listed += 1
                if listed is not None:
                    listed(self.listed)
                yield from self._taken(*answer)
                self.cut = enough is not None and len(self.tables) >= enough and bool(self._ahead or under_way)
        finally:
            # Not at the beginning: a search may be stopped before its first step.
            self._stopped = False
            threads.end()
            self._ahead.extendleft(sorted(under_way, reverse=True))

    def _taken(self, below: str, answer: FolderContent | ExplorerError) -> list[str | Unlisted]:
        """Take a folder's content: what is ahead, and what was found."""
        if isinstance(answer, ExplorerError):
            return self._noted([], [Unlisted(self.tree.location(below), answer, below)])
        if answer.is_table:
            return self._noted([below], [])
        tables = [_joined(below, name) for name in answer.tables]
        for name in answer.folders:
            path = _joined(below, name)
            if name.startswith(_HIDDEN) or path in self._leave_out:
                continue
            if path in self.known:
                tables.append(path)
            else:
                self._ahead.append(path)
        paths = [(_joined(below, name), error) for name, error in answer.failures]
        return self._noted(tables, [Unlisted(self.tree.location(path), error, path) for path, error in paths])

    def _noted(self, tables: list[str], unlisted: list[Unlisted]) -> list[str | Unlisted]:
        self.tables += tables
        self.unlisted += unlisted
        return [*tables, *unlisted]


def _joined(below: str, name: str) -> str:
    return f"{below}/{name}" if below else name


class _Threads:
    """Threads that list folders, as many as there were folders at a time."""

    def __init__(self, tree: FolderTree, answers: SimpleQueue[_Answer | None]) -> None:
        self._tree, self._answers = tree, answers
        self._folders: SimpleQueue[str | None] = SimpleQueue()
        self._count = 0

    def list(self, below: str, under_way: int) -> None:
        """List a folder on a thread; its content, or the error, is put among the answers."""
        self._folders.put(below)
        if under_way > self._count:
            self._count += 1
            # Not one of a pool: Python waits for those before it ends.
            threading.Thread(target=self._work, name="explorer-search", daemon=True).start()

    def end(self) -> None:
        """End each thread after what it does."""
        for _ in range(self._count):
            self._folders.put(None)

    def _work(self) -> None:
        while (below := self._folders.get()) is not None:
            self._answers.put((below, self._content(below)))

    def _content(self, below: str) -> FolderContent | ExplorerError:
        try:
            return self._tree.content(below)
        except ExplorerError as error:
            return error
        except Exception as error:  # noqa: BLE001 - one folder must not end the search of the others
            failure = StorageError(f"{self._tree.location(below)} cannot be listed: {type(error).__name__}: {error}.")
            failure.__cause__ = error
            return failure
