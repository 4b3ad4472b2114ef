"""The labels of a diagnosis as a timeline: what limited which resource, and when."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from keyheat.analysis.rules import RULES
from keyheat.numbers import NOTHING, percent, some, whole
from keyheat.pages.charts.capacity import swatch
from keyheat.pages.charts.figures import (
    Chart,
    PageTable,
    figure,
    iso,
    joined,
    lay_out,
    safe,
    shortened,
    times,
)
from keyheat.pages.sheets import Sheet
from keyheat.pages.style import colour_of, pattern
from keyheat.runs.formats import Label
from keyheat.wording.constraints import NAMES, saying
from keyheat.words import Constraint, Direction

SAID = 4
MOST_ROWS = 200  # of the table below it; a file that is saved has them all
Say = Callable[[float], str]  # a moment in words
FINEST = 600  # a gap narrower than this part of the run cannot be seen, so spans across it are drawn as one


def label_chart(
    labels: tuple[Label, ...], chart_id: str, whole: tuple[int, int] | None = None
) -> Chart | None:
    """Every label as a span of time, one row for each resource and direction.

    `whole` is when the run began and ended, epoch seconds, where that is known.
    """
    if not labels:
        return None
    owners = sorted({(label.resource != "table", label.resource, label.direction) for label in labels})
    rows = {owner[1:]: len(owners) - 1 - place for place, owner in enumerate(owners)}
    made = figure(height=64 + 52 * len(owners), barmode="overlay")
    first = min(label.start for label in labels).timestamp()
    last = max(label.end for label in labels).timestamp()
    start_s, end_s = whole or (first, last)
    start_s, end_s = min(start_s, first), max(end_s, last)
    say = saying(start_s, end_s)
    for constraint in sorted({label.constraint for label in labels}):
        made.add_trace(_spans(_drawn(labels, constraint), rows, constraint, say))
    lay_out(
        made,
        xaxis=times(start_s, end_s),
        yaxis={
            "tickvals": list(rows.values()),
            "ticktext": [_row_name(owner, labels) for owner in rows],
            "range": [-0.6, len(owners) - 0.4],
            "automargin": True,
            "ticklabelstandoff": 6,
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
        },
    )
    found = sorted({label.constraint for label in labels})
    return Chart(
        id=chart_id,
        title="Constraints over time",
        summary=_summary(labels, say),
        figure=made,
        legend=tuple(swatch(constraint) for constraint in found),
        table=_span_table(labels, say),
        sheet=_sheet(labels),
    )


def _row_name(owner: tuple[str, Direction], labels: Sequence[Label]) -> str:
    """A resource and direction, and below it how often it throttled."""
    name, direction = owner
    throttles = sum(label.throttles for label in labels if (label.resource, label.direction) == owner)
    return f"{safe(f'{name}, {direction}s', 24)}<br>{some(throttles, 'throttle') if throttles else 'none'}"


def _sheet(labels: Sequence[Label]) -> Sheet:
    """Every label, those with throttles or none, in order of time."""
    ordered = sorted(labels, key=lambda one: (one.start, one.resource, one.direction))
    return Sheet(
        name="constraints",
        columns={
            "from_utc": np.array([label.start.timestamp() for label in ordered]),
            "to_utc": np.array([label.end.timestamp() for label in ordered]),
            "resource": [label.resource for label in ordered],
            "direction": [label.direction for label in ordered],
            "constraint": [label.constraint for label in ordered],
            "throttles": np.array([label.throttles for label in ordered], np.float64),
            "confidence": np.array([label.confidence for label in ordered], np.float64),
            "rule": [label.rule or "" for label in ordered],
        },
        moments=frozenset({"from_utc", "to_utc"}),
    )


def _span_table(labels: Sequence[Label], say: Say) -> PageTable:
    """The spans with most throttles, in order of time; without any, all of them."""
    found = [label for label in labels if label.throttles] or list(labels)
    most = sorted(found, key=lambda one: -one.throttles)[:MOST_ROWS]
    rows = tuple(
        (
            say(label.start.timestamp()),
            say(label.end.timestamp()),
            shortened(label.resource, 60),
            f"{label.direction}s",
            NAMES[label.constraint],
            whole(label.throttles),
            percent(label.confidence),
        )
        for label in sorted(most, key=lambda one: (one.start, one.resource, one.direction))
    )
    columns = ("from (UTC)", "to", "resource", "direction", "constraint", "throttles", "confidence")
    caption = "Spans with throttles" if most[0].throttles else "Spans"
    return PageTable(caption=caption, columns=columns, rows=rows, numeric=frozenset((5, 6)))


def rule_table(labels: Sequence[Label]) -> PageTable | None:
    """The rules that decided the labels, what each means and when it fires; None where no label has one.

    A rule that this version does not know is listed by its id alone.
    """
    by_rule: defaultdict[str, list[int]] = defaultdict(list)
    for label in labels:
        if label.rule is not None:
            by_rule[label.rule].append(label.throttles)
    ordered = sorted(by_rule.items(), key=lambda item: -sum(item[1]))
    rows = tuple(
        (shortened(rule, 60), *_words(rule), whole(len(throttles)), whole(sum(throttles)))
        for rule, throttles in ordered
    )
    columns = ("rule", "it means", "it fires when", "labels", "throttles")
    if not rows:
        return None
    return PageTable(caption="The rules that decided", columns=columns, rows=rows, numeric=frozenset((3, 4)))


def _words(rule: str) -> tuple[str, str]:
    """What a rule means and when it fires."""
    known = RULES.get(rule)
    return (known.meaning, known.trigger.replace("`", "")) if known else (NOTHING, NOTHING)


def _drawn(labels: Sequence[Label], constraint: Constraint) -> list[Label]:
    """The labels of a constraint, joined where the gap between two is too narrow to be seen."""
    length = max(label.end for label in labels) - min(label.start for label in labels)
    joined_up: list[Label] = []
    mine = [label for label in labels if label.constraint == constraint]
    for label in sorted(mine, key=lambda one: (one.resource, one.direction, one.start)):
        last = joined_up[-1] if joined_up else None
        same = last is not None and (last.resource, last.direction) == (label.resource, label.direction)
        if last is not None and same and label.start - last.end < length / FINEST:
            joined_up[-1] = last.model_copy(
                update={
                    "end": max(last.end, label.end),
                    "throttles": last.throttles + label.throttles,
                    "confidence": min(last.confidence, label.confidence),
                }
            )
        else:
            joined_up.append(label)
    return joined_up


def _spans(
    labels: list[Label], rows: Mapping[tuple[str, Direction], int], constraint: Constraint, say: Say
) -> go.Bar:
    return go.Bar(
        orientation="h",
        base=[iso(label.start.timestamp()) for label in labels],
        x=[(label.end - label.start).total_seconds() * 1000 for label in labels],
        y=[rows[label.resource, label.direction] for label in labels],
        width=0.6,
        marker={
            "color": colour_of(constraint),
            "pattern": pattern(constraint),
        },
        customdata=[
            [NAMES[constraint], whole(label.throttles), percent(label.confidence),
             say(label.start.timestamp()), say(label.end.timestamp()), safe(label.rule or NOTHING, 60)]
            for label in labels
        ],
        hovertemplate="%{customdata[0]}<br>%{customdata[3]} to %{customdata[4]}<br>"
        "%{customdata[1]} throttles, confidence %{customdata[2]}<br>rule %{customdata[5]}<extra></extra>",
    )  # fmt: skip


def _summary(labels: tuple[Label, ...], say: Say) -> str:
    throttled = sorted((label for label in labels if label.throttles), key=lambda label: label.start)
    said = [_label_sentence(label, say) for label in throttled[:SAID]]
    if len(throttled) > SAID:
        said.append(f"{some(len(throttled) - SAID, 'more span')} with throttles.")
    return joined(said) or "No span has throttles."


def _label_sentence(label: Label, say: Say) -> str:
    times_said = f"{say(label.start.timestamp())} to {say(label.end.timestamp())}"
    what = NAMES[label.constraint].lower()
    return f"{times_said}: {label.resource} {label.direction}s, {what}, {some(label.throttles, 'throttle')}."
