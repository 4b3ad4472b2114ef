"""One request as the client saw it, and what came back as consumed: what users hand to the record."""

from dataclasses import dataclass

from keyheat.words import DirectionName


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request as the client saw it: what it was, and when it was to start, started and ended."""

    operation: str
    direction: DirectionName
    key: str
    sent_s: float  # epoch seconds
    late_us: int  # actual start minus intended start
    service_us: int
    table: str | None = None  # a table beside the one that is judged; None: that one
    timed: bool = True  # False: a further item of a request whose duration is counted already


@dataclass(slots=True)
class ConsumedUnits:
    """Units of all tables and indexes together."""

    write_units: float = 0.0
    read_units: float = 0.0

    @property
    def units(self) -> float:
        """Writes and reads together."""
        return self.write_units + self.read_units

    def add(self, direction: str, units: float) -> None:
        """Count the units of one attempt."""
        if direction == "write":
            self.write_units += units
        else:
            self.read_units += units

    def merge(self, other: "ConsumedUnits") -> None:
        """Add all that another one holds."""
        self.write_units += other.write_units
        self.read_units += other.read_units

    def after(self, earlier: "ConsumedUnits") -> "ConsumedUnits":
        """What came since an earlier look."""
        return ConsumedUnits(
            self.write_units - earlier.write_units,
            self.read_units - earlier.read_units,
        )

    def times(self, factor: float) -> "ConsumedUnits":
        """The units so many times over: an estimate of what is still to come."""
        return ConsumedUnits(self.write_units * factor, self.read_units * factor)

    def plus(self, other: "ConsumedUnits") -> "ConsumedUnits":
        """Both together."""
        return ConsumedUnits(
            self.write_units + other.write_units,
            self.read_units + other.read_units,
        )

    def to_wire(self) -> list[float]:
        """Plain values, as they travel from a worker to the master."""
        return [self.write_units, self.read_units]
