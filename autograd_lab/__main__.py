"""`python -m autograd_lab` is the command `autograd-lab`, for a shell that does not find it on its PATH."""

import sys

from autograd_lab.cli import main

if __name__ == "__main__":
    sys.exit(main())
