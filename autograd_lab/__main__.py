"""`python -m autograd_lab` is the command `autograd-lab`, in case it is not on the PATH."""

import sys

from autograd_lab.cli import main

if __name__ == "__main__":
    sys.exit(main())
