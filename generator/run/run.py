"""One run, from the endpoint's start to the report: what a master, or a process on its own, does.

The process that sends is another one where there are workers; here is the one that writes the files.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import time
from typing import Any
from uuid import uuid4

import gevent

from generator.beside.helper import Assignment
from generator.beside.process import FINISH_WITHIN_S
from generator.beside.several import Beside
from generator.record.folder import RunFolder, time_of, versions
from generator.record.record import Record
from generator.record.seconds import ATTEMPTS
from generator.record.verdict import Verdict, verdict_on
from generator.run.load import Load, Order, empty_record, start_load
from generator.run.options import Plan, run_folder
from generator.run.progress import Progress
from generator.run.pulse import beat, fold, watch_lag
from generator.run.stages import BROKEN, CANNOT_WRITE, INTERRUPTED, INVALID, SUCCEEDED, Stages
from generator.run.table import prepare_table, table_facts
from generator.run.workers import Gatherer
from generator.transport.target import Target, scale_at, target_at
from tablemodel.endpoint.process import EndpointProcess
from tablemodel.runfiles import DIAGNOSIS, CannotWrite, FileProblem

FOLLOW_UP = (
    ("collecting", "collecting what CloudWatch says of the run's minutes", "collect", "--run"),
    ("analyzing", "analyzing", "analyze"),
    ("reporting", "writing the report", "report"),
)
INTERRUPTED_FINISH_S = 20.0  # after Ctrl-C nobody wants to wait for long
PIECES_ARRIVE_S = 2  # how far the newest whole second of a worker lies back


@dataclass(slots=True)
class Run:
    """One run. `begin` raises where it cannot start, and has then started nothing; `end` is called once."""

    plan: Plan
    progress: Progress
    users: int
    duration_s: float | None  # None: until somebody stops it
    run_id: str = field(default_factory=lambda: uuid4().hex[:12])
    endpoint: EndpointProcess | None = None
    target: Target | None = None
    folder: RunFolder | None = None
    load: Load | None = None  # where this process sends itself
    gatherer: Gatherer | None = None  # where workers send
    stages: Stages | None = None
    started_s: float = 0.0
    at_end: Callable[[], None] = lambda: None  # the last look at the record
    beside: Beside = field(default_factory=Beside)
    _greenlets: list[gevent.Greenlet] = field(default_factory=list)

    def begin(self, environment: Any, *, distributed: bool) -> None:
        """Start the endpoint, make the table, write the manifest, and give the order to load."""
        try:
            self._begin(environment, distributed)
        except BaseException:
            self.beside.kill()
            self._stop_endpoint()
            raise

    def _begin(self, environment: Any, distributed: bool) -> None:
        scenario = self.plan.scenario
        self.progress.phase("preparing", f"keyheat: preparing table {scenario.table.name}")
        if self.plan.target is None:
            self.endpoint = EndpointProcess.start(scale=scenario.local.scale, seed=scenario.seed)
        self.target = self.plan.target or target_at(self.endpoint.url)  # type: ignore[union-attr]
        description = prepare_table(self.target, scenario.table, self.run_id)
        for companion in scenario.companions:
            prepare_table(self.target, companion, self.run_id)
        self.started_s = time()
        path = run_folder(self.plan, datetime.fromtimestamp(self.started_s, UTC))
        self.stages = Stages(path, quiet_stdout=self.plan.progress)
        processes = len(environment.runner.clients) if distributed else 1
        self.folder = RunFolder(path, self._manifest(description, processes))
        self.folder.begin()
        self._begin_beside(environment)
        self._begin_load(environment, distributed)
        until = f"for {self.duration_s:g} s" if self.duration_s else "until it is stopped"
        self.progress.phase("loading", f"keyheat: loading {self.target.url} {until}: {scenario.question}")

    def _begin_load(self, environment: Any, distributed: bool) -> None:
        if distributed:
            order = self._order()
            self.gatherer = Gatherer(environment, order, empty_record(order), self.started_s)
            self.gatherer.give_order()
        else:
            self.load = environment.keyheat = start_load(self._order())
            self._greenlets = [gevent.spawn(watch_lag, self.load), gevent.spawn(beat, self.load, _nothing)]
        self._greenlets.append(gevent.spawn(self._show_seconds))

    def _begin_beside(self, environment: Any) -> None:
        """Start the processes that the users want beside them: once, however many workers there are."""
        assert self.target is not None
        assignment = Assignment(
            run_id=self.run_id,
            url=self.target.url,
            region=self.target.region,
            scenario=self.plan.scenario,
        )
        self.beside.start(environment.user_classes, assignment)

    def _order(self) -> Order:
        assert self.target is not None
        return Order(
            run_id=self.run_id,
            scenario=self.plan.scenario,
            url=self.target.url,
            region=self.target.region,
            transport=self.plan.transport,
            retries=self.plan.retries,
            show_keys=self.plan.show_keys,
            users=self.users,
            folder=str(self.plan.scenario_path.absolute().parent),
        )

    def _manifest(self, description: dict[str, Any], processes: int) -> dict[str, Any]:
        assert self.target is not None
        scenario = self.plan.scenario
        scale = scale_at(self.target)
        return {
            "run_id": self.run_id,
            "scenario": scenario.model_dump(mode="json"),
            "scenario_path": self.plan.scenario_shown,
            "seed": scenario.seed,
            "target": self.target.url if scale is None else "local",
            "endpoint_url": self.target.url,
            "region": self.target.region,
            "scale": 1.0 if scale is None else scale,
            "transport": self.plan.transport,
            "retries": self.plan.retries,
            "started_at": time_of(self.started_s),
            "versions": versions(),
            "table": table_facts(description),
            "processes": processes,
            "users": self.users,
        }

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
            if second >= int(self.started_s):
                elapsed_s = max(0.0, second + 1 - self.started_s)
                self.progress.second(elapsed_s, self.record.seconds.in_second(second))

    def end(self, *, interrupted: bool, problems: list[str]) -> int:
        """Write the files, then collect, analyze and report; gives the exit code."""
        stopped_s = time()
        try:
            self._gather()
            assert self.stages is not None
            within_s = INTERRUPTED_FINISH_S if interrupted else FINISH_WITHIN_S
            words = self.beside.finish(self.record, given_up=self.stages.cancelled, within_s=within_s)
            for line in words:
                self.progress.say(line)
            self.record.health.problems += problems
            # Workers stop a little later than the master.
            ended_s = min(time(), max(stopped_s, self.record.seconds.last() + 1))
            self._write(ended_s, "interrupted" if interrupted else "finished")
            code = self._follow_up() if self.plan.report else SUCCEEDED
        except FileProblem as problem:
            self.progress.say(str(problem))
            code = CANNOT_WRITE if isinstance(problem, CannotWrite) else INVALID
        finally:
            self.beside.kill()
            self._stop_endpoint()
            self.at_end()
            self.record.heat.clear()  # the sketches' library reports those alive at exit as leaked
        return INTERRUPTED if interrupted else code

    def _gather(self) -> None:
        if self.gatherer is not None:
            self.gatherer.finish()
        gevent.killall(self._greenlets)
        if self.load is not None:
            fold(self.load)
            self.load.transport.close()
        if self.target is not None and not self.target.local:
            scenario = self.plan.scenario
            for table in (scenario.table, *scenario.companions):
                self.progress.say(
                    f"table {table.name} stays at {self.target.url}, and costs, until you delete it"
                )

    def verdict(self, *, attempts: int, ended_s: float) -> Verdict:
        """Whether the generator was the limit, from what was sent until `ended_s`."""
        assert self.folder is not None
        return verdict_on(
            self.record.health,
            load=self.plan.scenario.load,
            users=self.users,
            processes=self.folder.manifest["processes"],
            attempts=attempts,
            duration_s=ended_s - self.started_s,
        )

    def _write(self, ended_s: float, status: str) -> None:
        assert self.folder is not None
        verdict = self.verdict(attempts=int(self.record.seconds.total()[ATTEMPTS]), ended_s=ended_s)
        self.folder.end(self.record, verdict, status=status, start_s=self.started_s, end_s=ended_s)

    def _follow_up(self) -> int:
        """Run the stages. The analyzer's word on the run comes first, then whatever else went wrong."""
        assert self.stages is not None
        folder = str(self.stages.folder)
        codes = {}
        for phase, words, verb, *arguments in FOLLOW_UP:
            self.progress.phase(phase, f"keyheat: {words}")
            codes[verb] = self.stages.run(verb, *arguments, folder)
            if codes[verb] == INTERRUPTED:
                return INTERRUPTED
            if verb == "collect":
                self._stop_endpoint()
        if codes["analyze"] == BROKEN and not self.stages.made(DIAGNOSIS):
            codes["analyze"] = INVALID  # the analyzer itself broke, not a threshold
        if codes["report"] == SUCCEEDED:
            page = f"{folder}/report.html"
            self.progress.phase("done", f"keyheat: the report is {page}", report=page)
        return next((codes[verb] for verb in ("analyze", "collect", "report") if codes[verb]), SUCCEEDED)

    def _stop_endpoint(self) -> None:
        if self.endpoint is not None:
            self.endpoint.stop()
            self.endpoint = None


def _nothing() -> None:
    """A process on its own has nobody to report to."""
