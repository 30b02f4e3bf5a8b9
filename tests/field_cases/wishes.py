"""The words of a case's `expect`, each with what has to hold."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from tests.field_cases.answers import body_of, path_of
from tests.field_cases.facts import Facts
from tests.field_cases.values import dig, has, number, subset

Wishes = dict[str, Callable[[Any, Facts], bool]]
EPSILON = 1e-9


def _same(want: list[Any], got: list[Any]) -> bool:
    """Equal numbers, and None in the same places."""
    return len(want) == len(got) and all(
        a == b if a is None or b is None else abs(a - b) < 1e-6 for a, b in zip(want, got, strict=True)
    )


def _unscored_last(facts: Facts) -> bool:
    """Whether no entry without a score looks better than one that has one; and there is such an entry."""
    pairs = list(zip(facts.scores, facts.distances, strict=True))
    unscored = [distance for score, distance in pairs if score is None]
    scored = [distance for score, distance in pairs if score is not None]
    return bool(unscored) and (not scored or min(unscored) >= max(scored) - EPSILON)


def _conditions(want: Any, facts: Facts) -> bool:
    """Whether every wanted condition was sent, under one of its operators."""
    sent = dig(facts.body, want["path"]) or []
    return all(
        any(
            one.get("name") == item["name"]
            and one.get("comparison_operator") in item["op"]
            and str(one.get("value")) == item["value"]
            for one in sent
        )
        for item in want["items"]
    )


def _pairs(facts: Facts) -> list[list[Any]]:
    """Path, key and query of every search."""
    return [[path_of(r), r.headers.get("authorization"), (body_of(r) or {}).get("query")] for r in facts.posts]


def _asked_once(facts: Facts) -> bool:
    asked = [(request.method, request.path) for request in facts.requests]
    return len(set(asked)) == len(asked)


ALWAYS: Wishes = {
    "log_must_not_contain": lambda want, facts: not any(word in facts.log for word in want),
    "elapsed_max_s": lambda want, facts: facts.took <= want,
    "elapsed_min_s": lambda want, facts: facts.took >= want,
    "request_count": lambda want, facts: facts.count == want,
    "request_count_max": lambda want, facts: facts.count <= want and (want != 1 or _asked_once(facts)),
    "request_count_min": lambda want, facts: facts.count >= want,
    "other_host_requests_with_key": lambda _, facts: not any("authorization" in r.headers for r in facts.elsewhere),
    "client_hangs_up": lambda want, facts: not want or facts.hang_ups > 0,
}
ERRORS: Wishes = {
    "error_contains_any": lambda want, facts: all(
        any(word.lower() in facts.outcome.message.lower() for word in words) for words in want
    ),
    "error_must_not_speak_of": lambda want, facts: not any(w.lower() in facts.outcome.whole.lower() for w in want),
    "error_must_not_contain": lambda want, facts: not any(word in facts.outcome.message for word in want),
}
SEARCHES: Wishes = {
    "request_path": lambda want, facts: path_of(facts.posts[0]) == want,
    "request_paths_allowed": lambda want, facts: all(path_of(request) in want for request in facts.posts),
    "request_header": lambda want, facts: all(facts.posts[0].headers.get(k) == v for k, v in want.items()),
    "request_must_contain": lambda want, facts: subset(want, facts.body),
    "request_contains_any": lambda want, facts: any(subset(one, facts.body) for one in want),
    "request_has_keys": lambda want, facts: all(has(facts.body, path) for path in want),
    "request_must_not_contain": lambda want, facts: not any(word in facts.sent for word in want),
    "request_must_not_equal": lambda want, facts: not any(dig(facts.body, k) == v for k, v in want.items()),
    "request_json_ranges": lambda want, facts: all(
        isinstance(found := dig(body_of(request) or {}, name), int | float) and low <= found <= high
        for name, (low, high) in want.items()
        for request in facts.posts
    ),
    "request_string_max_len": lambda want, facts: all(len(dig(facts.body, k) or "") <= v for k, v in want.items()),
    "request_valid_utf8": lambda want, facts: not want or body_of(facts.posts[0]) is not None,
    "request_conditions": _conditions,
    "request_pairs": lambda want, facts: sorted(_pairs(facts)) == sorted(want),
}
"""Where at least one search arrived."""
NEEDED = (
    "request_path",
    "request_must_contain",
    "request_header",
    "request_has_keys",
    "request_contains_any",
    "request_json_ranges",
)
"""Those of them that want a search to arrive, unless the outcome is an error."""
RESULTS: Wishes = {"told_of": lambda want, facts: all(word.lower() in facts.told.lower() for word in want)}
ENTRIES: Wishes = {
    "ids": lambda want, facts: facts.ids == want,
    "ids_set": lambda want, facts: sorted(facts.ids) == sorted(want),
    "ids_prefix": lambda want, facts: facts.ids[: len(want)] == want,
    "n_results": lambda want, facts: len(facts.ids) == want,
    "n_results_min": lambda want, facts: len(facts.ids) >= want,
    "n_results_max": lambda want, facts: len(facts.ids) <= want,
    "total_found": lambda want, facts: facts.total == want,
    "total_found_min": lambda want, facts: facts.total >= want,
    "total_found_max": lambda want, facts: facts.total <= want,
    "scores": lambda want, facts: _same(want, facts.scores),
    "distances": lambda want, facts: _same(want, facts.distances),
    "score_in": lambda want, facts: all(number(score, *want) for score in facts.scores if score is not None),
    "score_null_ok": lambda want, facts: want or None not in facts.scores,
    "distance_in": lambda want, facts: all(number(distance, *want) for distance in facts.distances),
    "distance_monotone": lambda want, facts: not want or all(a <= b + EPSILON for a, b in pairwise(facts.distances)),
    "null_scores_not_ranked_above": lambda want, facts: not want or _unscored_last(facts),
    "text": lambda want, facts: all(facts.text(place) == text for place, text in want.items()),
    "text_contains": lambda want, facts: all(
        text in facts.text(place) for place, texts in want.items() for text in texts
    ),
    "metadata_has_value": lambda want, facts: all(v in facts.metadata(place) for place, vs in want.items() for v in vs),
}
"""Where the outcome is no error."""
OTHERS = ("outcome", "if_error", "cancel_after_s")
"""Words that say what is to be done, or that stand above the others."""
