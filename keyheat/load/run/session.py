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
from signal import SIGINT
from typing import Any

from gevent import Greenlet, GreenletExit, get_hub, getcurrent, kill, signal_handler, spawn
from gevent.event import AsyncResult
from locust import runners
from locust.runners import MasterRunner, WorkerRunner

from keyheat.answers import WORD_AFTER_S
from keyheat.endpoint.process import EndpointError
from keyheat.load.guard.budget import Spending
from keyheat.load.guard.kill_switch import KillSwitch, tell_to_quit
from keyheat.load.guard.options import InputError
from keyheat.load.guard.signals import HUNG_UP, PARENT, is_handled
from keyheat.load.guard.watch import caps_of
from keyheat.load.live.callers import callers_of, keep_out
from keyheat.load.live.page import LiveRun, serve
from keyheat.load.live.prometheus import CannotListen, serve_metrics
from keyheat.load.run.plan import LoadPlan, check_options, take_numbers
from keyheat.load.run.preflight import consented, preflight
from keyheat.load.run.progress import RunProgress, tell
from keyheat.load.run.run import LoadRun
from keyheat.load.run.workers import ALIVE_S, PIECE, Gatherer, Worker
from keyheat.load.tables.control import TableError, TableRefused
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
    side = _worker_side if isinstance(runner, WorkerRunner) else _master_side
    _starts_test.set(side(environment, runner))


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
    environment.events.quitting.add_listener(_worker_quits)
    return lambda environment: worker.begin()


def _worker_quits(environment: Any, **_more: Any) -> None:
    environment.runner.stop()
    environment.process_exit_code = environment.process_exit_code or 0  # throttles are no failure of ours


def _master_side(environment: Any, runner: Any) -> Callable[[Any], None]:
    runners.HEARTBEAT_LIVENESS = ALIVE_S  # before a worker connects; Locust has no option for it
    switch = KillSwitch(getcurrent())
    switch.install()
    if parent := os.environ.pop(PARENT, None):
        switch.watch_parent(int(parent))
    live = LiveRun(environment)
    plan = _plan_or_exit(environment, live)
    options = environment.parsed_options
    take_numbers(options, plan.scenario)
    environment.stop_timeout = environment.stop_timeout or STOP_TIMEOUT_S
    if plan.progress:
        logging.getLogger("locust.stats_logger").disabled = True
    session = switch.leaving = LocustSession(environment, plan, switch.arm)
    if environment.web_ui is not None or plan.metrics is not None:
        session.live = live
    if environment.web_ui is not None:
        ours = all(hasattr(user, "needs_sort_key") for user in environment.user_classes)
        if ours:
            environment.host = plan.target.url if plan.target else "an endpoint of its own"
        keep_out(callers_of(plan, options, RunProgress(plan.progress).say), environment.web_ui)
        serve(live, environment.web_ui, session.spent, asks_where=not ours)
    if options.headless:  # Locust's limit would start to count before there is a table
        session.duration_s, options.run_time = options.run_time, None
        logging.getLogger("locust.main").addFilter(_is_not_about_run_time)
    if isinstance(runner, MasterRunner):
        runner.register_message(PIECE, session.on_piece)
        environment.events.worker_connect.add_listener(session.on_worker)
    environment.events.test_stopping.add_listener(session.on_stopping)
    environment.events.test_stop.add_listener(session.on_stop)
    environment.events.quitting.add_listener(session.on_quitting)
    return session.on_start


def _is_not_about_run_time(record: logging.LogRecord) -> bool:
    """Drop what Locust says of a run without a limit: ours has one, of which it does not know."""
    return not str(record.msg).startswith("No run time limit set")


def _plan_or_exit(environment: Any, live: LiveRun) -> LoadPlan:
    """The checked plan, with its metrics served; where that cannot be, say why and end Locust.

    Metrics are served before anything starts and before consent is asked for.
    """
    try:
        checked = check_options(
            environment.parsed_options,
            locustfiles=environment.parsed_locustfiles or [],
            users=environment.user_classes,
        )
        if checked.metrics is not None:
            serve_metrics(checked.metrics, live.metrics, RunProgress(checked.progress).say)
        return consented(preflight(checked, environment.user_classes))
    except KeyboardInterrupt:
        tell("keyheat: interrupted; nothing was started")
        sys.exit(INTERRUPTED)
    except (InputError, TableError, CannotListen) as error:
        for line in getattr(error, "errors", [str(error)]):
            tell(f"keyheat: {masked(line)}")
        sys.exit(REFUSED if isinstance(error, TableRefused) else WRONG_USE)


class LocustSession:
    """A master's side, or that of a process on its own: one run after the other, as tests start and stop."""

    def __init__(self, environment: Any, plan: LoadPlan, ends: Callable[[], None] = lambda: None) -> None:
        self._environment = environment
        self._ends = ends  # called once a run is being ended before its time
        self._plan = plan
        self._progress = RunProgress(plan.progress)
        self._spending = Spending(caps_of(plan, local=plan.free, duration_s=plan.duration_s))
        self._beginning: Any = None  # the greenlet in which a run begins
        self._newest: LoadRun | None = None  # from before it begins until it has come to its end
        self._run: LoadRun | None = None
        self._ended_run: LoadRun | None = None
        self._ending: Greenlet | None = None
        self._interrupted = False
        self._stopped = False  # the newest test, by the user or by its own limit
        self._last_answers: Greenlet | None = None  # says that they are waited for
        self.duration_s: float | None = None  # of a headless run; others have the limit of the page
        self._timer: Greenlet | None = None
        self.live: LiveRun | None = None  # with a live page

    def on_start(self, environment: Any) -> None:
        """A test starts: begin a run, or end Locust's start of users before there are any."""
        runner, headless = environment.runner, environment.parsed_options.headless
        end_load = runner.quit if headless else runner.stop
        self._stopped = False
        run = self._newest = LoadRun(
            plan=self._plan,
            progress=self._progress,
            users=runner.target_user_count,
            duration_s=self.duration_s,
            spending=self._spending,
            end_load=lambda: spawn(end_load),
        )
        try:
            self._beginning = getcurrent()
            run.begin(environment, distributed=isinstance(runner, MasterRunner))
        except (TableError, EndpointError, FileProblem, TargetError) as error:
            self._progress.say(str(error))
            if self.live is not None:
                self.live.refuse(str(error))
            environment.process_exit_code = REFUSED if isinstance(error, TableRefused) else WRONG_USE
            spawn(end_load)
            raise GreenletExit from error  # ends the greenlet that would go on to start users
        except Exception as error:
            self._progress.say("the run could not begin, for a reason that is not yours: this is a defect")
            traceback.print_exc()
            environment.process_exit_code = INVALID
            spawn(runner.quit)  # Locust would log it, and start users that have nothing to load
            raise GreenletExit from error
        finally:
            self._beginning = None
        self._run, self._ending = run, None
        if self.live is not None:
            self.live.begin(run)
        if self._stopped:  # while it was prepared: Locust goes on to start users all the same
            spawn(end_load)
        elif (duration_s := self.duration_s) is not None:
            get_hub().loop.update_now()
            self._timer = spawn(lambda: (run.sender.wait_out(duration_s), runner.quit()))

    def on_stopping(self, environment: Any, **_more: Any) -> None:
        """A test is being stopped: no further request is sent."""
        self._stopped = True
        limit_s = environment.stop_timeout
        words = f"keyheat: {WAITING} the answers to requests that are under way, {limit_s:g} s at most"
        self._last_answers = Greenlet.spawn_later(WORD_AFTER_S, tell, words)
        if self._run is not None:
            self._run.watch.close()
            self._run.sender.expect_end()
        if self.live is not None:
            self.live.stop()

    def on_stop(self, environment: Any, **_more: Any) -> None:
        """A test has stopped and its users with it: finish the run."""
        run, self._run = self._run, None
        if self._last_answers is not None:
            self._last_answers.kill(block=False)
        if self._timer is not None and self._timer is not getcurrent():
            self._timer.kill(block=False)
        if run is not None:
            run.note_spent(run.clock())  # the next one may begin before this one has come to its end
            self._ended_run = run
            self._ending = spawn(self._end, run)
        self._wait(self._ending)
        runner = environment.runner
        if self.duration_s is not None and isinstance(runner, MasterRunner) and not runner.worker_count:
            # Locust stops by itself once the last worker is lost, and would then wait for others forever.
            spawn(runner.quit)

    def _end(self, run: LoadRun) -> None:
        exceptions = self._environment.runner.exceptions.values()
        problems = [f"a user failed {some(error['count'], 'time')}: {error['msg']}" for error in exceptions]
        self._environment.process_exit_code = INVALID  # unless the run comes to its end
        self._environment.process_exit_code = run.end(interrupted=self._interrupted, problems=problems)
        self._ended_run = self._newest = None

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
        if self._ended_run is not None:
            self._ended_run.stages.cancel()

    @property
    def _undoing(self) -> bool:
        return self._newest is not None and self._newest.undoing

    def _stop_beginning(self) -> None:
        """Have a run that is only beginning undo what it has done; a further Ctrl-C does not wait for it."""
        if self._beginning is None or self._beginning is getcurrent():
            return
        self._interrupted = True
        try:
            (self._beginning.join if self._undoing else self._beginning.kill)()
        except KeyboardInterrupt:
            self._progress.say("left at once: keyheat clean --orphans finds tables that this run made, later")
            for line in self.left_behind():
                self._progress.say(line)

    def on_quitting(self, environment: Any, **_more: Any) -> None:
        """Locust ends. A run that is still going, or whose stages are, was interrupted."""
        if self._newest is not None:
            self._ends()
            # Every wait for a response is bounded, but for a beginning, which is ended and undone.
            environment.stop_timeout = min(environment.stop_timeout, HURRIED_STOP_S)
            CALLS.hurry(but=None if self._undoing else self._beginning)
        self._stop_beginning()
        if self._run is not None:
            self._interrupted = True
            # A master that told its workers to stop would forget to tell them to quit; we halt them.
            how = {"send_stop_to_client": False} if isinstance(environment.runner, MasterRunner) else {}
            self._wait(spawn(environment.runner.stop, **how))
        elif self._ending is not None and not self._ending.ready():
            self._cancel()
        self._wait(self._ending)
        if self._interrupted:
            environment.process_exit_code = INTERRUPTED
        elif environment.process_exit_code is None:
            environment.process_exit_code = 0

    def spent(self) -> str | None:
        """Return why no run may begin any more; None while one may, or is going on."""
        return None if self._run is not None else self._spending.refusal()

    def left_behind(self) -> list[str]:
        """Return what is not put back yet, with the command that does it."""
        return [] if self._newest is None else self._newest.left_behind()

    def folder(self) -> Path | None:
        return None if self._newest is None else self._newest.path

    def tell_workers(self) -> None:
        """Send the workers home."""
        if isinstance(self._environment.runner, MasterRunner):
            tell_to_quit(self._environment.runner)

    def on_piece(self, environment: Any, msg: Any, **_more: Any) -> None:
        run = self._run or self._ended_run  # none: it came too late, and was missed already
        if run is not None and isinstance(run.sender, Gatherer):
            run.sender.take(msg)

    def on_worker(self, client_id: str, **_more: Any) -> None:
        if self._run is not None and isinstance(self._run.sender, Gatherer):
            self._run.sender.give_order_to(client_id)
