"""One run, from its folder to its report: what a master, or a process on its own, does.

What it stands on is one stack that is left in reverse, whatever ends the run: folder, endpoint, tables,
cleaning up. It is left once the metrics are collected; only then the run is analyzed. Where there are workers
they send, and this process writes the files.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import Any, Literal
from uuid import uuid4

import gevent

from keyheat import runfiles
from keyheat.endpoint.process import EndpointProcess
from keyheat.load.record.generator import machine, verdict_on
from keyheat.load.record.record import Record
from keyheat.load.record.rows import ACCEPTED, ATTEMPTS, ERRORS, THROTTLED
from keyheat.load.run.finish import Stages, run_files
from keyheat.load.run.launch import RunProgress
from keyheat.load.run.load import Load, Order, SteadyClock, empty_record, start_load
from keyheat.load.run.plan import LoadPlan, run_folder
from keyheat.load.run.preflight import NOTABLE_S, align, service_ahead_s, skew_words
from keyheat.load.run.timeline import TableTimeline
from keyheat.load.run.watch import LoadWatch, Rules, Spending
from keyheat.load.run.workers import Gatherer
from keyheat.load.tables.existing import existing_fields
from keyheat.load.tables.lifecycle import RunTables
from keyheat.load.transport.boto import PageUnavailable, faults_of, partitions_of, scale_at
from keyheat.load.transport.target import Target, target_at
from keyheat.model.limits import MINUTE_S
from keyheat.runfiles import CannotWrite, FileProblem, time_of
from keyheat.runs.folder import RunFolder, totals_of, versions
from keyheat.runs.manifest import GeneratorHealth
from keyheat.runs.parquet import do_without_pandas, write_table
from keyheat.runs.table_facts import table_facts
from keyheat.words import BROKEN, DONE, INTERRUPTED, INVALID, WRONG_USE

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
    path: Path | None = None  # where its files are
    tables: RunTables | None = None
    timeline: TableTimeline | None = None  # where the scenario has one
    folder: RunFolder = field(init=False)
    stages: Stages = field(init=False)  # what follows the load
    target: Target = field(init=False)
    sender: Load | Gatherer = field(init=False)  # this process sends itself, or its workers do
    watch: LoadWatch = field(init=False)
    state: Literal["beginning", "undoing", "loading", "ending"] = "beginning"
    _struck: Counter[str] = field(default_factory=Counter)  # by rules of faults, before it loaded
    _greenlets: list[gevent.Greenlet] = field(default_factory=list)
    _stack: ExitStack = field(default_factory=ExitStack)  # left as soon as the metrics are collected

    def begin(self, environment: Any, *, distributed: bool) -> None:
        plan = self.plan
        try:
            self._prepare(len(environment.runner.clients) if distributed else 1)
            self._begin_load(environment, distributed)
        except BaseException:
            self.state = "undoing"
            self.leave()
            raise
        self.state = "loading"
        if plan.guards.clean_up:
            self._stack.callback(self.stages.clean_up, plan)
        until = f"for {self.duration_s:g} s" if self.duration_s else "until it is stopped"
        words = f"keyheat: loading {self.target.url} {until}: {plan.scenario.question}"
        self.progress.phase("loading", words)

    def leave(self) -> None:
        """Leave table, endpoint and folder, as they were found; may be called again."""
        self._stack.close()

    def left_behind(self) -> list[str]:
        """Return what has not been put back as it was, with the command that does it."""
        return self.tables.left_behind() if self.tables else []

    def _prepare(self, processes: int) -> None:
        """Enter what the run stands on: folder, endpoint, tables, files."""
        plan, scenario, say, stack = self.plan, self.plan.scenario, self.progress.say, self._stack
        self.progress.phase(
            "preparing", f"keyheat: preparing table {scenario.table.name}", run_id=self.run_id
        )
        self.path = stack.enter_context(run_folder(plan, datetime.now(UTC))).folder
        for note in plan.auto_scaling.in_words() if plan.auto_scaling else ():
            say(f"note: table {scenario.table.name}: {note}")
        target = plan.target
        if target is None:
            local = scenario.local
            stated = {"--update-s": local.update_s, "--transaction-s": local.transaction_s}
            more = [
                word for flag, value in stated.items() if value is not None for word in (flag, repr(value))
            ]
            endpoint = EndpointProcess.start(scale=local.scale, seed=scenario.seed, more=tuple(more))
            stack.callback(endpoint.stop)
            target = target_at(endpoint.url)
        self.target = target
        tables = self.tables = RunTables(
            target=target, run_id=self.run_id, guards=plan.guards, lasts_s=self.duration_s or 0.0,
            alone=plan.target is None, say=say, phase=self.progress.phase,
        )  # fmt: skip
        stack.callback(tables.leave)
        stack.callback(gevent.spawn(tables.keep_up).kill)
        description, *_companions = [tables.prepare(spec) for spec in (scenario.table, *scenario.companions)]
        self._begin_files(self.path, description, processes)
        if not plan.guards.no_align and not target.local:  # a minute of CloudWatch's

            def tell(left_s: float) -> None:
                words = (
                    f"keyheat: the load begins with the next minute, in {left_s:.0f} s (--no-align: at once)"
                )
                self.progress.phase("aligning", words, left_s=round(left_s, 1))

            align(clock=self.clock, sleep=gevent.sleep, tell=tell)
            self.started_s = self.clock()
            self.folder.note({"started_at": time_of(self.started_s)})

    def _begin_files(self, path: Path, description: dict[str, Any], processes: int) -> None:
        ahead_s = service_ahead_s(self.target, description["TableName"], time)
        self.clock = SteadyClock(ahead_s or 0.0)
        self.started_s = self.clock()
        self.stages = Stages(path, self.progress)
        self.folder = RunFolder(path, self._manifest(description, processes))
        self._stack.callback(lambda: self.folder.forget() if self.state == "undoing" else None)
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

    def _begin_load(self, environment: Any, distributed: bool) -> None:
        scenario, caps = self.plan.scenario, self.spending.left()
        order = Order(
            plan=self.plan, run_id=self.run_id, url=self.target.url, region=self.target.region,
            users=self.users, caps=caps, ahead_s=self.clock.ahead_s,
        )  # fmt: skip
        follow = [self._show_seconds]
        if scenario.timeline:
            self.timeline = TableTimeline(
                scenario, self.target, self.started_s, self.progress.say, self.clock
            )
            follow.append(self.timeline.follow)
        if distributed:
            self.sender = Gatherer(environment, order, empty_record(order), self.started_s, self.clock)
            self.sender.give_order()
        else:
            self.sender = start_load(order, environment, clock=self.clock)
            self.sender.watch()

        def stop_early() -> None:
            """Stop the load at once, wherever it is sent, and then end the run."""
            self.sender.stop()
            self.end_load()

        self.watch = LoadWatch(
            caps,
            self.sender,
            stop_early,
            rules=Rules(scenario.abort_on) if scenario.abort_on is not None else None,
            duration_s=self.duration_s,
        )
        if isinstance(self.sender, Gatherer):
            self.sender.used_up = self.watch.used_up
        self._greenlets += map(gevent.spawn, [*follow, self.watch.follow])

    @property
    def record(self) -> Record:
        return self.sender.record

    def _show_seconds(self) -> None:
        while True:
            now_s = self.clock()
            gevent.sleep(1.0 - now_s % 1.0)
            second = int(now_s) - self.sender.behind_s
            if second >= int(self.started_s):
                counts = self.record.seconds.of_requests([second])
                self.progress.line(
                    elapsed_s=round(max(0.0, second + 1 - self.started_s), 1),
                    accepted_per_s=int(counts[ACCEPTED]),
                    throttled_per_s=int(counts[THROTTLED]),
                    errors_per_s=int(counts[ERRORS]),
                )

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
            elapsed_s = ended_s - self.started_s
            self.spending.note(self.record.consumed, elapsed_s, stop)
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
        return INTERRUPTED if interrupted else code

    def _follow_up(self) -> int:
        """Collect, then leave the table, then analyze; returns the exit code."""
        collected = self.stages.collect(
            self.target.url,
            show_keys=self.plan.show_keys,
            closes_s=None if self.target.local else MINUTE_S - self.clock() % MINUTE_S,
        )
        if collected == INTERRUPTED:
            return collected
        self.leave()
        return self.stages.analyze() or collected

    def verdict(self, *, attempts: int) -> GeneratorHealth:
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
        attempts = int(self.record.seconds.of_requests()[ATTEMPTS])
        files = run_files(self.record, start_s=self.started_s, end_s=ended_s)
        totals = {
            "ended_at": time_of(ended_s),
            "totals": totals_of(files.seconds, files.throttles, self.record.errors_by_kind),
            "counted": dict(sorted(self.record.counted.items())),
        }
        verdict = self.verdict(attempts=attempts).model_dump(mode="json")
        folder.end(files, {"status": "interrupted", "generator": verdict, **totals})
        # From here on the endpoint is asked again: if it hangs, and we are killed, the files are whole.
        assert self.tables is not None, "it has begun"
        others, unknown = self.tables.company()
        health.missing += unknown
        if others:
            folder.manifest["shared_with"] = [other.model_dump(mode="json") for other in others]
            who = ", ".join(f"run {other.run} of {other.owner}" for other in others)
            self.progress.say(f"this run was not alone: {who} loaded the same table meanwhile")
        if folder.manifest["target"] == LOCAL:
            self.see_faults(self.target)
            self._write_partitions(ended_s)
        verdict = self.verdict(attempts=attempts).model_dump(mode="json")
        folder.note({"status": status, "generator": verdict})

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
