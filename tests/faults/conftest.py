from hypothesis import HealthCheck, Phase, settings

from tests.nightly import NIGHTLY, times

# for each of five services: nightly that is 20,000 answers
settings.register_profile(
    "ours",
    max_examples=times(60, 4_000),
    deadline=None,
    database=None,
    derandomize=not NIGHTLY,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("ours")
