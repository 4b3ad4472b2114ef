"""Charts of a run: each a figure, and the numbers that it shows."""

from keyheat.shipped import require

require("report")
