"""Lets these tests import `notebook_fixtures` from whatever folder pytest starts in."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
