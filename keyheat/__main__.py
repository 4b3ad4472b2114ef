"""`python -m keyheat VERB`: the command line, where there is no script of that name on the path."""

import sys

from keyheat.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
