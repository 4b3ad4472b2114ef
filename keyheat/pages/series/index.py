"""One page over several runs: the question, the verdict and a small picture of each, side by side."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from os.path import relpath
from pathlib import Path
from urllib.parse import quote

import numpy as np

from keyheat.numbers import percent, whole
from keyheat.pages.page import page, said_at
from keyheat.pages.run.downsample import Floats
from keyheat.pages.run.facts import facts_of
from keyheat.pages.run.hero import Hero, hero_of
from keyheat.pages.run.load import Run, load_run
from keyheat.pages.run.page import REPORT
from keyheat.pages.run.record import read_record
from keyheat.pages.run.timeline import Timeline, by_minute, by_second
from keyheat.runfiles import FileProblem, write_atomically

INDEX = "index.html"
WIDTH, HEIGHT, THROTTLED_HEIGHT = 320, 64, 26


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A run as two small shapes in SVG path data, consumed above throttled, and a line for provisioned."""

    consumed: str
    throttled: str
    provisioned_y: float | None
    said: str


def _no_throttles(run: Run) -> str:
    """None, where there could have been some."""
    return "–" if run.diagnosis.verdict.rule else "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One run on the index page; `hero` is None where the run could not be read, and `problem` says why."""

    run_dir: Path
    hero: Hero | None = None
    throttled: str = ""
    picture: Picture | None = None
    problem: str | None = None

    @classmethod
    def of_run(cls, run_dir: Path) -> "Entry":
        """A run directory as an entry; one without a readable diagnosis says so on its card."""
        return cls.read(run_dir)[1]

    @classmethod
    def read(cls, run_dir: Path) -> tuple[Run | None, "Entry"]:
        """What a run directory holds, None where it cannot be read, and its entry."""
        try:
            run = load_run(run_dir)
        except FileProblem as problem:
            return None, cls(run_dir=run_dir, problem=str(problem).replace(f"{run_dir}/", ""))
        record = read_record(run)
        facts = facts_of(run, record)
        seconds = by_second(run, record, facts.resource, most=WIDTH // 2)
        timeline = seconds or by_minute(run, facts.resource)
        share = f", {percent(facts.throttled_share)} of all" if facts.throttled_share is not None else ""
        return run, cls(
            run_dir=run_dir,
            hero=hero_of(run, facts),
            throttled=f"{whole(facts.throttles)}{share}" if facts.throttles else _no_throttles(run),
            picture=picture_of(timeline) if timeline is not None else None,
        )

    @property
    def name(self) -> str:
        return self.run_dir.name

    def link_from(self, out_dir: Path) -> str:
        """The report's address as seen from a page in `out_dir`."""
        return quote(Path(relpath(self.run_dir / REPORT, out_dir)).as_posix())


def write_index(
    out_dir: Path,
    entries: Sequence[Entry],
    generated_at: datetime,
    *,
    title: str = "Runs side by side",
) -> Path:
    """Write `index.html` into `out_dir` over the entries, in order; return its path. Raises `CannotWrite`."""
    text = render_index(entries, out_dir, generated_at, title=title)
    path = out_dir / INDEX
    write_atomically(path, lambda file: file.write(text.encode("utf-8")))
    return path


def render_index(entries: Sequence[Entry], out_dir: Path, generated_at: datetime, *, title: str) -> str:
    """The index page."""
    size = {"width": WIDTH, "height": HEIGHT, "throttled_height": THROTTLED_HEIGHT}
    cards = [(entry, entry.link_from(out_dir)) for entry in entries]
    return page("index.html.j2", cards=cards, title=title, size=size, generated_at=said_at(generated_at))


def picture_of(timeline: Timeline) -> Picture | None:
    """Consumed and throttled over the run, each in a band of its own."""
    if timeline.consumed is None or not np.isfinite(timeline.consumed).any():
        return None
    throttled = timeline.all_throttled()
    peak = float(np.nanmax(timeline.consumed))
    provisioned = None if timeline.provisioned is None else float(np.nanmax(timeline.provisioned))
    drawn = provisioned is not None and math.isfinite(provisioned) and provisioned <= 8 * peak
    top = max(peak, provisioned or 0.0) if drawn else peak
    scale = top * 1.05 or 1.0
    return Picture(
        consumed=_shape(timeline.consumed, scale, HEIGHT),
        throttled=_shape(throttled, float(throttled.max()) or 1.0, THROTTLED_HEIGHT),
        provisioned_y=round(HEIGHT * (1 - (provisioned or 0.0) / scale), 1) if drawn else None,
        said=f"At most {whole(peak)} units consumed and {whole(float(throttled.max()))} throttled per second"
        + (f", {whole(provisioned)} provisioned." if provisioned is not None else "."),
    )


def _shape(values: Floats, top: float, height: int) -> str:
    """A stepped area as SVG path data, from the left bottom corner round to the right bottom corner."""
    width = WIDTH / len(values)
    heights = np.round(height * (1 - np.clip(np.nan_to_num(values) / top, 0, 1)), 1)
    steps = [
        f"L{place * width:.1f} {at:g}L{(place + 1) * width:.1f} {at:g}"
        for place, at in enumerate(heights.tolist())
    ]
    return f"M0 {height}{''.join(steps)}L{WIDTH} {height}Z"
