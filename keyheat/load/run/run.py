"""One run, from the endpoint's start to the report: what a master, or a process on its own, does.

The process that sends is another one where there are workers; here is the one that writes the files.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import time
from typing import Any
from uuid import uuid4

import gevent

from keyheat.load.clock import jump_words
from keyheat.load.guard.budget import Caps, Spending
from keyheat.load.guard.watch import LoadWatch, watch_run
from keyheat.load.record.generator import verdict_on
from keyheat.load.record.record import PIECES_ARRIVE_S, Record
from keyheat.load.record.rows import ATTEMPTS
from keyheat.load.run.finish import end_run, follow_up
from keyheat.load.run.load import Load, Order, beat, empty_record, fold, start_load, watch_lag
from keyheat.load.run.plan import LoadPlan
from keyheat.load.run.progress import RunProgress
from keyheat.load.run.testbed import Testbed
from keyheat.load.run.timeline import TableTimeline
from keyheat.load.run.workers import Gatherer
from keyheat.load.tables.ownership import TableRefused
from keyheat.load.transport.target import Target
from keyheat.model.limits import MINUTE_S
from keyheat.runfiles import CannotWrite, FileProblem
from keyheat.runs.manifest import GeneratorHealth, Stop
from keyheat.runs.parquet import do_without_pandas
from keyheat.words import BROKEN, DONE, INTERRUPTED, INVALID, WRONG_USE, has_capacity_model


@dataclass(slots=True)
class LoadRun:
    """One run. `begin` raises where it cannot start, and has then started nothing; `end` is called once."""

    plan: LoadPlan
    progress: RunProgress
    users: int
    duration_s: float | None  # None: until somebody stops it
    spending: Spending  # of all runs of this process
    end_load: Callable[[], None] = lambda: None  # ends the load, as if it had lasted long enough
    run_id: str = field(default_factory=lambda: uuid4().hex[:12])
    ground: Testbed = field(init=False)
    caps: Caps = field(default_factory=Caps)  # what it may use up of what others left
    load: Load | None = None  # where this process sends itself
    gatherer: Gatherer | None = None  # where workers send
    at_end: Callable[[], None] = lambda: None  # the last look at the record
    timeline: TableTimeline | None = None  # where the scenario has one
    watch: LoadWatch | None = None  # while it loads, and after
    undoing: bool = False  # it could not begin
    _greenlets: list[gevent.Greenlet] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ground = Testbed(self.plan, self.progress, self.run_id)

    def begin(self, environment: Any, *, distributed: bool) -> None:
        """Prepare what the run stands on, and give the order to load."""
        if refusal := self.spending.refusal():
            raise TableRefused(refusal)
        if left := self.spending.shown():
            self.progress.say(left)
        self.caps = self.spending.left()
        try:
            self._begin(environment, distributed)
        except BaseException:
            self.undoing = True
            self.ground.forget()
            raise

    def _begin(self, environment: Any, distributed: bool) -> None:
        processes = len(environment.runner.clients) if distributed else 1
        target = self.ground.prepare(processes=processes, users=self.users, lasts_s=self.duration_s or 0.0)
        self._begin_load(environment, target, distributed)
        self.ground.loaded()
        until = f"for {self.duration_s:g} s" if self.duration_s else "until it is stopped"
        words = f"keyheat: loading {target.url} {until}: {self.plan.scenario.question}"
        self.progress.phase("loading", words)

    def _begin_load(self, environment: Any, target: Target, distributed: bool) -> None:
        order, started_s, scenario = self._order(target), self.ground.started_s, self.plan.scenario
        if scenario.timeline:
            self.timeline = TableTimeline.of(
                scenario, target, started_s, self.progress.say, self.ground.clock
            )
        if distributed:
            self.gatherer = Gatherer(environment, order, empty_record(order), started_s, self.ground.clock)
            self.gatherer.give_order()
            self.watch = watch_run(
                self.plan, self.caps, self.gatherer, self.duration_s, self._stop_early, PIECES_ARRIVE_S
            )
            self.gatherer.used_up = self.watch.used_up
        else:
            self.load = environment.keyheat = start_load(order, clock=self.ground.clock)
            self.watch = watch_run(self.plan, self.caps, self.load, self.duration_s, self._stop_early)
            self._greenlets = [gevent.spawn(watch_lag, self.load), gevent.spawn(beat, self.load, _nothing)]
        self._greenlets += [gevent.spawn(self._show_seconds), gevent.spawn(self.watch.follow)]
        if self.timeline is not None:
            self._greenlets.append(gevent.spawn(self.timeline.follow))

    def _order(self, target: Target) -> Order:
        return Order(
            run_id=self.run_id,
            scenario=self.plan.scenario,
            url=target.url,
            region=target.region,
            transport=self.plan.transport,
            retries=self.plan.retries,
            show_keys=self.plan.show_keys,
            users=self.users,
            caps=self.caps.to_wire(),
            folder=str(self.plan.scenario_path.absolute().parent),
            units_needed=has_capacity_model(self.plan.endpoint),
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
            now_s = self.ground.clock()
            gevent.sleep(1.0 - now_s % 1.0)
            self.record.health.note_jump(self.ground.clock.jump_s)
            second = int(now_s) + 1 - back_s
            if second >= int(self.ground.started_s):
                elapsed_s = max(0.0, second + 1 - self.ground.started_s)
                self.progress.second(elapsed_s, self.record.seconds.in_second(second))

    def end(self, *, interrupted: bool, problems: list[str]) -> int:
        """Write the files, then collect, analyze and report; gives the exit code."""
        stopped_s = self.ground.clock()
        try:
            self._gather()
            self.record.health.problems += problems
            # Workers stop a little later than the master.
            ended_s = min(self.ground.clock(), max(stopped_s, self.record.seconds.last() + 1))
            stopped = self._stopped(ended_s)
            self._write(ended_s, "interrupted" if interrupted else "stopped" if stopped else "finished")
            code = self._follow_up() if self.plan.report else DONE
            code = code or (BROKEN if stopped else DONE)
        except FileProblem as problem:
            self.progress.say(str(problem))
            code = WRONG_USE if isinstance(problem, CannotWrite) else INVALID
        finally:
            self.ground.leave()
            self.ground.over()
            self.at_end()
            self.record.heat.clear()  # the sketches' library reports those alive at exit as leaked
        return INTERRUPTED if interrupted else code

    def _stopped(self, ended_s: float) -> bool:
        """Whether a cap or a rule ended the load; then the manifest says which, and everybody is told."""
        stop = self.watch.outcome(ended_s) if self.watch is not None else None
        self.note_spent(ended_s, stop)
        if stop is None:
            return False
        self.progress.say(stop.words)
        self.ground.folder.manifest["stopped_by"] = stop.to_json()
        return True

    def note_spent(self, at_s: float, stopped: Stop | None = None) -> None:
        """What it has used up by now is no other run's any more."""
        elapsed_s = at_s - self.ground.started_s
        self.spending.note(self.run_id, self.record.consumed, elapsed_s, stopped)

    def _gather(self) -> None:
        if self.gatherer is not None:
            self.gatherer.finish()
        gevent.killall(self._greenlets)
        if self.load is not None:
            self.load.look_back()
            fold(self.load)
            self.load.transport.close()

    def verdict(self, *, attempts: int) -> GeneratorHealth:
        """Whether the generator was the limit, from what it noted until now."""
        return verdict_on(
            self.record.health,
            load=self.plan.scenario.load,
            users=self.users,
            processes=self.ground.folder.manifest["processes"],
            attempts=attempts,
        )

    def _write(self, ended_s: float, status: str) -> None:
        folder, started_s = self.ground.folder, self.ground.started_s
        do_without_pandas()
        if self.timeline is not None:
            self.record.health.problems += self.timeline.problems
            folder.manifest["timeline"] = [event.to_json() for event in self.timeline.log]
        attempts = int(self.record.seconds.total()[ATTEMPTS])
        end_run(folder, self.record, self.verdict(attempts=attempts), start_s=started_s, end_s=ended_s)
        # From here on the endpoint is asked again: if it hangs, and we are killed, the files are whole.
        more = self.ground.noted_at_end(ended_s)
        self.ground.see_company(self.record.health)
        self.ground.see_faults(self.record.health)
        self.ground.write_partitions(ended_s)
        verdict = self.verdict(attempts=attempts)
        if verdict.clock_jump_s:
            self.progress.say(jump_words(verdict.clock_jump_s))
        folder.note({**more, "status": status, "generator": verdict.model_dump(mode="json")})

    def _follow_up(self) -> int:
        assert self.ground.target is not None, "it was loaded"
        return follow_up(
            self.ground.stages,
            self.progress,
            endpoint_url=self.ground.target.url,
            show_keys=self.plan.show_keys,
            closes_s=None if self.ground.target.local else MINUTE_S - time() % MINUTE_S,
            collected=self.ground.leave,
        )


def _nothing() -> None:
    """A process on its own has nobody to report to."""
