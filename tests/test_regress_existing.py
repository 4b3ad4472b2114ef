"""keyheat regress --table: night after night on a table that is there, and is not as the scenario's."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import keyheat.cli.regress
from keyheat.cli.run import make_run
from keyheat.cli.simulate import How, diagnosed
from keyheat.endpoint.process import EndpointProcess
from keyheat.load.tables.control import creation
from keyheat.load.tables.existing import on_table
from keyheat.load.tables.ownership import look_at_tables
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import Target, target_at
from keyheat.runfiles import FILES, RUN
from keyheat.runs.table_facts import table_facts
from keyheat.scenario.spec.tables import TableSpec
from keyheat.simulator.jobs import Job
from tests.conftest import Said, Verb
from tests.make import a_suite

pytestmark = [pytest.mark.opens, pytest.mark.usefixtures("no_history")]

KEYS = {"partition_key": "user_id", "sort_key": "at"}
TABLES = (
    {"name": "orders", **KEYS, "provisioned": {"read": 30, "write": 60}},
    {"name": "events", **KEYS, "billing_mode": "PAY_PER_REQUEST", "provisioned": None},
)


@pytest.fixture(scope="module")
def there() -> Iterator[Target]:
    """An endpoint with two tables of somebody's."""
    with EndpointProcess.start() as process:
        target = target_at(process.url)
        with closing(make_client(target)) as client:
            for table in TABLES:
                client.create_table(**creation(TableSpec.model_validate(table)))
        yield target


@pytest.fixture
def night(verb: Verb, there: Target, monkeypatch: pytest.MonkeyPatch) -> Verb:
    """Runs the suite on a table; its load is made on a virtual clock, since this machine may be busy."""

    def run(table: str = "orders") -> Said:
        def load(job: Job, how: How, *, of_series: tuple[int, int] | None = None) -> int:
            return loaded(job, there, table)

        monkeypatch.setattr(keyheat.cli.regress, "make_run", load)
        of_table, target = f'[run]\ntable = "{table}"\n', f'target = "{there.url}"'
        suite = a_suite("nightly", "load.duration_s=3", head=target, more=of_table)
        Path("nightly.toml").write_text(suite)
        accept = () if Path("reports/history.sqlite").exists() else ("--accept",)
        return verb("regress", "nightly.toml", *accept)

    return run


def loaded(job: Job, target: Target, name: str) -> int:
    """A run whose files say what those of a load on the table say of it."""
    scenario, _bytes = on_table(job.scenario, target, name)
    code = make_run(replace(job, scenario=scenario), How(target="simulated", report=False, quiet=True))
    seen, path = look_at_tables(target, [name])[name], job.folder / FILES[RUN]
    facts = table_facts(seen.description).model_dump(mode="json")
    noted = {"existing": True, "target": target.url, "scenario": scenario.model_dump(mode="json")}
    noted["table"] = facts
    path.write_text(json.dumps(json.loads(path.read_text()) | noted))
    diagnosed(job.folder)
    return code


def test_a_night_without_a_change_is_compared_and_another_table_is_not(night: Verb) -> None:
    assert night().says("nightly has a new baseline: 2 valid runs.")
    second = night()
    assert (second.code, second.err.count("was measured on another setup")) == (0, 0)
    assert second.says("nightly is as good as it was: all 2 gates held.")
    nowhere = night("nowhere")
    assert nowhere.code == 2
    assert "there is no table nowhere at" in nowhere.err, "before anything is sent"
    another = night("events")
    assert another.code == 3
    assert another.says("table.name orders events")
