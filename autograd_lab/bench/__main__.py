"""`python -m autograd_lab.bench`."""

import sys

from . import main

sys.exit(main())
