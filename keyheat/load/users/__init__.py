"""The users that load tests are made of: what they write, read, and check."""

import sys

from keyheat.shipped import require

if "locust" not in sys.modules:  # which a rehearsal's stand-in may be, where nothing is sent
    require("load")
