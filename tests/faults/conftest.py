from hypothesis import HealthCheck, Phase, settings

from tests.nightly import NIGHTLY, times

# for each service: nightly that is 4,000 answers of each
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
