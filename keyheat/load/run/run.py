"""One run, from its folder to its report: what a master, or a process on its own, does.

Its stages stand on a stack that is left in reverse, whatever ends the run: folder, endpoint, tables, load,
cleaning up. Where there are workers they send, and this process writes the files.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import Any
from uuid import uuid4

import gevent

from keyheat import runfiles
from keyheat.endpoint.process import EndpointProcess
from keyheat.load.clock import NOTABLE_S, SteadyClock, align, service_ahead_s, skew_words
from keyheat.load.guard.budget import Caps, Spending
from keyheat.load.guard.watch import LoadWatch, Rules
from keyheat.load.record.generator import machine, verdict_on
from keyheat.load.record.record import Record
from keyheat.load.record.rows import ATTEMPTS
from keyheat.load.run.finish import Stages, end_run
from keyheat.load.run.load import Load, Order, empty_record, start_load
from keyheat.load.run.plan import LoadPlan, run_folder
from keyheat.load.run.progress import RunProgress
from keyheat.load.run.timeline import TableTimeline
from keyheat.load.run.workers import Gatherer
from keyheat.load.tables.control import TableRefused
from keyheat.load.tables.existing import existing_fields
from keyheat.load.tables.lifecycle import RunTables
from keyheat.load.transport.endpoint_pages import PageUnavailable, faults_of, partitions_of, scale_at
from keyheat.load.transport.target import Target, target_at
from keyheat.model.limits import MINUTE_S
from keyheat.runfiles import CannotWrite, FileProblem, time_of
from keyheat.runs.folder import RunFolder, versions
from keyheat.runs.manifest import GeneratorHealth, Stop
from keyheat.runs.parquet import do_without_pandas, write_table
from keyheat.runs.table_facts import table_facts
from keyheat.words import BROKEN, DONE, INTERRUPTED, INVALID, WRONG_USE, has_capacity_model

LOCAL = "local"
"""The target of a run on an endpoint of ours, in its manifest."""


@dataclass(slots=True)
class LoadRun:
    """One run. `begin` raises where it cannot start, and leaves nothing then; `end` is called once."""

    plan: LoadPlan
    progress: RunProgress
    users: int
    duration_s: float | None  # None: until stopped
    spending: Spending  # of all runs of this process
    end_load: Callable[[], None] = lambda: None  # ends the load, as if it had lasted long enough
    run_id: str = field(default_factory=lambda: uuid4().hex[:12])
    clock: SteadyClock = field(default_factory=SteadyClock)  # all moments of the run are of this one
    started_s: float = 0.0
    caps: Caps = field(default_factory=Caps)  # what earlier runs left of the budget
    path: Path | None = None  # where its files are
    tables: RunTables | None = None
    timeline: TableTimeline | None = None  # where the scenario has one
    folder: RunFolder = field(init=False)
    stages: Stages = field(init=False)  # what follows the load
    target: Target = field(init=False)
    sender: Load | Gatherer = field(init=False)  # this process sends itself, or its workers do
    watch: LoadWatch = field(init=False)
    at_end: Callable[[], None] = lambda: None  # the last look at the record
    undoing: bool = False  # it could not begin
    _struck: Counter[str] = field(default_factory=Counter)  # by rules of faults, before it loaded
    _greenlets: list[gevent.Greenlet] = field(default_factory=list)
    _whole: ExitStack = field(default_factory=ExitStack)
    _table: ExitStack = field(default_factory=ExitStack)  # left as soon as the metrics are collected

    def begin(self, environment: Any, *, distributed: bool) -> None:
        """Prepare what the run stands on, and give the order to load."""
        if refusal := self.spending.refusal():
            raise TableRefused(refusal)
        if rest := self.spending.left_text():
            self.progress.say(rest)
        self.caps = self.spending.left()
        try:
            with ExitStack() as unbegun:
                path = self._enter_folder()
                self.target = self._enter_target()
                description = self._enter_tables()
                self._begin_files(path, description, len(environment.runner.clients) if distributed else 1)
                unbegun.callback(self.folder.forget)
                self._wait_for_start()
                self._begin_load(environment, distributed)
                unbegun.pop_all()
        except BaseException:
            self.undoing = True
            self.leave()
            self._whole.close()
            raise
        self._table.callback(self.stages.clean_up, self.plan)
        until = f"for {self.duration_s:g} s" if self.duration_s else "until it is stopped"
        words = f"keyheat: loading {self.target.url} {until}: {self.plan.scenario.question}"
        self.progress.phase("loading", words)

    def leave(self) -> None:
        """Leave table and endpoint as they were found; may be called again."""
        self._table.close()

    def left_behind(self) -> list[str]:
        """Return what has not been put back as it was, with the command that does it."""
        return self.tables.left_behind() if self.tables else []

    def _enter_folder(self) -> Path:
        table = self.plan.scenario.table.name
        self.progress.phase("preparing", f"keyheat: preparing table {table}", run_id=self.run_id)
        self.path = self._whole.enter_context(run_folder(self.plan, datetime.now(UTC))).folder
        for note in self.plan.auto_scaling.in_words() if self.plan.auto_scaling else ():
            self.progress.say(f"note: table {table}: {note}")
        return self.path

    def _enter_target(self) -> Target:
        if self.plan.target is not None:
            return self.plan.target
        scenario = self.plan.scenario
        stated = {"--update-s": scenario.local.update_s, "--transaction-s": scenario.local.transaction_s}
        more = [word for flag, value in stated.items() if value is not None for word in (flag, repr(value))]
        endpoint = EndpointProcess.start(scale=scenario.local.scale, seed=scenario.seed, more=tuple(more))
        self._table.callback(endpoint.stop)
        return target_at(endpoint.url)

    def _enter_tables(self) -> dict[str, Any]:
        """Make what is not there, to be left as the scenario says; describes the scenario's own table."""
        tables = self.tables = RunTables(
            target=self.target, run_id=self.run_id, guards=self.plan.guards, lasts_s=self.duration_s or 0.0,
            alone=self.plan.target is None, say=self.progress.say, phase=self.progress.phase,
        )  # fmt: skip
        self._table.callback(tables.leave)
        self._table.callback(gevent.spawn(tables.keep_up).kill)
        description = tables.prepare(self.plan.scenario.table)
        for companion in self.plan.scenario.companions:
            tables.prepare(companion)
        return description

    def _begin_files(self, path: Path, description: dict[str, Any], processes: int) -> None:
        ahead_s = service_ahead_s(self.target, description["TableName"], time)
        self.clock = SteadyClock(ahead_s or 0.0)
        self.started_s = self.clock()
        self.stages = Stages(path, self.progress)
        self.folder = RunFolder(path, self._manifest(description, processes))
        if abs(self.clock.ahead_s) > NOTABLE_S:
            self.progress.say(
                f"{skew_words(self.clock.ahead_s)}; the run keeps the service's time. Set the clock"
            )
        if self.folder.manifest["target"] == LOCAL:
            with suppress(PageUnavailable):  # which is said when the run has ended
                self._struck = faults_of(self.target)
        self.folder.begin()

    def _manifest(self, description: dict[str, Any], processes: int) -> dict[str, Any]:
        """What was asked, of which table, with which versions; `description` is DescribeTable's answer.

        Its scenario has the scale of the target, which may be an endpoint of others.
        """
        plan, scenario, own_scale = self.plan, self.plan.scenario, scale_at(self.target)
        scale = 1.0 if own_scale is None else own_scale
        local = scenario.local.model_copy(update={"scale": scale})
        return {
            "run_id": self.run_id,
            "scenario": scenario.model_copy(update={"local": local}).model_dump(mode="json"),
            "scenario_path": plan.scenario_shown,
            "seed": scenario.seed,
            "target": self.target.url if own_scale is None else LOCAL,
            "endpoint_url": self.target.url,
            **({"endpoint": plan.endpoint} if plan.endpoint else {}),
            "region": self.target.region,
            "scale": scale,
            "transport": plan.transport,
            "retries": plan.retries,
            "started_at": time_of(self.started_s),
            **({"clock_skew_s": round(self.clock.ahead_s, 3)} if self.clock.ahead_s else {}),
            "versions": versions("keyheat", "locust", "botocore"),
            "machine": machine(),
            "table": table_facts(description).model_dump(mode="json"),
            "processes": processes,
            "users": self.users,
            **existing_fields(plan),
        }

    def _wait_for_start(self) -> None:
        """Begin with a minute of CloudWatch's; not on this machine, where a wait costs more than it tells."""
        if not self.plan.guards.no_align and not self.target.local:
            align(clock=self.clock, sleep=gevent.sleep, tell=self.progress.aligning)
            self.started_s = self.clock()
            self.folder.note({"started_at": time_of(self.started_s)})

    def _begin_load(self, environment: Any, distributed: bool) -> None:
        order, scenario = self._order(), self.plan.scenario
        if scenario.timeline:
            self.timeline = TableTimeline(
                scenario, self.target, self.started_s, self.progress.say, self.clock
            )
        if distributed:
            self.sender = Gatherer(environment, order, empty_record(order), self.started_s, self.clock)
            self.sender.give_order()
        else:
            self.sender = start_load(order, environment, clock=self.clock)
            self.sender.watch()
        self.watch = LoadWatch(
            self.caps,
            self.sender,
            self._stop_early,
            rules=Rules(scenario.abort_on) if scenario.abort_on is not None else None,
            duration_s=self.duration_s,
            known_after_s=self.sender.behind_s,
        )
        if isinstance(self.sender, Gatherer):
            self.sender.used_up = self.watch.used_up
        follow = [self._show_seconds, self.watch.follow, *([self.timeline.follow] if self.timeline else [])]
        self._greenlets += map(gevent.spawn, follow)

    def _order(self) -> Order:
        plan = self.plan
        return Order(
            run_id=self.run_id, scenario=plan.scenario, url=self.target.url, region=self.target.region,
            transport=plan.transport, retries=plan.retries, show_keys=plan.show_keys, users=self.users,
            caps=asdict(self.caps), folder=str(plan.scenario_path.absolute().parent),
            units_needed=has_capacity_model(plan.endpoint), marked=plan.marked, ahead_s=self.clock.ahead_s,
        )  # fmt: skip

    def _stop_early(self) -> None:
        """Stop the load at once, wherever it is sent, and then end the run."""
        self.sender.stop()
        self.end_load()

    @property
    def record(self) -> Record:
        return self.sender.record

    def _show_seconds(self) -> None:
        while True:
            now_s = self.clock()
            gevent.sleep(1.0 - now_s % 1.0)
            second = int(now_s) - self.sender.behind_s
            if second >= int(self.started_s):
                elapsed_s = max(0.0, second + 1 - self.started_s)
                self.progress.second(elapsed_s, self.record.seconds.in_second(second))

    def end(self, *, interrupted: bool, problems: list[str]) -> int:
        """Write the files, then collect, analyze and report; returns the exit code."""
        stopped_s = self.clock()
        try:
            self.sender.end()
            gevent.killall(self._greenlets)
            self.record.health.problems += problems
            # Workers stop a little later than the master.
            ended_s = min(self.clock(), max(stopped_s, self.record.seconds.last() + 1))
            stop = self.watch.outcome(ended_s)
            self.note_spent(ended_s, stop)
            if stop is not None:
                self.progress.say(stop.words)
                self.folder.manifest["stopped_by"] = stop.to_json()
            self._write(ended_s, "interrupted" if interrupted else "stopped" if stop else "finished")
            code = self._follow_up() if self.plan.report else DONE
            code = code or (BROKEN if stop else DONE)
        except FileProblem as problem:
            self.progress.say(str(problem))
            code = WRONG_USE if isinstance(problem, CannotWrite) else INVALID
        finally:
            self.leave()
            self._whole.close()
            self.at_end()
            self.record.heat.clear()  # the sketches' library reports those alive at exit as leaked
        return INTERRUPTED if interrupted else code

    def note_spent(self, at_s: float, stopped: Stop | None = None) -> None:
        """What it has used up by now is no other run's any more."""
        self.spending.note(self.run_id, self.record.consumed, at_s - self.started_s, stopped)

    def verdict(self, *, attempts: int) -> GeneratorHealth:
        """Return whether the generator was the limit, from what it noted until now."""
        return verdict_on(
            self.record.health, load=self.plan.scenario.load, users=self.users,
            processes=self.folder.manifest["processes"], attempts=attempts,
        )  # fmt: skip

    def _write(self, ended_s: float, status: str) -> None:
        folder, health = self.folder, self.record.health
        do_without_pandas()
        if self.timeline is not None:
            health.problems += self.timeline.problems
            folder.manifest["timeline"] = [event.to_json() for event in self.timeline.log]
        attempts = int(self.record.seconds.total()[ATTEMPTS])
        end_run(folder, self.record, self.verdict(attempts=attempts), start_s=self.started_s, end_s=ended_s)
        # From here on the endpoint is asked again: if it hangs, and we are killed, the files are whole.
        self._see_company()
        if folder.manifest["target"] == LOCAL:
            self.see_faults(self.target)
            self._write_partitions(ended_s)
        verdict = self.verdict(attempts=attempts)
        folder.note({"status": status, "generator": verdict.model_dump(mode="json")})

    def _see_company(self) -> None:
        """Have the manifest say which runs were on the tables, too, and `health` what is not known of it."""
        assert self.tables is not None, "it has begun"
        others, unknown = self.tables.company()
        self.record.health.missing += unknown
        if others:
            self.folder.manifest["shared_with"] = others
            who = ", ".join(f"run {other['run']} of {other['owner']}" for other in others)
            self.progress.say(f"this run was not alone: {who} loaded the same table meanwhile")

    def see_faults(self, target: Target) -> None:
        """Note which rules of faults struck meanwhile: the table did not do what they did."""
        missing = self.record.health.missing
        try:
            struck = faults_of(target) - self._struck
        except PageUnavailable as problem:
            missing.append(f"whether rules of faults struck: {problem}")
            return
        if struck:
            rules = ", ".join(f"{name} {count:,} times" for name, count in struck.items())
            missing.append(f"rules of faults struck, which labels take for the table's own doing: {rules}")
            self.progress.say(missing[-1])

    def _write_partitions(self, ended_s: float) -> None:
        """Write what each partition served and refused. Raises `FileProblem`."""
        try:
            rows = partitions_of(self.target, self.plan.scenario.table.name, self.started_s, ended_s)
        except PageUnavailable as problem:
            self.progress.say(f"partitions.parquet is not written: {problem}")
            return
        write_table(self.folder.path / runfiles.FILES[runfiles.PARTITIONS], runfiles.PARTITIONS, rows)

    def _follow_up(self) -> int:
        return self.stages.follow_up(
            self.target.url,
            show_keys=self.plan.show_keys,
            closes_s=None if self.target.local else MINUTE_S - self.clock() % MINUTE_S,
            collected=self.leave,
        )
