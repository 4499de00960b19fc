"""The page of a request, made before Bokeh makes its session: meanwhile the server answers other windows."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

from bokeh.application import Application
from bokeh.application.application import SessionContext
from bokeh.application.handlers import Handler
from bokeh.document import Document
from panel.io.state import set_curdoc

from explorer.page.session import Session

__all__ = ["FirstPages"]


class FirstPages(Handler):
    """Prepares the session of each document, which Bokeh then hands to the application.

    Args:
        begin: Makes the session of the current document, which is to be prepared.
    """

    def __init__(self, begin: Callable[[], Session]) -> None:
        super().__init__()
        self._begin = begin
        self._prepared: WeakKeyDictionary[Document, Session] = WeakKeyDictionary()

    def join(self, application: Application) -> None:
        """Take part in an application, from its next session on."""
        if self not in application.handlers:
            application.add(self)

    def take(self, document: Document | None) -> Session:
        """The session of a document; one that was not prepared makes its page while the server waits."""
        found = None if document is None else self._prepared.pop(document, None)
        return self._begin() if found is None else found

    async def on_session_created(self, session_context: SessionContext) -> None:
        """Prepare the session of a new document."""
        await session_context.with_locked_document(self._prepare)

    async def _prepare(self, document: Document) -> None:
        with set_curdoc(document):
            session = self._begin()
        await session.prepare()
        self._prepared[document] = session

    def modify_document(self, doc: Document) -> None:
        """Leave the document to the application."""
