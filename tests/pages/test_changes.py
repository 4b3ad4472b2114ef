"""Changes of capacity in a report: a line in the charts they concern, and a sentence each."""

from typing import Any

import pytest

from keyheat.analysis.report.rates import by_second
from keyheat.analysis.report.run import ReportRun, load_run
from keyheat.analysis.report.seconds import read_record
from keyheat.pages.charts.capacity import marked, said_of, second_chart
from keyheat.pages.charts.figures import Chart
from keyheat.runs.manifest import CapacityChange
from keyheat.words import Resource

TABLE, READS, INDEX = Resource(None, "write"), Resource(None, "read"), Resource("by-day", "write")


def change(**fields: Any) -> dict[str, Any]:
    return {"at_s": 5.0, "by": "timeline", "what": "provisioned.write", "from": 400, "to": 1_286, **fields}


@pytest.fixture
def with_changes(samples: Any) -> Any:
    """The made-up run of a hot key, with changes of capacity that were made to it."""

    def make(*changes: dict[str, Any]) -> ReportRun:
        run = load_run(samples["hotkey"])
        assert run.manifest is not None
        timeline = tuple(CapacityChange.model_validate(one) for one in changes)
        return ReportRun(
            **{
                **{name: getattr(run, name) for name in ReportRun.__dataclass_fields__},
                "manifest": run.manifest.model_copy(update={"timeline": timeline}),
            }
        )

    return make


def chart_of(run: ReportRun) -> Chart:
    seconds = by_second(run, read_record(run), TABLE)
    assert seconds is not None
    return second_chart(seconds, "chart", ceiling_per_s=None)


def lines(chart: Chart) -> list[Any]:
    return [shape.x0 for shape in chart.figure.layout.shapes if shape.x0 == shape.x1]


def test_a_change_is_a_line_from_when_it_held(with_changes: Any) -> None:
    run = with_changes(
        change(in_force_s=8.5), change(in_force_s=None), change(index="by-day", in_force_s=9.0)
    )
    chart = chart_of(run)
    assert lines(chart) == []
    (at,) = lines(marked(chart, run, TABLE))
    start = run.manifest.started_at
    assert at.endswith(f"{start.minute:02d}:{start.second + 8:02d}.500")
    assert marked(chart, run, TABLE).legend[-1].name == "capacity changed"
    assert len(lines(marked(chart, run, INDEX))) == 1
    assert marked(chart, run, READS) is chart


def test_a_mode_concerns_every_chart(with_changes: Any) -> None:
    mode = change(what="billing_mode", to="PAY_PER_REQUEST", in_force_s=9.0, **{"from": "PROVISIONED"})
    run = with_changes(mode)
    assert [len(lines(marked(chart_of(run), run, one))) for one in (TABLE, READS, INDEX)] == [1, 1, 1]
    (said,) = said_of(run)
    assert said.endswith(
        "asks for PAY_PER_REQUEST mode of the table instead of PROVISIONED; in force at 12:00:09."
    )


def test_every_change_is_said(with_changes: Any) -> None:
    said = said_of(
        with_changes(
            change(by="auto scaling", because="81 % and 90 %", in_force_s=8.0),
            change(index="by-day", what="warm.read", to=9_000, **{"from": None}),
            change(refused="4 decreases today"),
        )
    )
    assert [one.partition(" UTC: ")[2] for one in said] == [
        "auto scaling asks for 1,286 WCU/s provisioned for the table instead of 400 (81 % and 90 %); "
        "in force at 12:00:08.",
        "the timeline asks for 9,000 RCU/s of warm throughput for index by-day; not in force by the end of "
        "the run.",
        "the timeline asks for 1,286 WCU/s provisioned for the table instead of 400; refused: 4 decreases "
        "today.",
    ]


def test_a_run_without_changes_says_nothing(with_changes: Any) -> None:
    assert said_of(with_changes()) == []
