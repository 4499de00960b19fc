"""The Spark engine of the process: one session, started at the first request, with a state that can be shown.

Invariants: opening a table never starts it; a session that the user already has is used, and never stopped or
configured, but for variables in SQL text, which are switched off where an expression is evaluated; a JVM that died is
noticed, reported, and started again at the next request; nothing goes to stdout.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import sys
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from explorer.configuration.in_force import spark_settings
from explorer.core.errors import EngineUnavailable
from explorer.debug import log_failure
from explorer.spark.engine.start_times import StartTimes
from explorer.spark.engine.user_settings import check_settings, default_master
from explorer.variables import MASTER_VARIABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EngineState = Literal["off", "starting", "ready", "failed"]

_INSTALL_SPARK: Final = 'pip install "delta-table-explorer[spark]"'
_LOCAL: Final = "local[*]"
_log = logging.getLogger(__name__)


class Engine:
    """A Spark session that starts at the first request.

    Args:
        master: A Spark master URL, ``sc://host:port`` for Spark Connect, or None for the user's own session if there
            is one, then the variable ``DELTA_EXPLORER_SPARK``, then that of spark-defaults.conf, then ``local[*]``.
        conf: Spark settings on top of ours; used only for a session that we start.
        times: The measured times of starts; those in the user's cache folder by default.
    """

    def __init__(
        self, master: str | None = None, conf: Mapping[str, str] | None = None, times: StartTimes | None = None
    ) -> None:
        self._master = master
        self._times = times or StartTimes()
        self._conf = dict(conf or {})
        self._changed = threading.Condition(threading.RLock())
        self._state: EngineState = "off"
        self._detail = "Spark starts when rows need it."
        self._phase = ""
        self._began = 0.0
        self._expected: float | None = None
        self._session: SparkSession | None = None
        self._case_sensitive: SparkSession | None = None
        self._owned = False
        self._failure: BaseException | None = None

    @property
    def state(self) -> EngineState:
        """The state of the engine; a JVM that died since the last call is noticed here."""
        with self._changed:
            self._notice_death()
            return self._state

    @property
    def detail(self) -> str:
        """One sentence on the state: the master and Spark version, how far it has started, why it failed, or that it
        starts on demand."""
        with self._changed:
            self._notice_death()
            return self._starting() if self._state == "starting" else self._detail

    @property
    def expected(self) -> float | None:
        """Seconds that a start took here last time; None where none was measured, or where no start is needed."""
        with self._changed:
            with contextlib.suppress(EngineUnavailable):
                return None if self._state == "ready" else self._times.last(self._where())
            return None

    @property
    def connected_remotely(self) -> bool:
        """True if the session is one of Spark Connect, which has no JVM in this process."""
        session = self._session
        return session is not None and is_connect(session)

    @property
    def is_chosen(self) -> bool:
        """True if the user chose where Spark runs or how, or if a session of the user or of ours runs already."""
        given = self._master or self._conf or os.environ.get(MASTER_VARIABLE) or default_master()
        return bool(given) or self.state == "ready" or _user_runs_spark()

    def runs_on(self, master: str | None, conf: Mapping[str, str]) -> bool:
        """Return whether the session that runs was started on a master, or where None leads, with these settings."""
        with self._changed:
            self._notice_death()
            is_there = master is None or self._where() == master
            return self._state == "ready" and self._owned and is_there and self._conf == dict(conf)

    def start(self, *, warm: bool = False) -> None:
        """Begin to start the session if there is none; returns at once.

        Args:
            warm: Let a session of our own run something small then, so that the first rows come sooner: Spark loads
                most of itself with its first job.
        """
        with self._changed:
            self._notice_death()
            if self._state in ("starting", "ready"):
                return
            self._began, self._expected = time.monotonic(), self._times.last(self._where())
            self._phase = "looking for PySpark"
            self._become("starting", "")
            threading.Thread(target=self._start, args=(warm,), name="spark-start", daemon=True).start()

    def start_early(self) -> None:
        """Begin to start the session before the first request for rows, if nothing did before; returns at once."""
        with self._changed:
            if self._state == "off" and not self._began:
                self.start(warm=True)

    def session(self) -> SparkSession:
        """Return the running session; starts it and waits for it.

        Raises:
            EngineUnavailable: PySpark or Java is missing, or Spark did not start.
        """
        self._check_alive()
        self.start()
        with self._changed:
            self._changed.wait_for(lambda: self._state != "starting")
            if self._session is not None and self._state == "ready":
                return self._session
            if isinstance(self._failure, EngineUnavailable):
                # A fresh one each time: a raised exception carries the traceback of its raising.
                known = self._failure
                raise EngineUnavailable(known.message, engine=known.engine, install=known.install) from known.__cause__
            raise EngineUnavailable(f"Spark did not start: {self._detail}", engine="spark") from self._failure

    def case_sensitive_session(self) -> SparkSession:
        """Return a sibling session with case-sensitive column names, for tables whose names differ only by case."""
        session = self.session()
        with self._changed:
            if self._case_sensitive is None:
                # Classic and Connect have no call for this in common, and PySpark types only the classic one.
                sibling: SparkSession = getattr(session, "cloneSession" if self.connected_remotely else "newSession")()
                sibling.conf.set("spark.sql.caseSensitive", "true")
                sibling.conf.set("spark.sql.session.timeZone", "UTC")
                self._case_sensitive = sibling
            return self._case_sensitive

    def stop(self) -> None:
        """Stop the session and its JVM, if they are ours; a session of the user is only released."""
        with self._changed:
            self._changed.wait_for(lambda: self._state != "starting")
            session, owned = self._session, self._owned
            self._session = self._case_sensitive = None
            self._become("off", "Stopped; Spark starts again at the next request for rows.")
            if session is not None and owned:
                from explorer.spark.engine import gateway

                gateway.close(session)

    def _starting(self) -> str:
        """Return one sentence on a start that is not done."""
        so_far = f"{time.monotonic() - self._began:.0f} s so far"
        if self._expected is not None:
            so_far += f"; the last start here took {self._expected:.0f} s"
        return f"Spark is starting: {self._phase} ({so_far})."

    def _report(self, phase: str) -> None:
        with self._changed:
            self._phase = phase
            self._changed.notify_all()

    def _where(self) -> str:
        return self._master or os.environ.get(MASTER_VARIABLE) or default_master() or _LOCAL

    def _start(self, warm: bool) -> None:
        try:
            session, owned = self._acquire()
        except Exception as error:  # noqa: BLE001 - what stops Spark from starting is shown and raised to the caller
            with self._changed:
                self._failure = error
                self._become("failed", str(error))
            return
        seconds = time.monotonic() - self._began
        with self._changed:
            self._session, self._owned, self._failure = session, owned, None
            whose = f"; the start took {seconds:.1f} s" if owned else " (your session)"
            self._become("ready", f"Spark {session.version} on {_master_of(session)}{whose}.")
        if owned:
            self._times.keep(self._where(), seconds)
            if warm:
                _warm(session)

    def _acquire(self) -> tuple[SparkSession, bool]:
        require_pyspark()
        from explorer.spark.engine import gateway

        master = self._where()
        # A session of the user is as the user made it, whatever the configuration file says.
        settings = spark_settings() | self._conf
        if master.startswith("sc://"):
            self._report("connecting to the Spark Connect server")
            return gateway.connect(master, settings), True
        users = gateway.adopt(self._report)
        if users is not None and self._conf:
            raise EngineUnavailable(
                f"A Spark session runs in this process already, so {', '.join(self._conf)} cannot be set. Set it where "
                "you create that session, or stop the session first.",
                engine="spark",
            )
        if users is not None:
            return users, False
        return gateway.launch(master, settings, self._report), True

    def _notice_death(self) -> None:
        session = self._session
        if session is None:
            return
        from explorer.spark.engine import gateway

        ended = gateway.how_it_ended(session)
        if ended is not None:
            self._lose(session, ended)

    def _check_alive(self) -> None:
        """Notice a JVM that does not answer: one that is just dying still seems alive from outside."""
        with self._changed:
            session = self._session
            if session is None:
                return
            from explorer.spark.engine import gateway

            if not gateway.answers(session):
                self._lose(session, gateway.how_it_ended(session) or "Spark was stopped.")

    def _lose(self, session: SparkSession, ended: str) -> None:
        from explorer.spark.engine import gateway

        gateway.forget(session)
        self._session = self._case_sensitive = None
        self._become("off", f"{ended} It starts again at the next request for rows.")

    def _become(self, state: EngineState, detail: str) -> None:
        self._state, self._detail = state, detail
        self._changed.notify_all()


def _user_runs_spark() -> bool:
    """Return whether a session runs in this process, without loading PySpark to find out."""
    if "pyspark" not in sys.modules:
        return False
    from explorer.spark.engine import gateway

    return gateway.existing_session() is not None


def is_connect(thing: object) -> bool:
    """Return whether a session or a DataFrame is one of Spark Connect."""
    return type(thing).__module__.startswith("pyspark.sql.connect")


def require_pyspark() -> None:
    """Check that PySpark is installed.

    Raises:
        EngineUnavailable: It is not; the message has the command to install it.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise EngineUnavailable(
            f"This needs Spark, and the package pyspark is not installed. To install it: {_INSTALL_SPARK}. "
            "The log, and first rows without a condition, are read without it.",
            engine="spark",
            install=_INSTALL_SPARK,
        )


_engine = Engine()
_engine_lock = threading.Lock()


def engine() -> Engine:
    """Return the engine of this process."""
    return _engine


def configure(master: str | None = None, conf: Mapping[str, str] | None = None) -> Engine:
    """Choose where the process's engine runs; a running one of ours is stopped, unless it runs there as it is.

    Args:
        master: A Spark master URL or ``sc://host:port``; None for the defaults of `Engine`.
        conf: Spark settings on top of ours, and of those in spark-defaults.conf.

    Raises:
        RequestError: A setting is refused; see `explorer.spark.engine.user_settings`.
    """
    check_settings(conf or {})
    global _engine  # noqa: PLW0603 - one engine for each process is the point
    with _engine_lock:
        if (master is not None or conf) and _engine.runs_on(master, conf or {}):
            return _engine
        _engine.stop()
        _engine = Engine(master, conf)
        return _engine


def _warm(session: SparkSession) -> None:
    """Run something small; a session that cannot do even raises at the first request for rows."""
    try:
        session.range(1).count()
    except Exception as error:  # noqa: BLE001 - whatever it is, the next request meets it too, and raises it
        log_failure(_log, "Spark's first job failed", error, logging.INFO)


def _master_of(session: Any) -> str:
    if is_connect(session):
        return "Spark Connect"
    return str(session.sparkContext.master)
