"""One run, from the endpoint's start to the report: what a master, or a process on its own, does.

The process that sends is another one where there are workers; here is the one that writes the files.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import time
from typing import Any
from uuid import uuid4

import gevent

from generator.beside.helper import Assignment
from generator.beside.process import FINISH_WITHIN_S
from generator.beside.several import Beside
from generator.guard.budget import Caps
from generator.guard.running import caps_of, watch_here, watch_workers
from generator.guard.watch import Watch
from generator.record.record import Record
from generator.record.seconds import ATTEMPTS
from generator.record.verdict import Verdict, verdict_on
from generator.run.arrived import PIECES_ARRIVE_S
from generator.run.follow_up import follow_up
from generator.run.ground import Ground
from generator.run.load import Load, Order, empty_record, start_load
from generator.run.options import Plan
from generator.run.progress import Progress
from generator.run.pulse import beat, fold, watch_lag
from generator.run.stages import BROKEN, CANNOT_WRITE, INTERRUPTED, INVALID, SUCCEEDED
from generator.run.timeline import TableTimeline
from generator.run.workers import Gatherer
from generator.transport.target import Target
from tablemodel.runfiles import CannotWrite, FileProblem

INTERRUPTED_FINISH_S = 20.0  # after Ctrl-C nobody wants to wait for long


@dataclass(slots=True)
class Run:
    """One run. `begin` raises where it cannot start, and has then started nothing; `end` is called once."""

    plan: Plan
    progress: Progress
    users: int
    duration_s: float | None  # None: until somebody stops it
    end_load: Callable[[], None] = lambda: None  # ends the load, as if it had lasted long enough
    run_id: str = field(default_factory=lambda: uuid4().hex[:12])
    ground: Ground = field(init=False)
    load: Load | None = None  # where this process sends itself
    gatherer: Gatherer | None = None  # where workers send
    at_end: Callable[[], None] = lambda: None  # the last look at the record
    beside: Beside = field(default_factory=Beside)
    timeline: TableTimeline | None = None  # where the scenario has one
    watch: Watch | None = None  # while it loads, and after
    _greenlets: list[gevent.Greenlet] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ground = Ground(self.plan, self.progress, self.run_id)

    def begin(self, environment: Any, *, distributed: bool) -> None:
        """Prepare what the run stands on, and give the order to load."""
        try:
            self._begin(environment, distributed)
        except BaseException:
            self.beside.kill()
            self.ground.forget()
            raise

    def _begin(self, environment: Any, distributed: bool) -> None:
        processes = len(environment.runner.clients) if distributed else 1
        target = self.ground.prepare(processes=processes, users=self.users, lasts_s=self.duration_s or 0.0)
        self._begin_beside(environment, target)
        self._begin_load(environment, target, distributed)
        self.ground.loaded()
        until = f"for {self.duration_s:g} s" if self.duration_s else "until it is stopped"
        words = f"keyheat: loading {target.url} {until}: {self.plan.scenario.question}"
        self.progress.phase("loading", words)

    def _begin_load(self, environment: Any, target: Target, distributed: bool) -> None:
        caps = caps_of(self.plan, local=target.local, duration_s=self.duration_s)
        order, started_s, scenario = self._order(target, caps), self.ground.started_s, self.plan.scenario
        if distributed:
            self.gatherer = Gatherer(environment, order, empty_record(order), started_s)
            self.gatherer.give_order()
            self.watch = watch_workers(self.plan, caps, self.gatherer, self.duration_s, self._stop_early)
        else:
            self.load = environment.keyheat = start_load(order)
            self.watch = watch_here(self.plan, caps, self.load, self.duration_s, self._stop_early)
            self._greenlets = [gevent.spawn(watch_lag, self.load), gevent.spawn(beat, self.load, _nothing)]
        self._greenlets += [gevent.spawn(self._show_seconds), gevent.spawn(self.watch.follow)]
        if scenario.timeline:
            self.timeline = TableTimeline.of(scenario, target, started_s, self.progress.say)
            self._greenlets.append(gevent.spawn(self.timeline.follow))

    def _begin_beside(self, environment: Any, target: Target) -> None:
        """Start the processes that the users want beside them: once, however many workers there are."""
        assignment = Assignment(
            run_id=self.run_id, url=target.url, region=target.region, scenario=self.plan.scenario
        )
        self.beside.start(environment.user_classes, assignment)

    def _order(self, target: Target, caps: Caps) -> Order:
        return Order(
            run_id=self.run_id,
            scenario=self.plan.scenario,
            url=target.url,
            region=target.region,
            transport=self.plan.transport,
            retries=self.plan.retries,
            show_keys=self.plan.show_keys,
            users=self.users,
            caps=caps.to_wire(),
            folder=str(self.plan.scenario_path.absolute().parent),
            marked=self.plan.marked,
        )

    def _stop_early(self) -> None:
        """Stop the load at once, wherever it is sent, and then end the run."""
        if self.gatherer is not None:
            self.gatherer.halt()
        if self.load is not None:
            self.load.stop()
        self.end_load()

    @property
    def record(self) -> Record:
        """What is known so far."""
        if self.gatherer is not None:
            return self.gatherer.record
        assert self.load is not None
        return self.load.record

    def _show_seconds(self) -> None:
        back_s = 1 + (PIECES_ARRIVE_S if self.gatherer else 0)
        while True:
            now_s = time()
            gevent.sleep(1.0 - now_s % 1.0)
            second = int(now_s) + 1 - back_s
            if second >= int(self.ground.started_s):
                elapsed_s = max(0.0, second + 1 - self.ground.started_s)
                self.progress.second(elapsed_s, self.record.seconds.in_second(second))

    def end(self, *, interrupted: bool, problems: list[str]) -> int:
        """Write the files, then collect, analyze and report; gives the exit code."""
        stopped_s = time()
        try:
            self._gather()
            within_s = INTERRUPTED_FINISH_S if interrupted else FINISH_WITHIN_S
            given_up = self.ground.stages.cancelled
            words = self.beside.finish(self.record, given_up=given_up, within_s=within_s)
            for line in words:
                self.progress.say(line)
            self.record.health.problems += problems
            # Workers stop a little later than the master.
            ended_s = min(time(), max(stopped_s, self.record.seconds.last() + 1))
            stopped = self._stopped(ended_s)
            self._write(ended_s, "interrupted" if interrupted else "stopped" if stopped else "finished")
            code = self._follow_up() if self.plan.report else SUCCEEDED
            code = code or (BROKEN if stopped else SUCCEEDED)
        except FileProblem as problem:
            self.progress.say(str(problem))
            code = CANNOT_WRITE if isinstance(problem, CannotWrite) else INVALID
        finally:
            self.beside.kill()
            self.ground.leave()
            self.progress.over()
            self.at_end()
            self.record.heat.clear()  # the sketches' library reports those alive at exit as leaked
        return INTERRUPTED if interrupted else code

    def _stopped(self, ended_s: float) -> bool:
        """Whether a cap or a rule ended the load; then the manifest says which, and everybody is told."""
        stop = self.watch.outcome(ended_s) if self.watch is not None else None
        if stop is None:
            return False
        self.progress.say(stop.words)
        self.ground.folder.manifest["stopped_by"] = stop.to_json()
        return True

    def _gather(self) -> None:
        if self.gatherer is not None:
            self.gatherer.finish()
        gevent.killall(self._greenlets)
        if self.load is not None:
            self.load.look_back()
            fold(self.load)
            self.load.transport.close()

    def verdict(self, *, attempts: int, ended_s: float) -> Verdict:
        """Whether the generator was the limit, from what was sent until `ended_s`."""
        return verdict_on(
            self.record.health,
            load=self.plan.scenario.load,
            users=self.users,
            processes=self.ground.folder.manifest["processes"],
            attempts=attempts,
            duration_s=ended_s - self.ground.started_s,
        )

    def _write(self, ended_s: float, status: str) -> None:
        folder, started_s = self.ground.folder, self.ground.started_s
        if self.timeline is not None:
            self.record.health.problems += self.timeline.problems
            folder.manifest["timeline"] = [event.to_json() for event in self.timeline.log]
        folder.manifest |= self.ground.noted_at_end(ended_s)
        self.ground.see_company(self.record.health)
        self.ground.write_partitions(ended_s)
        verdict = self.verdict(attempts=int(self.record.seconds.total()[ATTEMPTS]), ended_s=ended_s)
        folder.end(self.record, verdict, status=status, start_s=started_s, end_s=ended_s)

    def _follow_up(self) -> int:
        return follow_up(
            self.ground.stages, self.progress, show_keys=self.plan.show_keys, collected=self.ground.leave
        )


def _nothing() -> None:
    """A process on its own has nobody to report to."""
