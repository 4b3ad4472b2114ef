"""A global table: what a verdict says of the writes that came from its other Regions."""

from keyheat.analysis.diagnosis import diagnosed
from keyheat.evidence.simulated import evidence_of
from keyheat.runs.formats import Series
from keyheat.runs.metrics import REPLICATED, REPLICATION_LATENCY, consumed
from keyheat.simulator.simulate import simulate
from keyheat.words import WRITE
from tests.make import ON_DEMAND, a_scenario


def test_what_came_from_other_regions_is_said_of_a_real_table() -> None:
    table = {"name": "carts", **ON_DEMAND, "regions": ["eu-west-1", "us-east-1", "ap-southeast-2"]}
    evidence = evidence_of(simulate(a_scenario(table=table, load={"duration_s": 60, "requests_per_s": 400})))
    at = evidence.window.start
    metric = consumed(WRITE)
    total = evidence.total(metric)
    assert total
    kept = [one for one in evidence.series if one.dimension is None]
    copied = Series(
        metric=metric, statistic="Sum", period_s=60, dimension=REPLICATED, points=((at, total / 4),)
    )
    late = Series(
        metric=REPLICATION_LATENCY, statistic="Average", period_s=300,
        dimension="ReceivingRegion=us-east-1", points=((at, 2_500.0),),
    )  # fmt: skip
    found = diagnosed(evidence.model_copy(update={"series": (*kept, copied, late), "source": "aws"}))
    said = " ".join(found.verdict.because)
    assert "25 % of its write units were replicated from other Regions." in said.replace(
        "\N{NO-BREAK SPACE}", " "
    )
    assert "Copies to us-east-1 took 2,500 ms" in said.replace("\N{NO-BREAK SPACE}", " ")
