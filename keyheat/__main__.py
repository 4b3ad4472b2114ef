"""`python -m keyheat VERB`: the command line without the installed script."""

import sys

from keyheat.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
