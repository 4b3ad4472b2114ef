"""What happens at the start and at the stop of a test, so that a locustfile holds nothing but its question.

init        check everything; a mistake ends Locust before anything starts (exit code 2, or 4)
test_start  endpoint, table, run.json
test_stop   run files, then collect, analyze and report
quitting    a run that is still going is interrupted, its files are kept, and the exit code is decided
"""

import logging
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from secrets import token_urlsafe
from signal import SIGINT
from typing import Any, Final

from gevent import Greenlet, GreenletExit, get_hub, getcurrent, kill, signal_handler, spawn
from gevent.event import AsyncResult
from locust import runners
from locust.runners import MasterRunner, WorkerRunner

from keyheat.answers import WORD_AFTER_S
from keyheat.endpoint.process import EndpointError
from keyheat.load.options import InputError, TableError, TableRefused
from keyheat.load.run.kill_switch import KillSwitch, tell_to_quit
from keyheat.load.run.launch import HUNG_UP, PARENT, RunProgress, is_handled, tell
from keyheat.load.run.page import Live, keep_out, serve
from keyheat.load.run.plan import LoadPlan, check_options, take_numbers
from keyheat.load.run.preflight import consented, preflight
from keyheat.load.run.prometheus import serve_metrics
from keyheat.load.run.run import LoadRun
from keyheat.load.run.watch import Spending, caps_of
from keyheat.load.run.workers import ALIVE_S, PIECE, Gatherer, Worker
from keyheat.load.transport.boto import CALLS
from keyheat.load.transport.target import TargetError
from keyheat.masking import masked, speak_plainly
from keyheat.numbers import some
from keyheat.runfiles import FileProblem
from keyheat.words import INTERRUPTED, INVALID, REFUSED, WAITING, WRONG_USE

STOP_TIMEOUT_S = 12.0
"""Users finish the request they are in: more than a request's own time limit, so that none is lost."""
HURRIED_STOP_S = 3.0
"""The same after Ctrl-C; a request without a response by then is recorded as unanswered."""


_starts_test: "AsyncResult[Callable[[Any], None]]" = AsyncResult()


def begin(environment: Any, runner: Any) -> None:
    """Locust is there: take the side of a master, or of a worker."""
    speak_plainly()
    _starts_test.set(
        (_worker_side if isinstance(runner, WorkerRunner) else _master_side)(environment, runner)
    )


def start_test(environment: Any) -> None:
    """Start a test once Locust has fired `init`: on a busy machine a worker hears the order before that."""
    _starts_test.get()(environment)


def _worker_side(environment: Any, runner: Any) -> Callable[[Any], None]:
    worker, main = Worker(environment), getcurrent()
    forked = environment.parsed_options.processes  # Ctrl-C reaches our master too, and it halts us
    # Otherwise Ctrl-C is raised in whichever user happens to run, and its request is lost to the record.
    for number in filter(is_handled, (SIGINT, HUNG_UP)):
        signal_handler(number, lambda: None if forked and worker.loading else kill(main, KeyboardInterrupt))
    environment.events.test_stopping.add_listener(lambda environment, **_more: worker.stop())
    environment.events.test_stop.add_listener(lambda environment, **_more: worker.end())

    def quits(environment: Any, **_more: Any) -> None:
        environment.runner.stop()
        environment.process_exit_code = environment.process_exit_code or 0  # throttles are no failure of ours

    environment.events.quitting.add_listener(quits)
    return lambda environment: worker.begin()


def _master_side(environment: Any, runner: Any) -> Callable[[Any], None]:
    runners.HEARTBEAT_LIVENESS = ALIVE_S  # before a worker connects; Locust has no option for it
    switch = KillSwitch(getcurrent())
    switch.install()
    if parent := os.environ.pop(PARENT, None):
        switch.watch_parent(int(parent))
    live = Live(environment)
    plan = _plan_or_exit(environment, live)
    options = environment.parsed_options
    take_numbers(options, plan.scenario.load)
    environment.stop_timeout = environment.stop_timeout or STOP_TIMEOUT_S
    if plan.progress:
        logging.getLogger("locust.stats_logger").disabled = True
    session = switch.leaving = LocustSession(environment, plan, live, switch.arm)
    if environment.web_ui is not None:
        ours = all(hasattr(user, "needs_sort_key") for user in environment.user_classes)
        if ours:
            environment.host = plan.target.url if plan.target else "an endpoint of its own"
        token = None if plan.free else token_urlsafe(24)
        keep_out(environment.web_ui, token, RunProgress(plan.progress).say)
        serve(live, environment.web_ui, session.refusal, asks_where=not ours)
    if options.headless:  # Locust's limit would start to count before there is a table
        session.duration_s, options.run_time = options.run_time, None
        # Locust would say that there is no limit: ours is one of which it does not know.
        about_limit = "No run time limit set"
        logging.getLogger("locust.main").addFilter(lambda record: not str(record.msg).startswith(about_limit))
    if isinstance(runner, MasterRunner):
        runner.register_message(PIECE, session.on_piece)
        environment.events.worker_connect.add_listener(session.on_worker)
    environment.events.test_stopping.add_listener(session.on_stopping)
    environment.events.test_stop.add_listener(session.on_stop)
    environment.events.quitting.add_listener(session.on_quitting)
    return session.on_start


def _plan_or_exit(environment: Any, live: Live) -> LoadPlan:
    """The checked plan, with its metrics served; where that cannot be, say why and end Locust.

    Metrics are served before anything starts and before consent is asked for.
    """
    try:
        checked = check_options(
            environment.parsed_options,
            locustfiles=environment.parsed_locustfiles or [],
            users=environment.user_classes,
        )
        serve_metrics(environment.parsed_options, live.metrics, RunProgress(checked.progress).say)
        return consented(preflight(checked, environment.user_classes))
    except KeyboardInterrupt:
        tell("keyheat: interrupted; nothing was started")
        sys.exit(INTERRUPTED)
    except InputError as error:
        for line in error.errors:
            tell(f"keyheat: {masked(line)}")
        sys.exit(REFUSED if isinstance(error, TableRefused) else WRONG_USE)


NOT_OVER: Final = (
    "the run before is not over: its table, its metrics or its report are being seen to; wait for it"
)


class LocustSession:
    """A master's side, or that of a process on its own: one run after the other, as tests start and stop."""

    def __init__(self, environment: Any, plan: LoadPlan, live: Live, ends: Callable[[], None]) -> None:
        self._environment = environment
        self._distributed = isinstance(environment.runner, MasterRunner)
        self._ends = ends  # called once a run is being ended before its time
        self._plan = plan
        self._progress = RunProgress(plan.progress)
        self._spending = Spending(caps_of(plan, local=plan.free, duration_s=plan.duration_s))
        self._run: LoadRun | None = None  # from before it begins until it has come to its end
        self._beginning: Any = None  # the greenlet in which it begins
        self._ending: Greenlet | None = None  # that in which the last run ended
        self._interrupted = False
        self._stopped = False  # the newest test, by the user or by its own limit
        self._last_answers: Greenlet | None = None  # says that they are waited for
        self.duration_s: float | None = None  # of a headless run; others have the limit of the page
        self._timer: Greenlet | None = None
        self._live = live
        self._shown = environment.web_ui is not None or environment.parsed_options.prometheus_port is not None

    def on_start(self, environment: Any) -> None:
        """A test starts: begin a run, or end Locust's start of users before there are any."""
        runner = environment.runner
        end_load = runner.quit if environment.parsed_options.headless else runner.stop
        self._stopped = False
        try:
            if refusal := self._spending.refusal() if self._run is None else NOT_OVER:
                raise TableRefused(refusal)
            run = self._run = LoadRun(
                plan=self._plan,
                progress=self._progress,
                users=runner.target_user_count,
                duration_s=self.duration_s,
                spending=self._spending,
                end_load=lambda: spawn(end_load),
            )
            self._beginning = getcurrent()
            run.begin(environment, distributed=self._distributed)
        except Exception as error:
            if isinstance(error, (TableError, EndpointError, FileProblem, TargetError)):
                self._progress.say(str(error))
                self._live.refuse(str(error))
                code, leave = REFUSED if isinstance(error, TableRefused) else WRONG_USE, end_load
            else:
                self._progress.say(
                    "the run could not begin, for a reason that is not yours: this is a defect"
                )
                traceback.print_exc()
                code, leave = INVALID, runner.quit
            environment.process_exit_code = code
            spawn(leave)
            raise GreenletExit from error  # or Locust would start users that have nothing to load
        finally:
            if self._beginning is getcurrent():
                self._beginning = None
                self._run = self._run if run.state == "loading" else None
        if self._shown:
            self._live.begin(run)
        if self._stopped:  # while it was prepared: Locust goes on to start users all the same
            spawn(end_load)
        elif (duration_s := self.duration_s) is not None:
            get_hub().loop.update_now()
            self._timer = spawn(lambda: (run.sender.wait_out(duration_s), runner.quit()))

    def refusal(self) -> str | None:
        """Return why no run may begin now; None while one may, or is loading."""
        if self._run is None:
            return self._spending.refusal()
        return None if self._run.state == "loading" else NOT_OVER

    def on_stopping(self, environment: Any, **_more: Any) -> None:
        self._stopped = True
        limit_s = environment.stop_timeout
        words = f"keyheat: {WAITING} the answers to requests that are under way, {limit_s:g} s at most"
        self._last_answers = Greenlet.spawn_later(WORD_AFTER_S, tell, words)
        if self._run is not None and self._run.state == "loading":
            self._run.watch.close()
            self._run.sender.expect_end()
        self._live.stop()

    def on_stop(self, environment: Any, **_more: Any) -> None:
        """A test has stopped and its users with it: finish the run."""
        for waiting in (self._last_answers, self._timer):
            if waiting is not None and waiting is not getcurrent():
                waiting.kill(block=False)
        if self._run is not None and self._run.state == "loading":
            self._run.state = "ending"
            self._ending = spawn(self._end, self._run)
        self._wait(self._ending)
        runner = environment.runner
        if self.duration_s is not None and self._distributed and not runner.worker_count:
            # Locust stops by itself once the last worker is lost, and would then wait for others forever.
            spawn(runner.quit)

    def _end(self, run: LoadRun) -> None:
        exceptions = self._environment.runner.exceptions.values()
        problems = [f"a user failed {some(error['count'], 'time')}: {error['msg']}" for error in exceptions]
        self._environment.process_exit_code = INVALID  # unless the run comes to its end
        try:
            self._environment.process_exit_code = run.end(interrupted=self._interrupted, problems=problems)
        finally:
            self._live.end()
            self._run = None

    def _wait(self, ending: Greenlet | None) -> None:
        """Wait for a run to end; a further Ctrl-C cancels what is still to come of it."""
        while ending is not None and not ending.ready():
            try:
                ending.join()
            except KeyboardInterrupt:
                self._cancel()

    def _cancel(self) -> None:
        self._interrupted = True
        CALLS.hurry()
        if self._run is not None and self._run.state == "ending":
            self._run.stages.cancel()

    def on_quitting(self, environment: Any, **_more: Any) -> None:
        """Locust ends. A run that is still going, or whose stages are, was interrupted."""
        if self._run is not None:
            self._ends()
            # Every wait for a response is bounded, but for a beginning, which is ended and undone.
            environment.stop_timeout = min(environment.stop_timeout, HURRIED_STOP_S)
            CALLS.hurry(but=None if self._run.state == "undoing" else self._beginning)
        if self._beginning is not None and self._beginning is not getcurrent():
            # It undoes what it has done; a further Ctrl-C does not wait for it.
            self._interrupted = True
            undoing = self._run is not None and self._run.state == "undoing"
            try:
                (self._beginning.join if undoing else self._beginning.kill)()
            except KeyboardInterrupt:
                self._progress.say(
                    "left at once: keyheat clean --orphans finds tables that this run made, later"
                )
                for line in self.left_behind():
                    self._progress.say(line)
        if self._run is not None and self._run.state == "loading":
            self._interrupted = True
            # A master that told its workers to stop would forget to tell them to quit; we halt them.
            how = {"send_stop_to_client": False} if self._distributed else {}
            self._wait(spawn(environment.runner.stop, **how))
        elif self._ending is not None and not self._ending.ready():
            self._cancel()
        self._wait(self._ending)
        if self._interrupted:
            environment.process_exit_code = INTERRUPTED
        elif environment.process_exit_code is None:
            environment.process_exit_code = 0

    def left_behind(self) -> list[str]:
        return [] if self._run is None else self._run.left_behind()

    def folder(self) -> Path | None:
        return None if self._run is None else self._run.path

    def tell_workers(self) -> None:
        """Send the workers home."""
        if self._distributed:
            tell_to_quit(self._environment.runner)

    def on_piece(self, environment: Any, msg: Any, **_more: Any) -> None:
        if gatherer := self._gatherer("loading", "ending"):  # else it came too late, and was missed already
            gatherer.take(msg)

    def on_worker(self, client_id: str, **_more: Any) -> None:
        if gatherer := self._gatherer("loading"):
            gatherer.give_order_to(client_id)

    def _gatherer(self, *states: str) -> Gatherer | None:
        run = self._run
        sender = run.sender if run is not None and run.state in states else None
        return sender if isinstance(sender, Gatherer) else None
