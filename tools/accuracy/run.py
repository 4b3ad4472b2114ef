"""Random scenarios played and judged, one by one, on as many processes as asked."""

import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from multiprocessing import get_context, parent_process
from threading import Thread

from keyheat.analysis.analyzers import labels_of as labels_in
from keyheat.analysis.rules import Thresholds, load_thresholds
from keyheat.evidence.simulated import evidence_of
from keyheat.runs.formats import Evidence, Label
from keyheat.runs.run import Run
from keyheat.simulator.simulate import SIMULATED_START_S, simulate
from tools.accuracy import score
from tools.accuracy.draw import RandomScenario, draw
from tools.accuracy.score import BEST, Best, LabelScore, SpanScore, TrueRecord, TrueSpan, Whose
from tools.accuracy.streams import RandomTraffic
from tools.accuracy.worlds import WORLDS, WorldsName

NOTHING = TrueRecord()


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedScenario:
    """A scenario after it was simulated: what really happened, and what can be known of it."""

    drawn: RandomScenario
    records: dict[Whose, TrueRecord]  # all of the truth
    spans: dict[Whose, tuple[TrueSpan, ...]]  # the part of it that the evidence covers
    evidence: Evidence

    def left(self, best: Best) -> Evidence:
        return score.left(self.evidence, best, client=self.drawn.client)


Scores = tuple[list[SpanScore], list[LabelScore]]
"""Spans and labels of scenarios, judged with every grade of evidence."""


def play(drawn: RandomScenario) -> SimulatedScenario:
    """Simulate a scenario, and take its truth and its evidence."""
    simulation = simulate(
        drawn.scenario,
        started_s=SIMULATED_START_S + drawn.offset_s,
        traffic=RandomTraffic(drawn.streams, drawn.scenario.seed),
        behaviour=drawn.behaviour,
    )
    whole = drawn.publication.of(evidence_of(simulation))
    model = simulation.models[drawn.scenario.table.name]
    records = score.records(model.decisions())
    seen = drawn.loss.seen(whole.window)
    spans = {
        whose: score.true_spans(whose, {s: causes for s, causes in record.refused.items() if seen(s)})
        for whose, record in records.items()
    }
    return SimulatedScenario(drawn=drawn, records=records, spans=spans, evidence=drawn.loss.of(whole))


def labels_of(played: SimulatedScenario, best: Best, numbers: Thresholds) -> tuple[Label, ...]:
    """The labels that the analyzer gives to what is left of the evidence."""
    return labels_in(Run(played.left(best)), numbers)


def judge(played: SimulatedScenario, numbers: Thresholds) -> Scores:
    """A scenario's labels, with every grade of evidence, against its truth."""
    number = played.drawn.number
    answered: list[SpanScore] = []
    judged: list[LabelScore] = []
    for best in BEST:
        labels = labels_of(played, best, numbers)
        for whose in sorted({*played.records, *((one.resource, one.direction) for one in labels)}):
            own = [label for label in labels if (label.resource, label.direction) == whose]
            record = played.records.get(whose, NOTHING)
            sprinkle = score.is_sprinkle(record, numbers.noise)
            spans = played.spans.get(whose, ())
            answered += score.answers(spans, own, record, number=number, best=best, sprinkle=sprinkle)
            judged += score.judged(own, score.with_quota(played.records, whose), number=number, best=best)
    return answered, judged


def outcome(seed: int, worlds: WorldsName, number: int) -> Scores:
    """The `number`-th scenario of a seed, from drawing to judging."""
    return judge(play(draw(seed, number, WORLDS[worlds])), load_thresholds())


def outcomes(
    seed: int, numbers: Sequence[int], *, worlds: WorldsName = "wide", jobs: int = 1
) -> Iterator[Scores]:
    """Many scenarios in the order of their numbers, `jobs` at a time; the same whatever `jobs` is."""
    one = partial(outcome, seed, worlds)
    if jobs == 1:
        yield from map(one, numbers)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_obey) as pool:
        yield from pool.map(one, numbers)


def _obey() -> None:
    """A worker leaves interrupts to its parent, and ends with it, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "a worker has a parent"
    parent.join()
    os._exit(1)


def together(scenarios: Iterable[Scores]) -> Scores:
    answered, judged = zip(*scenarios, strict=True)
    return list(chain(*answered)), list(chain(*judged))
