"""The users that load tests are made of: what they write, read, and check."""

from keyheat.shipped import require

require("load")
