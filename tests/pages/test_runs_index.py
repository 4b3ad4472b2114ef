"""The index of runs: what is found, what is told of it, which runs are compared, and how small it stays."""

import json
import os
from dataclasses import replace
from platform import node
from time import time

import psutil
import pytest

from keyheat.pages.runs.found import FoundRun, RunSearch, UnreadPlace
from keyheat.pages.runs.index import Recall, Runs, content_of, render_runs, write_runs
from keyheat.pages.runs.rows import HistoryRun, SuitePlace, rows_of
from keyheat.pages.runs.trends import MOST, trends_of
from keyheat.regression.history.store import History
from keyheat.regression.outcome import Gate, GateFinding
from keyheat.runs.folder import Underway, write_underway
from keyheat.scenario.scenario import SCENARIOS, load_scenario
from keyheat.words import INVALID
from tests.made_runs import FIRST, started, summary, written


def signs(**more):
    own = psutil.Process()
    here = {"host": node(), "pid": own.pid, "born_s": own.create_time()}
    return Underway(**{"at_s": 1_000.0, "phase": "loading", "elapsed_s": 5.0, **here, **more})


def found(folder, now_s=1_001.0):
    runs, problems = RunSearch().look([folder], now_s)
    return {run.folder.name: run for run in runs}, problems


def made(summaries, folder):
    """Rows of runs that are in a folder, without the folder."""
    return rows_of(
        FoundRun(folder=folder / str(number), state="done", summary=one, report=True)
        for number, one in enumerate(summaries)
    )


def content(rows, problems=()):
    return content_of(rows, trends_of(rows), problems, place=lambda row: "here", link=lambda row: None)


# ---- what is found


def test_runs_are_found_however_they_are_nested_and_nothing_below_one(tmp_path):
    written(tmp_path / "one", summary())
    written(tmp_path / "suite" / "case" / "two", summary())
    written(tmp_path / "one" / "inner", summary())
    written(tmp_path / ".hidden" / "three", summary())
    (tmp_path / "again").symlink_to(tmp_path)
    runs, problems = found(tmp_path)
    assert (set(runs), problems) == ({"one", "two"}, [])
    assert runs["one"].table == "table-of-hotkey"


def test_a_tree_that_is_too_deep_is_said(tmp_path):
    written(tmp_path.joinpath(*"abcdefgh") / "run", summary())
    runs, problems = found(tmp_path)
    assert runs == {}
    assert [problem.why for problem in problems] == ["is not searched: it is 6 folders down"]


def test_what_cannot_be_read_is_told_and_ends_nothing(tmp_path):
    written(tmp_path / "good", summary())
    damaged = started(tmp_path / "damaged", "x")
    (damaged / "run.json").write_text("{")
    unsaid = tmp_path / "no-manifest"
    unsaid.mkdir()
    (unsaid / "diagnosis.json").write_text("{}")
    runs, problems = found(tmp_path)
    assert set(runs) == {"good"}
    assert {problem.place.name for problem in problems} == {"damaged", "no-manifest"}
    assert "not whole JSON" in next(one.why for one in problems if one.place == damaged)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_is_closed_is_told(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    assert "cannot be read" in found(tmp_path)[1][0].why


def test_a_file_that_is_gone_or_a_link_to_nowhere_hides_no_run(tmp_path):
    folder = written(tmp_path / "run", summary(), report=False)
    (folder / "report.html").symlink_to(tmp_path / "nowhere.html")
    runs, problems = found(tmp_path)
    assert (set(runs), problems, runs["run"].report) == ({"run"}, [], False)


def test_a_folder_that_is_not_there_yet_is_empty(tmp_path):
    assert found(tmp_path / "later") == ({}, [])


@pytest.mark.parametrize(
    ("status", "alive", "state"),
    [
        ("running", signs(), "under way"),
        ("finished", signs(phase="collecting"), "under way"),
        ("running", None, "never ended"),
        ("running", signs(pid=2**22 + 1), "never ended"),
        ("running", signs(born_s=1.0), "never ended"),  # its number is another process's by now
        ("running", signs(host="elsewhere"), "under way"),
        ("running", signs(host="elsewhere", at_s=900.0), "never ended"),
        ("interrupted", None, "not analyzed"),
    ],
)
def test_how_far_a_run_has_come(tmp_path, status, alive, state):
    folder = started(tmp_path / "run", "hotkey", status=status)
    if alive is not None:
        write_underway(folder, alive)
    (run,) = found(tmp_path)[0].values()
    assert run.state == state
    (row,) = rows_of([run])
    assert (row.scenario, row.table, row.tone) == ("hotkey", "table-of-hotkey", "idle")


def test_only_what_has_changed_is_read_again(tmp_path):
    for name in ("one", "two"):
        written(tmp_path / name, summary(name))
    read = []
    search = RunSearch(lambda places: read.extend(places) or places)
    search.look([tmp_path], 0.0)
    first = search.look([tmp_path], 0.0)[0]
    assert len(read) == 2
    written(tmp_path / "two", summary("another"))
    again = search.look([tmp_path], 0.0)[0]
    assert (again[0] is first[0], again[1].summary.scenario) == (True, "another")
    assert len(read) == 3


# ---- rows and the history


def remembered(one, place=0, **more):
    at = {"suite": "nightly", "case": one.scenario, "session": "1", "repetition": place}
    where = SuitePlace(**{**at, **more})
    return HistoryRun(summary=one, url=f"s3://runs/{place}", place=where)


def test_a_run_that_the_history_knows_too_is_there_once(tmp_path):
    folder = written(tmp_path / "a b", summary())
    known = replace(remembered(summary()), url=folder.as_uri())
    (row,) = rows_of(found(tmp_path)[0].values(), [known])
    assert (row.folder, row.place.suite, row.report) == (folder, "nightly", True)
    both = rows_of(found(tmp_path)[0].values(), [remembered(summary(hours=2))])
    assert [(row.folder, row.url) for row in both] == [(None, "s3://runs/0"), (folder, None)]


def test_simulated_runs_stand_in_the_order_in_which_they_were_made(tmp_path):
    """Their own clock begins at the same moment each time."""
    for number, name in enumerate(("second", "first", "third")):
        folder = written(tmp_path / name, summary(target="simulated", accepted=1_000 + number))
        made_s = {"first": 1e9, "second": 2e9, "third": 3e9}[name]
        os.utime(folder / "run.json", (made_s, made_s))
    known = [
        replace(remembered(summary(target="simulated"), place=place), at_s=at_s)
        for place, at_s in enumerate((2.5e9, 0.5e9))
    ]
    found_ones = rows_of(found(tmp_path)[0].values(), known)
    assert [row.started_s for row in found_ones] == [3e9, 2.5e9, 2e9, 1e9, 0.5e9]
    drawn = {trend.suite: trend.rows for trend in trends_of(found_ones)}
    assert [row.folder.name for row in drawn[""]] == ["first", "second", "third"]
    assert [row.started_s for row in drawn["nightly"]] == [0.5e9, 2.5e9]


def history_of(path, verdicts):
    with History.open(path, lambda: FIRST) as history:
        for number, verdict in enumerate(verdicts):
            session = history.begin("nightly", "digest")
            for repetition in (0, 1):
                one = summary(hours=10 * number + repetition, accepted=1_000 - 100 * number)
                url = f"file:///gone/{number}/{repetition}"
                history.add(session, case="hotkey", repetition=repetition, summary=one, folder_url=url)
            gate = Gate(measure="accepted_units_per_s.write")
            worse = GateFinding(
                case="hotkey", gate=gate, decision="worse", before=1_000.0, after=800.0, because="less"
            )
            history.end(session, verdict=verdict, findings=(worse,) if verdict == "regressed" else ())


def test_the_history_says_what_is_baseline_and_what_became_worse(tmp_path):
    path = tmp_path / "history.sqlite"
    history_of(path, ["good", "good", "regressed"])
    recall = Recall(path, lambda: FIRST)
    memory = recall.look()
    (trend,) = trends_of(rows_of([], memory[0]))
    series = {one.measure.name: one for one in trend.series}
    accepted = series["accepted_units_per_s.write"]
    assert (accepted.baseline, accepted.worse) == (900.0, (4, 5))
    assert series["p99_ms"].worse == ()
    assert trend.worse
    assert recall.look() is memory
    history_of(path, ["good"])
    assert len(recall.look()[0]) == 8


def test_a_history_that_cannot_be_read_is_told(tmp_path):
    path = tmp_path / "history.sqlite"
    path.write_bytes(b"no database" * 100)
    (runs, (problem,)) = Recall(path, lambda: FIRST).look()
    assert (runs, problem.place) == ((), path)
    assert Recall(tmp_path / "none", lambda: FIRST).look() == ((), ())
    assert not (tmp_path / "none").exists()


# ---- trends


def test_what_was_measured_elsewhere_is_another_picture_with_another_title(tmp_path):
    trends = trends_of(
        made(
            [
                *(summary(hours=hour) for hour in range(3)),
                *(summary(hours=hour, machine="another") for hour in range(3, 5)),
                summary(hours=5, target="aws"),
                *(summary("sharded", hours=hour, valid=False) for hour in range(6, 9)),
            ],
            tmp_path,
        )
    )
    assert [(trend.scenario, trend.target, len(trend.rows)) for trend in trends] == [
        ("hotkey", "local table", 2),
        ("hotkey", "local table", 3),
    ]
    assert [trend.says for trend in trends] == ["machine ther", "machine aaaa"]
    assert [trend.says for trend in trends_of(made([summary(), summary(hours=1)], tmp_path))] == [""]


def with_write_units(one, units):
    table = {"provisioned.write": units}
    return one.model_copy(update={"setup": one.setup.model_copy(update={"table": table})})


def test_a_picture_holds_several_setups_and_marks_where_one_was_changed(tmp_path):
    units = [2_600, 2_600, 1_300, 1_300, 2_600]
    (trend,) = trends_of(
        made([with_write_units(summary(hours=hour), one) for hour, one in enumerate(units)], tmp_path)
    )
    assert [(one.at, one.says) for one in trend.setups] == [
        (2, ("provisioned writes 2,600 → 1,300",)),
        (4, ("provisioned writes 1,300 → 2,600",)),
    ]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("share", 0.7, ("keys.share 0.9 → 0.7",)),
        ("requests_per_s", 240, ()),  # traffic of another night
        ("requests_per_s", 400, ("load.requests_per_s 250 → 400",)),
    ],
)
def test_what_was_changed_of_a_scenario_is_said_field_by_field_but_for_a_slight_load(
    tmp_path, field, value, said
):
    first = load_scenario(SCENARIOS / "hotkey.toml").model_dump(mode="json")
    last = {
        **first,
        **{part: {**first[part], field: value} for part in ("keys", "load") if field in first[part]},
    }
    for hour, raw in enumerate((first, last)):
        one = summary(hours=hour)
        setup = one.setup.model_copy(update={"scenario": str(hour)})
        folder = written(tmp_path / str(hour), one.model_copy(update={"setup": setup, "run_id": str(hour)}))
        manifest = json.loads((folder / "run.json").read_text())
        (folder / "run.json").write_text(json.dumps({**manifest, "run_id": str(hour), "scenario": raw}))
    (trend,) = trends_of(rows_of(found(tmp_path)[0].values()))
    assert [one.says for one in trend.setups] == ([said] if said else [])


def test_a_scenario_whose_files_are_gone_is_said_to_be_another(tmp_path):
    runs = [
        one.model_copy(update={"setup": one.setup.model_copy(update={"scenario": str(hour)})})
        for hour, one in enumerate((summary(), summary(hours=1)))
    ]
    (trend,) = trends_of(made(runs, tmp_path))
    assert [one.says for one in trend.setups] == [("another scenario",)]


def test_what_a_gate_found_worse_is_drawn_and_a_baseline_that_was_run_again_is_not(tmp_path):
    def known(hour, **more):
        one = summary(hours=hour)
        counted = one.model_copy(update={"measures": {**one.measures, "write_amplification": 1.0}})
        return remembered(counted, place=hour, **more)

    memory = [known(0), known(1, worse=("write_amplification",)), known(2, side="baseline")]
    (trend,) = trends_of(rows_of([], memory))
    series = {one.measure.name: one.worse for one in trend.series}
    assert (len(trend.rows), series["write_amplification"]) == (2, (1,))


# ---- how it stands now


def sessions(suite, verdicts, *, case="hotkey", first=0, **more):
    """A run of a case for each session; in one that regressed, a gate found more throttles."""
    return [
        remembered(
            summary(case, hours=first + night),
            suite=suite,
            session=f"{first + night}",
            verdict=verdict,
            judged=verdict not in ("baseline", "unaccepted"),
            worse=("throttle_share",) if verdict == "regressed" else (),
            **more,
        )
        for night, verdict in enumerate(verdicts)
    ]


def sentence(known):
    return content(rows_of([], known))["sentence"].split(": ", 1)[1]


def test_cases_of_two_suites_are_two_pictures_with_a_baseline_each(tmp_path):
    first = [replace(one, place=replace(one.place, baseline=True)) for one in sessions("one", ["good"] * 2)]
    other = [
        HistoryRun(summary=summary(hours=9 + n, accepted=400.0), url=None, place=one.place)
        for n, one in enumerate(sessions("two", ["good"] * 2, baseline=True))
    ]
    trends = trends_of(rows_of([], [*first, *other]))
    assert [(trend.suite, trend.name, trend.says) for trend in trends] == [
        ("two", "hotkey", ""),
        ("one", "hotkey", ""),
    ]
    assert [trend.series[0].baseline for trend in trends] == [400.0, 1_000.0]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (sessions("live", ["good", "regressed"]), "hotkey of live regressed."),
        (
            sessions("live", ["good", "regressed", "good"]),
            "nothing is worse now. Worse before, and not now: hotkey of live.",
        ),
        (
            [
                *sessions("live", ["good", "regressed"], first=10),
                *sessions("day", ["regressed", "good"]),
            ],
            "hotkey of live regressed. Worse before, and not now: hotkey of day.",
        ),
        (sessions("live", ["good", "regressed", "interrupted"]), "hotkey of live regressed."),
        (sessions("live", ["good", "good", "invalid"]), "the newest session of live is not valid."),
        (sessions("live", ["unaccepted"]), "the newest session of live is to be looked at."),
        (sessions("live", ["regressed", "baseline"]), "nothing is worse now. Worse before, and not now: "
         "hotkey of live."),
        (
            [*sessions("live", ["good", "regressed"]), *sessions("live", ["good"], case="new", first=9)],
            "nothing is worse now.",  # the case that had failed has left the suite
        ),
    ],
)  # fmt: skip
def test_the_headline_says_how_it_stands_by_the_newest_session_of_each_case(known, said):
    assert sentence(known) == said


def test_a_session_whose_runs_are_not_valid_has_a_mark_and_no_point():
    nights = sessions("live", ["good", "good", "invalid"])
    nights[2] = replace(nights[2], summary=nights[2].summary.model_copy(update={"valid": False}))
    (trend,) = trends_of(rows_of([], nights))
    assert (len(trend.rows), [one.mark for one in trend.sessions]) == (2, ["held", "held", "invalid"])
    assert (trend.stands, trend.worse) == ("invalid", False)


def nightly(shares, verdicts=()):
    known = sessions("s", ["good"] * len(shares))
    return [
        replace(
            one,
            summary=summary(hours=hour, share=share),
            place=replace(one.place, verdict=dict(verdicts).get(hour, "good")),
        )
        for hour, (one, share) in enumerate(zip(known, shares, strict=True))
    ]


def test_a_change_for_the_worse_that_has_passed_is_no_news():
    lasting, passed = [0.0] * 12 + [0.2] * 12, [0.0] * 12 + [0.2] * 9 + [0.0] * 2
    assert sentence(nightly(lasting)) == "hotkey of s became worse."
    (trend,) = trends_of(rows_of([], nightly(passed)))
    (share,) = [one for one in trend.series if one.changes]
    assert (share.is_worse(share.changes[-1]), share.lasts(share.changes[-1])) == (True, False)
    assert sentence(nightly(passed)) == "nothing is worse now. Worse before, and not now: hotkey of s."


def test_a_change_that_somebody_made_the_baseline_is_no_news():
    anew = nightly([0.0] * 12 + [0.2] * 12, {12: "baseline"}.items())
    assert sentence(anew) == "nothing is worse now. Worse before, and not now: hotkey of s."


def test_a_mean_that_says_what_the_exact_number_says_is_not_drawn_beside_it():
    def known(night, exact, mean):
        (one,) = sessions("s", ["regressed"], first=night)
        names = ("units_per_operation.write", "mean_units_per_operation.write")
        both = {name: value for name, value in zip(names, (exact, mean), strict=True) if value is not None}
        measured = {**one.summary.measures, **both}
        return replace(
            one,
            summary=one.summary.model_copy(update={"measures": measured}),
            place=replace(one.place, worse=names),
        )

    def titles(*nights):
        (trend,) = content(rows_of([], nights))["trends"]
        return [series["title"] for series in trend["series"] if "units_per_operation" in series["measure"]]

    assert titles(known(0, 1.0, 1.0), known(1, 2.0, 2.0)) == ["WCU per write"]
    assert titles(known(0, 1.0, 1.0), known(1, None, 2.1)) == ["WCU per write", "WCU per write, mean"]


# ---- change points


def levels(before, after, at=12):
    return [before if hour < at else after for hour in range(24)]


@pytest.mark.parametrize(
    ("field", "before", "after", "worse"),
    [
        ("accepted", 1_000.0, 850.0, True),
        ("accepted", 850.0, 1_000.0, False),
        ("share", 0.1, 0.2, True),
        ("p99_ms", 9.0, 5.0, False),
    ],
)
def test_a_change_is_marked_where_it_happened(tmp_path, field, before, after, worse):
    made_runs = [
        summary(hours=hour, **{field: value * (1 + hour % 3 / 500)})
        for hour, value in enumerate(levels(before, after))
    ]
    (trend,) = trends_of(made(made_runs, tmp_path))
    (series,) = [one for one in trend.series if one.changes]
    (change,) = series.changes
    assert (change.at, series.is_worse(change), trend.worse) == (12, worse, worse)
    assert change.after == pytest.approx(after, rel=0.01)


def test_the_runs_of_one_session_are_no_level_of_their_own(tmp_path):
    """Five alike, and the load of the next night is another."""
    nights = [1_000, 1_060, 950, 1_040, 970, 1_030, 960, 1_050]
    memory = [
        HistoryRun(
            summary=summary(hours=24 * night + repetition, accepted=accepted + repetition),
            url=None,
            place=SuitePlace(suite="s", case="hotkey", session=str(night), repetition=repetition),
        )
        for night, accepted in enumerate(nights)
        for repetition in range(5)
    ]
    assert all(not one.changes for one in trends_of(rows_of((), memory))[0].series)


def test_a_change_below_what_anybody_cares_for_is_none(tmp_path):
    shares = [summary(hours=hour, share=value) for hour, value in enumerate(levels(0.0001, 0.0015))]
    assert all(not one.changes for one in trends_of(made(shares, tmp_path))[0].series)


def test_a_measure_that_some_runs_lack_is_a_gap(tmp_path):
    half = [summary(hours=hour, p99_ms=None if hour < 2 else 9.0) for hour in range(20)]
    (trend,) = trends_of(made(half, tmp_path))
    series = {one.measure.name: one for one in trend.series}
    assert series["p99_ms"].values[:3] == (None, None, 9.0)
    assert "accepted_units_per_s.read" not in series


def test_a_trend_goes_over_the_newest(tmp_path):
    (trend,) = trends_of(made([summary(hours=hour) for hour in range(MOST + 5)], tmp_path))
    assert (len(trend.rows), trend.left_out) == (MOST, 5)
    assert trend.rows[-1].started_s > trend.rows[0].started_s


# ---- the page


def test_the_sentence_says_what_became_worse(tmp_path):
    worse = [summary("b", hours=hour, accepted=value) for hour, value in enumerate(levels(1_000.0, 700.0))]
    same = [summary("a", hours=hour) for hour in range(3)]
    assert content(made(worse + same, tmp_path))["sentence"] == "27 runs of 2 scenarios: b became worse."
    assert content(made(same, tmp_path))["sentence"] == "3 runs of 1 scenario: nothing became worse."
    assert content(made(same[:1], tmp_path))["sentence"] == "1 run of 1 scenario."
    assert content(())["sentence"] == "No run yet."


def test_the_sentence_is_not_calm_where_the_newest_runs_are_not(tmp_path):
    calm = [summary("a", hours=hour, constraint="none", share=0.0) for hour in range(3)]
    useless = [summary("b", hours=hour, valid=hour > 9) for hour in (10, 11, 12, 1, 2, 3)]
    now_useless = [summary("b", hours=hour, valid=hour < 9) for hour in (10, 11, 12, 1, 2, 3)]
    used = {"capacity_used": 1.25}
    burst = [one.model_copy(update={"measures": {**one.measures, **used}}) for one in calm]
    said = [content(made(rows, tmp_path))["sentence"] for rows in (calm + useless, calm + now_useless, burst)]
    assert said == [
        "9 runs of 2 scenarios: nothing became worse.",
        "9 runs of 2 scenarios: the newest run of b is not valid.",
        "3 runs of 1 scenario: the newest run of a lives on saved burst.",
    ]
    assert {(row.verdict, row.tone) for row in made(calm, tmp_path)} == {("No throttles", "none")}
    assert {(row.verdict, row.tone) for row in made(burst, tmp_path)} == {("On saved burst", "burst")}


def test_two_thousand_runs_are_half_a_megabyte(tmp_path):
    names = [f"scenario-{number}" for number in range(12)]
    everything = made(
        [summary(names[hour % 12], hours=hour, accepted=1_000 + hour % 7 / 3) for hour in range(2_000)],
        tmp_path,
    )
    text = render_runs(content(everything), "here", FIRST)
    assert len(text) < 600_000
    assert "src=" not in text
    assert "connect-src" not in text  # it may not even ask


def test_nothing_in_a_run_becomes_markup(tmp_path):
    name = "</script><img src=x onerror=alert(1)>"
    text = render_runs(
        content(made([summary(name)], tmp_path), [UnreadPlace(place=tmp_path / name, why=name)]), name, FIRST
    )
    assert "<img" not in text
    assert text.count("</script>") == 2


def test_links_are_relative_to_the_page(tmp_path):
    folder = written(tmp_path / "runs" / "a b", summary())
    written(tmp_path / "runs" / "without", summary(hours=-1), report=False)
    runs = Runs(rows=rows_of(found(tmp_path)[0].values()), problems=(), folders=(tmp_path,))
    path = tmp_path / "pages" / "runs.html"
    write_runs(path, runs, FIRST)
    text = path.read_text()
    data = json.loads(text.split('id="content">')[1].split("</script>")[0])
    assert data["columns"]["link"] == ["../runs/a%20b/report.html", None]
    assert data["columns"]["folder"][0] == str(folder)


# ---- the verb


def test_the_verb_writes_the_page_into_the_folder(verb, tmp_path):
    written(tmp_path / "one", summary())
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "run.json").write_text("{")
    said = verb("runs", tmp_path)
    assert (said.code, said.says("1 run: ")) == (INVALID, True)
    assert "not whole JSON" in said.err
    assert (tmp_path / "runs.html").exists()
    quiet = verb("runs", tmp_path, "--quiet")
    assert (quiet.code, quiet.out) == (INVALID, "")


@pytest.mark.parametrize("name", ["[red] runs", "a[", "b [x] \\"])
def test_the_verb_says_a_path_as_it_is(verb, tmp_path, monkeypatch, name):
    """A name in brackets is no colour, and is not left out."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path / name / "one", summary())
    assert verb("runs", tmp_path / name).out == f"1 run: {name}/runs.html\n"
    closing = tmp_path / name / "[" / "red]"  # "[/red]" would end a colour that nobody began
    closing.mkdir(parents=True)
    assert verb("runs", tmp_path / name, "--out", closing / "x.html").code == 0


def test_the_verb_tells_programs(verb, tmp_path):
    written(tmp_path / "one", summary())
    started(tmp_path / "two", "sharded")
    told = json.loads(verb("runs", tmp_path, "--json").out)
    assert told["format"] == "keyheat.index/1"
    by_name = {run["scenario"]: run for run in told["runs"]}
    assert by_name["hotkey"]["summary"]["constraint"] == "partition"
    assert (by_name["sharded"]["state"], by_name["sharded"]["summary"]) == ("never ended", None)
    assert not (tmp_path / "runs.html").exists()
    both = verb("runs", tmp_path, "--json", "--out", tmp_path / "all.html")  # JSON, and nothing beside it
    assert (json.loads(both.out), (tmp_path / "all.html").exists()) == (told, True)


def test_the_verb_says_what_to_do_first(verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert verb("runs").code == 0
    assert "keyheat simulate hotkey" in (tmp_path / "reports" / "out" / "runs.html").read_text()
    said = verb("runs", "nowhere")
    assert (said.code, "no such folder: nowhere" in said.err) == (2, True)


def test_a_run_that_is_gone_the_next_moment_is_no_problem(tmp_path):
    folder = started(tmp_path / "run", "hotkey")
    write_underway(folder, signs(at_s=time()))
    search = RunSearch()
    assert search.look([tmp_path], time())[0][0].state == "under way"
    for file in folder.iterdir():
        file.unlink()
    assert search.look([tmp_path], time()) == ([], [])
