"""The base of the handlers of pages, whose errors are pages in words; static files, unknown addresses, and health."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final, Protocol

from bokeh.settings import settings
from panel.io.resources import DIST_DIR
from tornado.web import HTTPError, RequestHandler, StaticFileHandler

from explorer.activity.event import Event, EventKind, Outcome
from explorer.page.host import Identity, KnownBy
from explorer.page.resources import FOLDER, plotly_script
from explorer.web.html import STATIC, plain_page
from explorer.web.serving.gate import Gate, PageRefusal

_BROWSER_LASTS: Final = 90 * 24 * 3600
"""Seconds."""
_SIGN_IN_LASTS: Final = 600
"""Seconds."""


class GatedApplication(Protocol):
    """The part of the application that these handlers use."""

    gate: Gate

    def close_sockets_of(self, session: str) -> None:
        """Close the open pages of a login session."""

    def record(self, event: Event, identity: Identity) -> None:
        """Record that somebody signed in or out, or tried to."""


class PageHandler(RequestHandler):
    """Answers with a page of a template; its errors are pages, too."""

    application: GatedApplication  # type: ignore[assignment]  # narrower than Tornado's

    SUPPORTED_METHODS: tuple[str, ...] = ("GET", "HEAD", "POST")

    def write_error(self, status_code: int, **_kwargs: Any) -> None:
        """Answer with the page of an error; only the log contains for details."""
        phrase = HTTPStatus(status_code).phrase
        self.answer_refusal(
            PageRefusal(
                phrase,
                f"The server answered with {status_code}.",
                "Open the list of tables, or try again.",
                status=status_code,
            )
        )

    def answer_refusal(self, refusal: PageRefusal) -> None:
        """Answer with the page of a refusal."""
        self.set_status(refusal.status)
        self.answer_page("refused", refusal=refusal, again=self.asked if refusal.again else "")

    def keep_session(self, cookie: str, session_id: str) -> None:
        """Set the cookie of a login session, which browsers send only with requests of pages of this server."""
        self.set_cookie(cookie, session_id, **self._attributes())

    def keep_browser(self, cookie: str, mark: str) -> None:
        """Set the mark of a browser in which a person has signed in."""
        self.set_cookie(cookie, mark, max_age=_BROWSER_LASTS, **self._attributes())

    def keep_sign_in(self, cookie: str, value: str) -> None:
        """Set the cookie of a login under way, which browsers also send when the sign-in service sends them back."""
        self.set_cookie(cookie, value, max_age=_SIGN_IN_LASTS, **(self._attributes() | {"samesite": "Lax"}))

    def drop_session(self, cookie: str) -> None:
        """Remove the cookie of the login session."""
        self.clear_cookie(cookie, **self._attributes())

    def _attributes(self) -> dict[str, Any]:
        url = self.application.gate.public_url(self.request)
        secure = {} if url is None or not url.is_secure else {"secure": True}
        return {"path": self.home, "httponly": True, "samesite": "Strict", **secure}

    def record_sign_in(
        self, name: str, known_by: KnownBy, *, kind: EventKind = "sign-in", outcome: Outcome = "done", detail: str = ""
    ) -> None:
        """Record that somebody signed in or out, or tried to."""
        identity = Identity(name=name, known_by=known_by, address=self.client)
        self.application.record(Event(kind=kind, outcome=outcome, detail=detail), identity)

    @property
    def client(self) -> str:
        """The network address that the request comes from."""
        return self.application.gate.proxies.client(self.request)

    @property
    def home(self) -> str:
        """The path of the list of tables in the browser."""
        url = self.application.gate.public_url(self.request)
        return "/" if url is None else f"{url.prefix}/"

    @property
    def asked(self) -> str:
        """The address of the requested page."""
        return f"{self.home}?{self.request.query}" if self.request.query else self.home

    def answer_page(self, template: str, **values: object) -> None:
        """Answer with a page of a template."""
        self.finish(plain_page(template, self.request, home=self.home, **values))


class Refused(PageHandler):
    """Answers every request with the same refusal."""

    def initialize(self, refusal: PageRefusal) -> None:
        """Take the refusal."""
        self._refusal = refusal

    def prepare(self) -> None:
        """Answer every method."""
        self.answer_refusal(self._refusal)


HEALTH: Final = "/healthz"
"""The address at which proxies and supervisors ask whether the server answers."""


class Health(RequestHandler):
    """Answers without a login that the server runs; the answer depends on nothing else."""

    SUPPORTED_METHODS = ("GET", "HEAD")

    def get(self) -> None:
        """Answer that the server runs."""
        self.set_header("Content-Type", "text/plain; charset=UTF-8")
        self.finish("ok\n")

    head = get


class UnknownAddress(PageHandler):
    """Answers every request with 404 and a link to the list of tables."""

    def prepare(self) -> None:
        """Answer every method."""
        self.set_status(404)
        self.answer_page("unknown-address", path=self.request.path)


class StaticFile(StaticFileHandler, PageHandler):
    """A file that can only be read; a refused request is answered with a page in words."""

    SUPPORTED_METHODS = ("GET", "HEAD")

    def validate_absolute_path(self, root: str, absolute_path: str) -> str | None:
        """Answer 404 for a name with a zero byte, which the file system refuses."""
        if "\0" in absolute_path:
            raise HTTPError(404)
        return super().validate_absolute_path(root, absolute_path)


def static_routes() -> list[tuple[str, type[StaticFileHandler], dict[str, Any]]]:
    """Return the addresses of files, with their handlers and folders."""
    edition = r"/page/[0-9a-f]{12}/"
    return [
        (r"/static/extensions/panel/(.*\.(?:js|css|woff2?|svg|png))", StaticFile, {"path": str(DIST_DIR)}),
        (r"/static/(js/bokeh[a-z-]*\.min\.js)", StaticFile, {"path": str(settings.bokehjs_path())}),
        (r"/static/(plotly\.min\.js)", StaticFile, {"path": str(plotly_script().parent)}),
        (r"/static/(styled\.js)", StaticFile, {"path": str(FOLDER / "script")}),
        (r"/static/([a-z]+\.(?:js|css))", StaticFile, {"path": str(STATIC)}),
        (edition + r"(script/[a-z]+\.js)", StaticFile, {"path": str(FOLDER)}),
        (edition + r"(style/[a-z]+\.css)", StaticFile, {"path": str(FOLDER)}),
        (edition + r"(style/fonts/[a-z-]+\.woff2)", StaticFile, {"path": str(FOLDER)}),
    ]
