"""`python -m proxycal` is the same program as `proxycal`."""

import sys

from proxycal.cli import main

if __name__ == "__main__":
    sys.exit(main())
