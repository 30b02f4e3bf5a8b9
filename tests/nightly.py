"""Long runs by night, short ones by day: HYPOTHESIS_PROFILE=nightly repeats more of the same."""

import os

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


def times(by_day: int, by_night: int) -> int:
    """How often something is repeated."""
    return by_night if NIGHTLY else by_day
