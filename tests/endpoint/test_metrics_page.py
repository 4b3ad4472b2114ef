"""`/_keyheat/metrics` as Prometheus reads it: what was asked, consumed and refused, by table and index."""

from tests.endpoint.account import index, indexed, table, units
from tests.endpoint.clients import ServiceApp, read_by_prometheus, service_app_at


def by_labels(app: ServiceApp, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    return {
        tuple(sample.labels[label] for label in labels): sample.value
        for sample in read_by_prometheus(app, name)
    }


def test_it_tells_of_each_table_and_index_what_was_asked_and_consumed() -> None:
    """A table with an index, and three items of two units in each."""
    app = service_app_at(scale=0.5)
    request = table(ProvisionedThroughput=units(20, 40))
    app.ddb.create_table(**request | indexed(index(ProvisionedThroughput=units(10, 30))))
    for number in range(3):
        item = {"pk": {"S": f"k{number}"}, "city": {"S": "c"}, "fill": {"B": bytes(1_500)}}
        app.ddb.put_item(TableName="orders", Item=item)
    consumed = by_labels(app, "keyheat_local_consumed_units", "table", "resource", "direction")
    assert consumed == {
        ("orders", "table", "write"): 6, ("orders", "table", "read"): 0,
        ("orders", "by_city", "write"): 6, ("orders", "by_city", "read"): 0,
    }  # fmt: skip
    app.clock.advance(3_600)
    app.ddb.get_item(TableName="orders", Key={"pk": {"S": "k1"}}, ConsistentRead=True)
    later = by_labels(app, "keyheat_local_consumed_units", "table", "resource", "direction")
    assert later == {**consumed, ("orders", "table", "read"): 1}
    capacity = by_labels(app, "keyheat_local_capacity_units_per_second", "resource", "direction", "limit")
    assert capacity == {
        ("table", "read", "provisioned"): 10, ("table", "write", "provisioned"): 20,
        ("by_city", "read", "provisioned"): 5, ("by_city", "write", "provisioned"): 15,
    }  # fmt: skip
    asked = by_labels(app, "keyheat_local_requests", "operation")
    assert (asked["PutItem",], asked["GetItem",]) == (3, 1)
    assert read_by_prometheus(app, "keyheat_local_throttles") == []
