"""How right the labels are, as a Markdown page: the scores, how they are counted, and on what."""

from collections.abc import Iterator, Sequence
from typing import Final

from tools.accuracy.draw import CHANCE_ROWS, SITUATION_ROWS, SIZES
from tools.accuracy.score import LEFT
from tools.accuracy.tally import ANSWERS, CONSTRAINTS, NOTHING, SURE, GradeScore, Share, goal_of
from tools.accuracy.worlds import WORLDS, WorldsName, worlds_of

PLACES: Final = ("table read", "table write", "index read", "index write")
INTRODUCTION: Final = """# Know how often labels are right

Random tables are simulated with random loads, and the labels are held against what the model of the table
really decided, span by span. Then the best evidence is hidden, grade after grade, as it would be lacking in
real life. The truth here is the truth of Keyheat's model; how far that is DynamoDB's is what
[local-table.md](local-table.md) is about.
"""
COUNTING: Final = """## How it is counted

- **True span**: throttled seconds of one resource in one direction with at most 60 s between them, cut
  where another constraint causes most of the throttles in the minute around each second.
- **Answer**: each true span gets the constraint of the labels that lie over most of its throttles. Where
  labels overlap, a second's throttles are divided among them in proportion to what they count there: a
  label's throttles lie where throttles of its own constraint were. Where most of a span lies under no
  label, it is `missed`.
- **Right**: the answer is the constraint that it was. `undetermined` and `missed` are not right. A label
  where nothing throttled is a **false alarm**, and counts as one more span that is not right. (The account's
  quota is one of a table with its indexes, so it may be said of the table where an index refused for it.)
- **Decided**: the answer is any of the four constraints.
- **Sprinkles** (at most 50 throttles that are at most 0.1 % of the attempts of their resource and
  direction) are counted apart: none of them should be put down to a constraint that it was not.
- Time that the evidence lacks on purpose (minutes that CloudWatch lost, or before the window) is not
  counted.
- **Calibration** is by label: one is right where at least half of the throttles that it counts had its
  constraint. The calibration error is by how much the stated confidence is off, in the mean over all labels
  ([equation 3](https://arxiv.org/abs/1706.04599)). Intervals hold the true share with 95 % (Wilson's
  score).
- **Precision** of a constraint: of the spans answered with it (false alarms too), those that were it.
  **Recall**: of the spans that were it, those answered so.
"""


WIDE_WORDS: Final = """### What is wide, and why

Rules that are written beside a model are right of that model. So in the wide worlds what nobody can know of a
table is drawn. It is no worst case; it is what tables and their loads are like on most days:

- **Burst** is granted whole in 45 % of the tables, for a part of the 300 s in 20 %, hardly (a second's
  worth) in 20 %, and late, with an empty or half-empty bucket at first, in 15 %. AWS says *best effort* and
  gives no number; tables that others loaded just before, or that were just changed, have none. In half of
  the tables what was saved is lost when the capacity is changed.
- **Loads** come in spikes of 1 to 20 s every 10 to 90 s (22 %), as jobs of 5 s to 5 min every one, five or
  ten minutes (13 %), or second by second with a long tail (15 %); the rest as in the nominal world. Cron
  jobs, batches and retries make a minute's average say little.
- **Capacity**: half of the tables have 5 to 1,000 units/s, as most tables do.
- **Others** write or read the same table in three of ten, and the client's record does not hold theirs.
- **Counters**: in a quarter CloudWatch counts 1.5 to 10 events for each throttle that the client knows of,
  since an SDK tries again beneath it; in 15 % fewer, since batches are counted by request. In three of ten,
  up to 8 s of a minute are counted in the next. The warm throughput, which tells of partitions, is known of
  every second table.
- **Small tables** are served in chunks in half of the scenarios, and as one bucket in the others; one
  partition serves 1.0 to 2.0 s of its ceiling at once; an index has its buffer of 16,900 units, or none.
- **Hot spikes**, one key of a small table asked for more than a partition gives, in seconds, are 5 of 100.
"""


def markdown(
    scores: Sequence[GradeScore], missed: Sequence[str], *, seed: int, count: int, worlds: WorldsName
) -> str:
    """The whole page."""
    parts = [
        INTRODUCTION,
        f"```sh\npython -m tools.accuracy --worlds {worlds} --seed {seed} --scenarios {count} "
        "--write docs/accuracy.md\n```\n",
        "That wrote this page. `--only N` explains scenario N: what it is, what really throttled, and the "
        "labels with their reasons.\n",
        f"Worlds: **{worlds}**, {worlds_of(worlds).what}.\n",
        "## Scores\n",
        _scores(scores, worlds),
        _goals(missed),
        f"Labels with a confidence of {SURE:g} and more that are right, by constraint:\n",
        _sure(scores),
        COUNTING,
        *(part for score in scores for part in _grade(score)),
        _distribution(),
    ]
    return "\n".join(parts)


def _scores(scores: Sequence[GradeScore], worlds: WorldsName) -> str:
    header = ("best evidence left", "spans", "right", "decided", "right of decided",
              f"of {SURE:g} and more, right", "false alarms", "sprinkles not wrong",
              "calibration error")  # fmt: skip
    rows = [
        (
            LEFT[score.best],
            f"{score.decided.whole:,}",
            *(_with_goal(score, of, worlds) for of in ("right", "decided", "of_decided", "sure")),
            f"{score.false_alarms:,}",
            _of(score.sprinkles),
            f"{score.calibration_error:.3f}",
        )
        for score in scores
    ]
    return _table(header, rows)


def _sure(scores: Sequence[GradeScore]) -> str:
    """Of each constraint, in each grade and in all of them together."""
    rows = [(LEFT[one.best], *(_of(one.sure_by_constraint[name]) for name in CONSTRAINTS)) for one in scores]
    together = [[one.sure_by_constraint[name] for one in scores] for name in CONSTRAINTS]
    summed = (Share(sum(s.part for s in found), sum(s.whole for s in found)) for found in together)
    rows.append(("all of them", *(_of(share) for share in summed)))
    return _table(("best evidence left", *(f"`{name}`" for name in CONSTRAINTS)), rows)


def _with_goal(score: GradeScore, of: str, worlds: WorldsName) -> str:
    goal = goal_of(score, of, worlds)
    share: Share = getattr(score, of)
    return share.said if goal is None else f"**{share.said}** (goal {goal.at_least * 100:g} %)"


def _goals(missed: Sequence[str]) -> str:
    if not missed:
        return "Every goal is reached.\n"
    return "Goals that are missed:\n\n" + "".join(f"- {goal}\n" for goal in missed)


def _grade(score: GradeScore) -> Iterator[str]:
    yield f"## With {LEFT[score.best]}\n"
    used = [answer for answer in ANSWERS if any(a == answer for _, a in score.confusion)]
    rows = [
        (f"`{truth}`", *(_count(score.confusion.get((truth, answer), 0)) for answer in used))
        for truth in (*CONSTRAINTS, NOTHING)
        if any(t == truth for t, _ in score.confusion)
    ]
    yield "What it was (rows) and what the labels say (columns), in spans:\n"
    yield _table(("", *(f"`{answer}`" for answer in used)), rows)
    yield "Right of those, by resource and direction:\n"
    yield _table(("", *(f"`{name}`" for name in CONSTRAINTS)), [_placed(score, where) for where in PLACES])
    named = [(f"`{one.name}`", _of(one.precision), _of(one.recall)) for one in score.named]
    yield _table(("constraint", "precision", "recall"), named)
    bins = [
        (
            f"{one.low:.2f} to {one.high:.2f}",
            f"{one.right.whole:,}",
            f"{one.stated:.3f}",
            *_measured(one.right),
        )
        for one in score.bins
    ]
    yield _table(("confidence", "labels", "stated, in the mean", "right", "interval"), bins)
    rules = [
        (f"`{one.rule}`", f"{one.right.whole:,}", f"{one.stated:.3f}", *_measured(one.right))
        for one in score.rules
    ]
    yield _table(("rule", "labels", "stated, in the mean", "right", "interval"), rules)
    if score.worst:
        worst = ", ".join(f"{number} ({bad})" for number, bad in score.worst[:20])
        yield f"Scenarios with most spans that are not right, and how many: {worst}.\n"


def _placed(score: GradeScore, where: str) -> tuple[str, ...]:
    shares = [score.placed.get((where, name)) for name in CONSTRAINTS]
    return (f"{where}s", *("" if share is None else f"{share.part:,} of {share.whole:,}" for share in shares))


def _distribution() -> str:
    names = [one.name for one in WORLDS]
    situations = [(name, f"{wide} %", f"{nominal} %", what) for name, wide, nominal, what in SITUATION_ROWS]
    chances = [(what, f"{wide * 100:g} %", f"{nominal * 100:g} %") for what, wide, nominal in CHANCE_ROWS]
    return "\n".join(
        (
            "## What the random scenarios are\n",
            "A situation sets the stage; what throttles, and whether anything does, the model decides.\n",
            _table(("situation", *names, "what it is"), situations),
            f"{SIZES}\n",
            _table(("beside that", *names), chances),
            WIDE_WORDS,
        )
    )


def _of(share: Share) -> str:
    return "–" if share.value is None else f"{share.said} of {share.whole:,}"


def _measured(share: Share) -> tuple[str, str]:
    low, high = share.interval
    return share.said, f"{low * 100:.1f} to {high * 100:.1f} %"


def _count(spans: int) -> str:
    return f"{spans:,}" if spans else ""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
