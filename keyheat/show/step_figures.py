"""The figures of a search: throttles and accepted units by number, and demand against the limits."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import plotly.graph_objects as go

from keyheat.numbers import UNITS, exact_percent, percent, rate
from keyheat.pages.charts.figures import amounts, compact, figure, heading, lay_out, level, named_rows, safe
from keyheat.show.answer import Figure
from keyheat.show.steps import Found, accepted_per_s, limits_of, number, share_words
from keyheat.show.style import LIGHT
from keyheat.terms import DEMAND
from keyheat.words import WRITES_FIRST, capital

HEIGHT: Final = 270
MOST_LIMITS: Final = 4  # of which the figure shows demand
PAIR_PX, AROUND_PX = 64, 56


def figures_of(found: Found) -> tuple[Figure, ...]:
    """The throttled share and the accepted units against the numbers that were tried."""
    return _throttled(found), _accepted(found)


def _throttled(found: Found) -> Figure:
    steps, answer = found.search.in_order, found.search.answer
    allowed = found.search.question.share_most
    made = _figure(found, "% of the attempts", [level(allowed * 100, "ink", "dash")])
    made.layout.shapes[0].name = f"allowed: {exact_percent(allowed)}"
    shares, words = [step.share * 100 for step in steps], list(map(share_words, steps))
    made.add_trace(_line(found, shares, "throttled", "throttled", words))
    worst = max(step.share for step in steps)
    said = f"At most {percent(worst)} of the attempts." if worst else "Nothing throttled."
    if answer is not None:
        said += f" {number(answer.value)} {found.unit} hold."
    return Figure(title="Throttled, by what was tried", summary=said, figure=made)


def _accepted(found: Found) -> Figure:
    search, said = found.search, []
    made = _figure(found, "units per second", [])
    for side, role in zip(WRITES_FIRST, ("accent", "ceiling"), strict=True):
        values = [accepted_per_s(search, step, side) for step in search.in_order]
        if not any(values):
            continue
        words = [rate(value, UNITS[side]) for value in values]
        made.add_trace(_line(found, values, role, UNITS[side], words))
        said.append(f"at most {rate(max(values), UNITS[side])}")
    return Figure(title="Accepted", summary=f"{capital('; '.join(said) or 'nothing')} accepted.", figure=made)


def _figure(found: Found, counted: str, shapes: list[dict[str, Any]]) -> go.Figure:
    """An empty figure with the numbers from left to right, in equal ratios."""
    made = figure(height=HEIGHT)
    values = [step.value for step in found.search.in_order]
    whole_only = found.search.question.within.larger_holds
    marks = [tick for tick in ticks(values) if not whole_only or tick == int(tick)]
    axis = found.unit if whole_only else f"{DEMAND}, {found.unit}"
    lay_out(
        made, annotations=[heading(counted, 1.0)], shapes=shapes, yaxis=amounts(),
        xaxis=amounts(
            type="log", rangemode="normal", gridcolor="rgba(0,0,0,0)", ticklabelstandoff=8,
            tickmode="array", tickvals=marks, ticktext=[f"{mark:,g}" for mark in marks],
            title={"text": axis, "font": {"size": 11}},
        ),
    )  # fmt: skip
    return made


def _line(found: Found, values: Sequence[float], role: str, name: str, words: Sequence[str]) -> go.Scatter:
    """Points of numbers that do not hold are hollow; the answer is the large green one."""
    steps, answer = found.search.in_order, found.search.answer
    at = None if answer is None else answer.value
    colours = [LIGHT["good"] if step.value == at else LIGHT[role] for step in steps]
    return go.Scatter(
        name=name, x=[step.value for step in steps], y=compact(list(values)), mode="lines+markers",
        cliponaxis=False, line={"color": LIGHT[role], "width": 2},
        marker={
            "opacity": 1,  # points of several sizes are half transparent by themselves
            "size": [14 if step.value == at else 8 for step in steps],
            "color": [
                colour if step.holds else LIGHT["card"] for step, colour in zip(steps, colours, strict=True)
            ],
            "line": {"color": colours, "width": 2},
        },
        customdata=list(words),
        hovertemplate=f"%{{x:,}} {found.unit}: %{{customdata}} {name}<extra></extra>",
    )  # fmt: skip


def ticks(values: Sequence[float]) -> list[float]:
    """1, 1.5, 2, 3, 5, 7, 10 ... within the values; few enough for a narrow page."""
    least, most = min(values), max(values)
    steps = [factor * 10.0**power for power in range(-4, 9) for factor in (1, 1.5, 2, 3, 5, 7)]
    found = [tick for tick in steps if least <= tick <= most]
    return found if len(found) <= 7 else found[:: -(-len(found) // 7)]


def limits_figure(found: Found, before: str, after: str) -> Iterator[Figure]:
    """Two bars for each limit, one below the other, and the limit as a line across them all."""
    pairs = limits_of(found)[:MOST_LIMITS]
    if not before or not pairs:
        return
    made = figure(height=AROUND_PX + PAIR_PX * len(pairs), barmode="group")
    places, names, rows = named_rows([name for name, _was, _then in pairs])
    line = level(100, "ink", "dash") | {"xref": "x", "x0": 100, "x1": 100, "yref": "paper", "y0": 0, "y1": 1}
    most = max(share or 0.0 for _name, *shares in pairs for share in shares) * 100
    lay_out(
        made, bargap=0.5, annotations=[heading("% of the limit", 1.0), *names], yaxis=rows,
        xaxis=amounts(range=[0, max(most, 100) * 1.2], nticks=4),
        shapes=[line | {"name": "the limit: 100 %"}],
    )  # fmt: skip
    sides = ((after, "accent", [then for _name, _was, then in pairs]),
             (before, "error", [was for _name, was, _then in pairs]))  # fmt: skip
    for name, role, shares in sides:  # the later of two in a group is drawn above
        made.add_trace(
            go.Bar(
                name=name, y=places, orientation="h", marker={"color": LIGHT[role]},
                x=compact([float("nan") if share is None else share * 100 for share in shares]),
                text=[percent(share) for share in shares], textposition="outside", cliponaxis=False,
                textfont={"color": LIGHT["ink"], "size": 11}, customdata=[safe(pair[0]) for pair in pairs],
                hovertemplate=f"%{{customdata}}, {name}: %{{text}}<extra></extra>",
            )
        )  # fmt: skip
    said = "; ".join(f"{name}: {percent(was)}, then {percent(then)}" for name, was, then in pairs)
    yield Figure(title="Demand against the limits", summary=f"{said[0].upper()}{said[1:]}.", figure=made)
