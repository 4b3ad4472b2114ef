"""Random scenarios: each follows from its seed and number alone, and together they cover what can happen."""

import numpy as np

from keyheat.simulator.flow import Flow, FlowAnswer
from keyheat.words import Direction
from tools.accuracy.draw import draw
from tools.accuracy.situations import SITUATIONS
from tools.accuracy.streams import RandomTraffic, RequestStream, even


def test_a_scenario_follows_from_its_seed_and_number() -> None:
    first, again = draw(7, 3), draw(7, 3)
    assert (first.scenario, first.said, first.loss) == (again.scenario, again.said, again.loss)
    for one, other in zip(first.streams, again.streams, strict=True):
        assert np.array_equal(one.per_s, other.per_s)
        assert one.tries_again == other.tries_again
    assert first.scenario != draw(7, 4).scenario
    assert first.scenario != draw(8, 3).scenario


def test_every_situation_disturbance_and_loss_comes_up() -> None:
    drawn = [draw(1, number) for number in range(300)]
    assert {one.situation for one in drawn} == {made.__name__.replace("_", " ") for made, *_ in SITUATIONS}
    tables = [one.scenario.table for one in drawn]
    assert {table.billing_mode for table in tables} == {"PROVISIONED", "PAY_PER_REQUEST"}
    assert any(table.max_on_demand for table in tables)
    assert any(table.auto_scaling for table in tables)
    assert {len(table.indexes) for table in tables} >= {0, 1, 2, 3}
    assert any(index.max_on_demand for table in tables for index in table.indexes)
    assert any(one.scenario.timeline for one in drawn)
    assert any(step.index for one in drawn for step in one.scenario.timeline)
    flows = [stream.flow for one in drawn for stream in one.streams]
    assert {flow.direction for flow in flows} == set(Direction)
    assert {flow.ours for flow in flows} == {flow.eventual for flow in flows} == {True, False}
    assert any(flow.index for flow in flows)
    assert any(flow.index_writes for flow in flows)
    losses = [one.loss for one in drawn]
    for lost in ("first", "minutes", "late", "series"):
        assert any(getattr(loss, lost) for loss in losses), lost
    assert sum(loss.words == () for loss in losses) > 200


def test_refused_requests_come_again_where_their_client_retries() -> None:
    flow = Flow(operation="PutItem", direction=Direction.WRITE, requests=0, keys=even())
    per_s = np.array([100.0, 0.0])
    sent = RandomTraffic(
        [RequestStream(flow=flow, per_s=per_s, keys=(even(),), keys_s=60, tries_again=0.5)], 1
    )
    (first,) = sent.second(0)
    sent.answered(0, [FlowAnswer(flow=first, attempts=100, accepted=40, units=40)])
    assert sum(flow.requests for at_s in range(1, 10) for flow in sent.second(at_s)) == 30
