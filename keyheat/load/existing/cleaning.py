"""Cleaning up after a run on a table of somebody else's: the items that name the run, and no others.

The table is scanned, since nobody else knows where a run's items are; the mark is looked for by the scan's
filter, and is the condition of each deletion again. A batch can have no conditions, so items are deleted one
by one. What is noted on the way, in the run's folder, are segments of the scan and no keys: cleaning that was
interrupted goes on with the segment that it was in. Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-query-scan.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteItem.html
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from keyheat.load.existing.pacing import UnitPace
from keyheat.load.users.marking import RUN_ATTRIBUTE
from keyheat.runfiles import FileProblem, read_json, write_json

FORMAT = "keyheat.cleaning/1"
FILE = "cleaning.json"
AT_ONCE = 8
SEGMENT_BYTES = 64 << 20
MOST_SEGMENTS = 1_000
MOST_PAGE_ITEMS = 1_000
READ_BYTES_PER_UNIT = 8_192  # of an eventually consistent scan
FAILED_UNITS = 1.0  # of a deletion whose condition fails, of a small item


@dataclass(slots=True, kw_only=True)
class Cleaned:
    """How far the cleaning of one run is."""

    run_id: str
    table: str
    segments: int
    done: list[int] = field(default_factory=list)
    deleted: int = 0
    left: int = 0  # found, and another run's or nobody's by the time they were to be deleted
    read_units: float = 0.0
    write_units: float = 0.0

    @property
    def finished(self) -> bool:
        """Whether the whole table was looked through."""
        return len(self.done) == self.segments

    @property
    def to_do(self) -> list[int]:
        """The segments that are still to be looked through."""
        return [number for number in range(self.segments) if number not in set(self.done)]

    def save(self, folder: Path) -> None:
        """Note it in the run's folder. Raises `CannotWrite`."""
        write_json(folder / FILE, FORMAT, asdict(self))


def begun(folder: Path, *, run_id: str, table: str, size_bytes: int) -> Cleaned:
    """What was cleaned so far, or the beginning. Raises `FileProblem`."""
    segments = max(1, min(MOST_SEGMENTS, -(-size_bytes // SEGMENT_BYTES)))
    if not (folder / FILE).exists():
        return Cleaned(run_id=run_id, table=table, segments=segments)
    noted = read_json(folder / FILE, FORMAT)
    try:
        cleaned = Cleaned(**{name: noted[name] for name in Cleaned.__dataclass_fields__})
    except KeyError as error:
        raise FileProblem(f"{folder / FILE} says nothing of {error}; delete it to begin anew") from error
    if (cleaned.run_id, cleaned.table) != (run_id, table):
        raise FileProblem(f"{folder / FILE} is of run {cleaned.run_id} on table {cleaned.table}; delete it")
    if cleaned.finished:  # somebody wants to be sure
        return Cleaned(run_id=run_id, table=table, segments=segments)
    return cleaned


@dataclass(slots=True, kw_only=True)
class Cleaner:
    """Deletes the items of one run from one table; `description` is DescribeTable's answer."""

    client: Any
    description: dict[str, Any]
    cleaned: Cleaned
    pace: UnitPace
    note: Callable[[Cleaned], None]  # told after each page

    def clean(self, save: Callable[[Cleaned], None]) -> Cleaned:
        """Look through all segments that are left; `save` is called after each of them, and at the end."""
        pool = ThreadPoolExecutor(AT_ONCE)
        try:
            for segment in self.cleaned.to_do:
                for keys in self._pages(segment):
                    for deleted, units in pool.map(self._delete, keys):
                        self.cleaned.deleted += deleted
                        self.cleaned.left += not deleted
                        self.cleaned.write_units += units
                    self.note(self.cleaned)
                self.cleaned.done.append(segment)
                save(self.cleaned)
        finally:
            pool.shutdown(cancel_futures=True)
            save(self.cleaned)
        return self.cleaned

    def _pages(self, segment: int) -> Iterator[list[dict[str, Any]]]:
        """The keys of the run's items, page by page."""
        keys = [element["AttributeName"] for element in self.description["KeySchema"]]
        names = {f"#k{number}": name for number, name in enumerate(keys)}
        ask = partial(
            self.client.scan,
            TableName=self.cleaned.table,
            Segment=segment,
            TotalSegments=self.cleaned.segments,
            Limit=page_items(self.description, self.pace.units_per_s),
            FilterExpression="#run = :run",
            ProjectionExpression=", ".join(names),
            ExpressionAttributeNames={**names, "#run": RUN_ATTRIBUTE},
            ExpressionAttributeValues={":run": {"S": self.cleaned.run_id}},
            ReturnConsumedCapacity="TOTAL",
        )
        more: dict[str, Any] = {}
        while True:
            self.pace.wait()
            page = ask(**more)
            units = page["ConsumedCapacity"]["CapacityUnits"]
            self.cleaned.read_units += units
            self.pace.pay(units)
            yield page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def _delete(self, key: dict[str, Any]) -> tuple[bool, float]:
        """Whether the item still was the run's, and what it cost."""
        self.pace.wait()
        try:
            answer = self.client.delete_item(
                TableName=self.cleaned.table,
                Key=key,
                ConditionExpression="#run = :run",
                ExpressionAttributeNames={"#run": RUN_ATTRIBUTE},
                ExpressionAttributeValues={":run": {"S": self.cleaned.run_id}},
                ReturnConsumedCapacity="TOTAL",
            )
        except self.client.exceptions.ConditionalCheckFailedException:
            self.pace.pay(FAILED_UNITS)
            return False, FAILED_UNITS
        units = float(answer["ConsumedCapacity"]["CapacityUnits"])
        self.pace.pay(units)
        return True, units


def page_items(description: dict[str, Any], units_per_s: float | None) -> int:
    """How many items a page of the scan looks at: about a second's worth of units, so that it is no burst."""
    items, size_bytes = description.get("ItemCount", 0), description.get("TableSizeBytes", 0)
    if units_per_s is None or not items or not size_bytes:
        return MOST_PAGE_ITEMS
    return max(1, min(MOST_PAGE_ITEMS, int(units_per_s * READ_BYTES_PER_UNIT * items / size_bytes)))
