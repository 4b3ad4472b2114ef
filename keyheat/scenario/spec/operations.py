"""The mix of a load: how often each operation is sent, in proportion to the others."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from keyheat.scenario.spec.part import Part

Weight = Annotated[float, Field(ge=0, le=1e12)]


class OperationsSpec(Part):
    """How often each operation is sent, in proportion to the others; what is absent is not sent."""

    put: Weight = Field(0.0, description="PutItem of a new item")
    put_if_absent: Weight = Field(
        0.0, description="PutItem if nothing is there: every second time something is"
    )
    update: Weight = Field(0.0, description="UpdateItem: adds one to a counter of an item")
    delete: Weight = Field(0.0, description="DeleteItem")
    get: Weight = Field(0.0, description="GetItem, eventually consistent")
    query: Weight = Field(0.0, description="Query of the first page of a key's items")
    batch_write: Weight = Field(0.0, description="BatchWriteItem of 25 new items")
    batch_get: Weight = Field(0.0, description="BatchGetItem of up to 25 items")
    transact_write: Weight = Field(0.0, description="TransactWriteItems of four items")
    transact_get: Weight = Field(0.0, description="TransactGetItems of four items")

    def weights(self) -> dict[str, float]:
        """The operations that are sent, each with its weight."""
        return {name: weight for name, weight in self.model_dump().items() if weight}


def broken_operations(raw: Mapping[str, Any], loadtest: Any) -> Iterator[str]:
    """Every disagreement about `[load.operations]`, as `message @ $.path`."""
    path, mix = "$.load.operations", raw.get("operations")
    if mix is None:
        if loadtest == "operations":
            yield f"loadtest = 'operations' needs it: a weight for each operation that is sent @ {path}"
    elif isinstance(mix, Mapping):
        weights = [mix.get(name) for name in OperationsSpec.model_fields]
        if not any(weights):
            yield f"at least one operation needs a weight above 0 @ {path}"
