"""The shapes of requests are those that botocore reads from the same file."""

from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel

from keyheat.endpoint.shapes import Shape, shapes_of

BOUNDS = ("min", "max", "pattern")


def same(ours: Shape, theirs: Any, seen: set[str]) -> None:
    assert ours.type_name == theirs.type_name
    assert [ours.metadata.get(name) for name in BOUNDS] == [theirs.metadata.get(name) for name in BOUNDS]
    assert ours.metadata.get("enum", []) == list(theirs.enum if theirs.type_name == "string" else [])
    if theirs.name in seen:
        return
    seen.add(theirs.name)
    if ours.type_name == "structure":
        assert list(ours.members) == list(theirs.members)
        assert ours.required_members == theirs.required_members
        for name, member in ours.members.items():
            same(member, theirs.members[name], seen)
    elif ours.type_name == "list":
        same(ours.member, theirs.member, seen)
    elif ours.type_name == "map":
        same(ours.value, theirs.value, seen)


@pytest.mark.parametrize("api", ["dynamodb", "dynamodbstreams", "cloudwatch"])
def test_every_request_has_the_shape_that_botocore_reads(api: str) -> None:
    theirs, seen = ServiceModel(Loader().load_service_model(api, "service-2"), api), set[str]()
    for operation in theirs.operation_names:
        ours, model = shapes_of(api).input_of(operation), theirs.operation_model(operation)
        assert (ours is None) == (model.input_shape is None)
        if ours is not None:
            same(ours, model.input_shape, seen)
    assert len(seen) > 10
