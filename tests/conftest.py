"""Settings every test shares."""

import os

os.environ["MPLBACKEND"] = "Agg"  # before anything imports matplotlib: no test opens a window

from hypothesis import settings

# In CI the same examples every time, so that a red run is red again; elsewhere new ones each time.
# No deadline: a shared machine's slow moment is not a bug.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
