"""How Prometheus reads a metric: counters, gauges, histograms, hostile labels."""

from prometheus_client.parser import text_string_to_metric_families

from keyheat.metrics import Distribution, Metric, prometheus_text

TIMES = Metric(
    name="keyheat_a_time_seconds", says="how long", kind="histogram",
    points=(({"operation": 'Put"\n\\'}, Distribution((0.1, 1.0), (3, 0, 2), 5.5)),),
)  # fmt: skip


def test_prometheus_reads_a_histogram_with_counts_added_up_and_labels_escaped() -> None:
    (family,) = text_string_to_metric_families(prometheus_text([TIMES]).decode())
    assert (family.name, family.type) == ("keyheat_a_time_seconds", "histogram")
    found = {(one.name.removeprefix(family.name), one.labels.get("le")): one.value for one in family.samples}
    assert found == {
        ("_bucket", "0.1"): 3, ("_bucket", "1"): 3, ("_bucket", "+Inf"): 5, ("_count", None): 5,
        ("_sum", None): 5.5,
    }  # fmt: skip
    assert {one.labels["operation"] for one in family.samples} == {'Put"\n\\'}
