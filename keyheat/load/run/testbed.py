"""What a run stands on: its endpoint, tables and folder, from before the load until all is left behind.

What is prepared is noted before it is, so that whatever ends the run, it is left as it was found.
"""

from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import gevent

from keyheat import runfiles
from keyheat.endpoint.process import EndpointProcess
from keyheat.load.clock import SteadyClock, align
from keyheat.load.observation import Observation
from keyheat.load.record.generator import Health, machine
from keyheat.load.run.finish import Stages, clean_up
from keyheat.load.run.plan import LoadPlan, run_folder
from keyheat.load.run.preflight import allowed_by
from keyheat.load.run.progress import RunProgress
from keyheat.load.tables.existing import noted
from keyheat.load.tables.insights import ThrottledKeys
from keyheat.load.tables.lifecycle import RunTables
from keyheat.load.transport.endpoint_pages import NotTold, faults_of, partitions_of, scale_at
from keyheat.load.transport.target import Target, target_at
from keyheat.runfiles import time_of
from keyheat.runs import parquet
from keyheat.runs.claims import Claim
from keyheat.runs.folder import RunFolder, versions
from keyheat.runs.signs import Signs
from keyheat.runs.table_facts import table_facts
from keyheat.scenario.scenario import Scenario


def manifest_of(
    plan: LoadPlan,
    target: Target,
    described: dict[str, Any],
    *,
    run_id: str,
    started_s: float,
    processes: int,
    users: int,
) -> dict[str, Any]:
    """What was asked, of which table, with which versions; `described` is DescribeTable's answer."""
    scenario, scale = plan.scenario, scale_at(target)
    return {
        "run_id": run_id,
        "scenario": scenario.model_dump(mode="json"),
        "scenario_path": plan.scenario_shown,
        "seed": scenario.seed,
        "target": target.url if scale is None else "local",
        "endpoint_url": target.url,
        **({"endpoint": plan.endpoint} if plan.endpoint else {}),
        "region": target.region,
        "scale": 1.0 if scale is None else scale,
        "transport": plan.transport,
        "retries": plan.retries,
        "started_at": time_of(started_s),
        "versions": versions("keyheat", "locust", "botocore"),
        "machine": machine(),
        "table": table_facts(described).model_dump(mode="json"),
        "processes": processes,
        "users": users,
        **noted(plan),
    }


LOCAL = "local"
"""The target of a run on an endpoint of ours, as its manifest says it."""


@dataclass(slots=True)
class Testbed:
    """Of one run. `prepare` raises where it cannot be had; `leave` may be called again."""

    plan: LoadPlan
    progress: RunProgress
    run_id: str
    endpoint: EndpointProcess | None = None
    target: Target | None = None
    tables: RunTables | None = None
    throttled_keys: ThrottledKeys | None = None  # where the plan wants them named
    around: Observation | None = None  # the clock and the table's partitions, before and after
    started_s: float = 0.0
    clock: SteadyClock = field(default_factory=SteadyClock)  # every moment of the run is of this one
    _struck: Counter[str] = field(default_factory=Counter)  # by rules of faults, before it loaded
    _claim: Claim | None = None
    _folder: RunFolder | None = None
    _stages: Stages | None = None
    _leave: ExitStack = field(default_factory=ExitStack)

    def prepare(self, *, processes: int, users: int, lasts_s: float) -> Target:
        """Claim the folder, start the endpoint, make the tables, write the manifest, and wait for the minute.

        Gives the target. `lasts_s` is how long it means to load.
        """
        scenario = self.plan.scenario
        words = f"keyheat: preparing table {scenario.table.name}"
        self.progress.phase("preparing", words, run_id=self.run_id)
        self._claim = run_folder(self.plan, datetime.now(UTC))
        for note in self.plan.notes:
            self.progress.say(f"note: table {scenario.table.name}: {note}")
        target = self.target = self.plan.target or self._start_endpoint()
        description = self._prepare_tables(target, lasts_s)
        if self.plan.throttled_keys:
            self.throttled_keys = ThrottledKeys.look(target, description)
            self._leave.callback(self.throttled_keys.put_back, self.progress.say)
        self._begin_files(self._claim.folder, target, description, processes, users)
        self.progress.begun(Signs(self.folder.path, lasts_s or None, self.progress.say))
        self._turn_on()
        self._align(target)
        return target

    def loaded(self) -> None:
        """The load has begun: what it writes is cleaned up afterwards, where the plan says so."""
        self._leave.callback(clean_up, self.plan, self.stages, self.progress)

    def noted_at_end(self, ended_s: float) -> dict[str, Any]:
        """Members of the manifest that are known only now."""
        return self.around.noted_at_end(self.started_s, ended_s) if self.around else {}

    def see_company(self, health: Health) -> None:
        """Have the manifest say which runs were on the tables, too, and `health` what is not known of it."""
        if self.tables is None:
            return
        company = self.tables.company()
        health.missing += company.unknown
        if others := company.to_json():
            self.folder.manifest["shared_with"] = others
            who = ", ".join(f"run {one['run']} of {one['owner']}" for one in others)
            self.progress.say(f"this run was not alone: {who} loaded the same table meanwhile")

    def see_faults(self, health: Health) -> None:
        """Have `health` say which rules of faults struck meanwhile: the table did not do what they did."""
        if self.target is None or self.folder.manifest["target"] != LOCAL:
            return
        try:
            struck = faults_of(self.target) - self._struck
        except NotTold as problem:
            health.missing.append(f"whether rules of faults struck: {problem}")
            return
        if struck:
            rules = ", ".join(f"{name} {count:,} times" for name, count in struck.items())
            said = f"rules of faults struck, which labels take for the table's own doing: {rules}"
            health.missing.append(said)
            self.progress.say(said)

    def write_partitions(self, ended_s: float) -> None:
        """Write what each partition served and refused, where the endpoint is ours. Raises `FileProblem`."""
        if self.target is None or self.folder.manifest["target"] != LOCAL:
            return
        try:
            said = partitions_of(self.target, self.plan.scenario.table.name, self.started_s, ended_s)
        except NotTold as problem:
            self.progress.say(f"partitions.parquet is not written: {problem}")
            return
        parquet.write_table(self.folder.path / runfiles.FILES[runfiles.PARTITIONS], runfiles.PARTITIONS, said)

    def leave(self) -> None:
        """Leave everything as it was found, and the endpoint stopped."""
        self._leave.close()

    def forget(self) -> None:
        """Leave everything as if there had been no run: it never began."""
        self._leave.close()
        if self._folder is not None:
            self._folder.forget()
        self.over()

    def over(self) -> None:
        """Nothing more is written to the folder."""
        self.progress.over()
        if self._claim is not None:
            self._claim.release()

    @property
    def folder(self) -> RunFolder:
        """The run's folder, once it is prepared."""
        assert self._folder is not None, "it is prepared first"
        return self._folder

    @property
    def stages(self) -> Stages:
        """What follows the load, once it is prepared."""
        assert self._stages is not None, "they are prepared with the folder"
        return self._stages

    @property
    def path(self) -> Path | None:
        """Where the run's files are; None while there is no such place."""
        return self._claim.folder if self._claim is not None else None

    def left_behind(self) -> list[str]:
        """What has not been put back as it was, with the command that does it."""
        return [
            *(self.throttled_keys.left_behind() if self.throttled_keys else ()),
            *(self.tables.left_behind() if self.tables else ()),
        ]

    def _start_endpoint(self) -> Target:
        local = self.plan.scenario.local
        self.endpoint = EndpointProcess.start(
            scale=local.scale, seed=self.plan.scenario.seed, more=_durations(self.plan.scenario)
        )
        self._leave.callback(self._stop_endpoint)
        return target_at(self.endpoint.url)

    def _prepare_tables(self, target: Target, lasts_s: float) -> dict[str, Any]:
        """Make what is not there, to be left as the scenario says; describes the scenario's own table."""
        tables = self.tables = RunTables(
            target=target,
            run_id=self.run_id,
            allowed=allowed_by(self.plan, target),
            keep=self.plan.keep_table,
            lasts_s=lasts_s,
            alone=self.plan.target is None,
            say=self.progress.say,
            phase=self.progress.phase,
        )
        self._leave.callback(tables.leave)
        self._leave.callback(gevent.spawn(tables.keep_up).kill)
        description = tables.prepare(self.plan.scenario.table)
        for companion in self.plan.scenario.companions:
            tables.prepare(companion)
        return description

    def _begin_files(
        self, path: Path, target: Target, description: dict[str, Any], processes: int, users: int
    ) -> None:
        self.clock = SteadyClock()  # as it is when the service's is held against it
        self.started_s = self.clock()
        self._stages = Stages(path, quiet_stdout=self.plan.progress)
        manifest = manifest_of(
            self.plan, target, description,
            run_id=self.run_id, started_s=self.started_s, processes=processes, users=users,
        )  # fmt: skip
        if self.throttled_keys is not None:
            manifest["contributor_insights"] = self.throttled_keys.noted()
        self.around = Observation.look(
            target, description, manifest["table"], manifest["scale"], clock=self.clock, sleep=gevent.sleep
        )
        if self.around.skew and self.around.skew.said:
            self.progress.say(self.around.skew.said)
        if manifest["target"] == LOCAL:
            with suppress(NotTold):  # which is said when the run has ended
                self._struck = faults_of(target)
        self._folder = RunFolder(path, manifest | self.around.noted())
        self._folder.begin()

    def _turn_on(self) -> None:
        """Have throttled keys named, now that the manifest says what was there; the run begins after that."""
        if self.throttled_keys is not None:
            self.throttled_keys.turn_on()
            self._starts_now()

    def _align(self, target: Target) -> None:
        """Begin with a minute of CloudWatch's; not on this machine, where a wait costs more than it tells."""
        if self.plan.align and not target.local and self.around is not None:
            align(self.around.ahead_s, clock=self.clock, sleep=gevent.sleep, tell=self.progress.aligning)
            self._starts_now()

    def _starts_now(self) -> None:
        """The run begins later than its manifest said."""
        self.started_s = self.clock()
        self.folder.manifest["started_at"] = time_of(self.started_s)
        self.folder.begin()

    def _stop_endpoint(self) -> None:
        if self.endpoint is not None:
            self.endpoint.stop()
            self.endpoint = None


def _durations(scenario: Scenario) -> tuple[str, ...]:
    """The endpoint's flags for how long UpdateTable and a transaction take."""
    local = scenario.local
    stated = {"--update-s": local.update_s, "--transaction-s": local.transaction_s}
    return tuple(word for flag, value in stated.items() if value is not None for word in (flag, repr(value)))
