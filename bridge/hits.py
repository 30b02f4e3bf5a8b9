"""What services find: one passage, a list read record by record, and lists joined."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bridge.errors import BridgeError, RateLimitedError, ResponseError
from bridge.http import Http
from bridge.question import Question
from bridge.values import text, worst_last

T = TypeVar("T")
_LINK_QUERY = re.compile(r"""\?\w+=[^\s)"'<>]*""")


@dataclass(slots=True)
class Hit:
    """One passage as the service scored it: `score` unbounded, None without a measure."""

    id: str
    text: str
    score: float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    """`document_name`, `measure`, `document_metadata` (what filters look at first) and whatever else the service says."""
    similarity: float | None = None
    """What a threshold is held against where that isn't the score, as in a service that cuts before it reranks."""


def read_each(
    items: Any,
    read: Callable[[dict[str, Any]], Hit],
    http: Http,
    passages: Sequence[str],
    enough: int | None = None,
) -> list[Hit]:
    """Read a list of records one by one; what is no object or has no passage is left out and counted in a note.

    Null is an empty list, and one object is one record. After `enough` passages the rest is only counted. ResponseError
    where `items` is no list, no record is an object, or none has a field for its passage: `passages` are their names,
    with a dot between an object's and its field's.
    """
    items = listed(items)
    if not isinstance(items, list) or (items and not any(isinstance(item, dict) for item in items)):
        raise ResponseError("the answer holds no list of passages", "Check that api_base_url belongs to this service")
    hits: list[Hit] = []
    looked = 0
    for item in items:
        looked += 1
        hit = read(item) if isinstance(item, dict) else None
        if hit and hit.text.strip():
            hits.append(hit)
            if len(hits) == enough:
                break
    if items and not hits and not any(_has(item, name.split(".")) for item in items for name in passages):
        record = next(item for item in items if isinstance(item, dict))
        raise ResponseError(
            f"no record has a passage ({http.seen(record)})",
            f"One of {', '.join(passages)} is needed; check the version",
        )
    if odd := looked - len(hits):
        http.note(f"{odd} of {len(items)} records had no passage and were left out")
    http.unread += len(items) - looked
    return hits


def listed(items: Any) -> Any:
    """Null as an empty list, one object as a list of it; everything else as it is."""
    if items is None:
        return []
    return [items] if isinstance(items, dict) else items


def _has(value: Any, path: list[str]) -> bool:
    """Whether a field is there, whatever it holds."""
    if not isinstance(value, dict) or path[0] not in value:
        return False
    return len(path) == 1 or _has(value[path[0]], path[1:])


async def side_by_side(ids: Sequence[str], search: Callable[[str], Awaitable[list[Hit]]]) -> list[Hit]:
    """Search several datasets at once; the lists are merged as `merged` says.

    The first dataset that fails fails the whole, and is named.
    """
    if len(ids) == 1:
        return await search(ids[0])

    async def one(dataset: str) -> list[Hit]:
        try:
            return await search(dataset)
        except BridgeError as error:
            error.dataset = dataset
            raise

    return merged(await _at_once([one(dataset) for dataset in ids]))


async def in_pieces(question: Question, search: Callable[[Question], Awaitable[list[Hit]]], http: Http) -> list[Hit]:
    """Search for a question, or for all pieces of a long one at once.

    The lists are merged as `merged` says; a passage that several pieces find counts once. Pieces that are refused
    because the service wants fewer requests are left out and counted in a note, while one is answered. Any other failure
    of a piece fails the whole.
    """
    if not question.more:
        return await search(question)

    async def one(piece: Question) -> list[Hit] | RateLimitedError:
        try:
            return await search(piece)
        except RateLimitedError as error:
            return error

    found = await _at_once([one(piece) for piece in question.pieces])
    answered = [hits for hits in found if not isinstance(hits, RateLimitedError)]
    refused = [error for error in found if isinstance(error, RateLimitedError)]
    if not answered:
        raise refused[0]
    if refused:
        http.note(
            f"{len(refused)} of the {len(found)} pieces were not answered, since the service wants fewer requests"
        )
    return _once(merged(answered))


async def _at_once(calls: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What all calls return, in their order; the first that fails ends the others."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]


def _once(hits: list[Hit]) -> list[Hit]:
    """Each passage where it comes first, with the best of its scores that can be compared.

    It is known by document and text: an id may be another one in another list, and links are signed anew.
    """
    best: dict[tuple[str, ...], Hit] = {}
    for hit in hits:
        dataset, document = (text(hit.metadata.get(name)) for name in ("dataset_id", "document_name"))
        name = (dataset, document, _LINK_QUERY.sub("", hit.text))
        kept = best.setdefault(name, hit)
        if worst_last(hit.score) < worst_last(kept.score) and _comparable((kept, hit)):
            best[name] = hit
    return list(best.values())


def merged(lists: Iterable[list[Hit]]) -> list[Hit]:
    """One list of several ranked ones: by score where every hit has one of the same measure, else in turns by rank."""
    ranked = [(rank, hit) for hits in lists for rank, hit in enumerate(hits)]
    if all(hit.score is not None for _, hit in ranked) and _comparable(hit for _, hit in ranked):
        return sorted((hit for _, hit in ranked), key=lambda hit: worst_last(hit.score))
    return [hit for _, hit in sorted(ranked, key=lambda pair: pair[0])]


def _comparable(hits: Iterable[Hit]) -> bool:
    """Whether the scores that these hits have are of one measure."""
    return len({hit.metadata.get("measure") for hit in hits if hit.score is not None} - {"estimated"}) < 2
