"""What came back as consumed, in all: the number that a budget is held against."""

from dataclasses import dataclass


@dataclass(slots=True)
class Consumed:
    """Units of all tables and indexes together, and how many requests were answered, or failed, for them."""

    write_units: float = 0.0
    read_units: float = 0.0
    answers: int = 0

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

    def merge(self, other: "Consumed") -> None:
        """Add all that another one holds."""
        self.write_units += other.write_units
        self.read_units += other.read_units
        self.answers += other.answers

    def after(self, earlier: "Consumed") -> "Consumed":
        """What came since an earlier look."""
        return Consumed(
            self.write_units - earlier.write_units,
            self.read_units - earlier.read_units,
            self.answers - earlier.answers,
        )

    def times(self, factor: float) -> "Consumed":
        """The units so many times over: an estimate of what is still to come."""
        return Consumed(self.write_units * factor, self.read_units * factor)

    def plus(self, other: "Consumed") -> "Consumed":
        """Both together."""
        return Consumed(
            self.write_units + other.write_units,
            self.read_units + other.read_units,
            self.answers + other.answers,
        )

    def to_wire(self) -> list[float]:
        """Plain values, as they travel from a worker to the master."""
        return [self.write_units, self.read_units, self.answers]
