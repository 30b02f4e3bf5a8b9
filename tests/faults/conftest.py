import os

from hypothesis import HealthCheck, Phase, settings

# for each of five services: nightly that is 20,000 answers
for profile, examples in (("ci", 150), ("nightly", 4_000)):
    settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=profile == "ci",
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
