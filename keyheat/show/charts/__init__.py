"""Charts: each a plotly figure made from the frames of a run, with the numbers that it shows."""

from keyheat.shipped import require

require("report")
