"""The sizes of a scenario's items: one number, or a table that names a distribution."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from keyheat.scenario.sizes import (
    LEAST_BYTES,
    MOST_BYTES,
    ChoiceSize,
    FixedSize,
    ItemSize,
    LognormalSize,
    UniformSize,
)
from keyheat.scenario.spec.part import Part

Bytes = Annotated[int, Field(ge=LEAST_BYTES, le=MOST_BYTES)]
Weight = Annotated[float, Field(ge=0, le=1e12)]
NEEDED = {"uniform": ("low", "high"), "lognormal": ("median", "sigma"), "choice": ("sizes",)}
ALLOWED = {"uniform": (), "lognormal": ("min", "max"), "choice": ("weights",)}
FIELDS = ("low", "high", "median", "sigma", "min", "max", "sizes", "weights")


class SizeSpec(Part):
    """A distribution of item sizes, in bytes as DynamoDB counts them, names and keys included."""

    kind: Literal["uniform", "lognormal", "choice"]
    low: Bytes | None = Field(None, description="uniform: the smallest")
    high: Bytes | None = Field(None, description="uniform: the largest")
    median: Bytes | None = Field(None, description="lognormal: half of the items are smaller")
    sigma: Annotated[float, Field(gt=0, le=5)] | None = Field(
        None, description="lognormal: how wide; one item in six is larger than median * e^sigma"
    )
    min: Bytes | None = Field(None, description="lognormal: smaller ones are made so large; absent: 100")
    max: Bytes | None = Field(None, description="lognormal: larger ones are made so small; absent: 400 KB")
    sizes: Annotated[tuple[Bytes, ...], Field(min_length=1, max_length=1_000)] | None = Field(
        None, description="choice: the sizes that there are"
    )
    weights: Annotated[tuple[Weight, ...], Field(min_length=1, max_length=1_000)] | None = Field(
        None, description="choice: how often each size occurs, in proportion; absent: equally often"
    )

    def size(self) -> ItemSize:
        """The distribution that these numbers describe."""
        if self.kind == "uniform":
            assert self.low is not None, "checked with the scenario"
            assert self.high is not None, "checked with the scenario"
            return UniformSize(self.low, self.high)
        if self.kind == "lognormal":
            assert self.median is not None, "checked with the scenario"
            assert self.sigma is not None, "checked with the scenario"
            return LognormalSize(self.median, self.sigma, self.min or LEAST_BYTES, self.max or MOST_BYTES)
        assert self.sizes is not None, "checked with the scenario"
        return ChoiceSize(self.sizes, self.weights or (1.0,) * len(self.sizes))


def _tag(value: Any) -> str:
    return "<table>" if isinstance(value, Mapping | SizeSpec) else "<number>"


ItemBytes = Annotated[
    Annotated[Bytes, Tag("<number>")] | Annotated[SizeSpec, Tag("<table>")], Discriminator(_tag)
]
"""One size for all items, or a distribution of sizes."""


def size_of(stated: int | SizeSpec) -> ItemSize:
    """The distribution that a scenario's `item_bytes` stands for."""
    return FixedSize(stated) if isinstance(stated, int) else stated.size()


def broken_sizes(raw: Any) -> Iterator[str]:
    """Every disagreement between fields of `item_bytes`, as `message @ $.path`."""
    kind = raw.get("kind") if isinstance(raw, Mapping) else None
    if not isinstance(kind, str) or kind not in NEEDED:
        return
    path = "$.load.item_bytes"
    for field in NEEDED[kind]:
        if raw.get(field) is None:
            yield f"kind = {kind!r} needs it @ {path}.{field}"
    for field in FIELDS:
        if raw.get(field) is not None and field not in (*NEEDED[kind], *ALLOWED[kind]):
            yield f"no meaning with kind = {kind!r} @ {path}.{field}"
    for low, high in (("low", "high"), ("min", "max"), ("min", "median"), ("median", "max")):
        if _is_number(raw.get(low)) and _is_number(raw.get(high)) and raw[low] > raw[high]:
            yield f"{low} = {raw[low]} is more than {high} = {raw[high]} @ {path}.{low}"
    yield from _weights(raw.get("sizes"), raw.get("weights"), path)


def _weights(sizes: Any, weights: Any, path: str) -> Iterator[str]:
    if not isinstance(weights, list | tuple) or not weights:
        return
    if isinstance(sizes, list | tuple) and len(sizes) != len(weights):
        yield f"{len(weights)} weights for {len(sizes)} sizes @ {path}.weights"
    if all(_is_number(weight) and weight == 0 for weight in weights):
        yield f"at least one weight has to be above 0 @ {path}.weights"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
