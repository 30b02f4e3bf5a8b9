"""What a key may read: one dataset as a service lists it, and lists read record by record and page by page."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from bridge.errors import ResponseError
from bridge.http import Http
from bridge.values import mapping, number, text

PAGE_SIZE = 100
PAGES = 20
"""Pages after which a list is left as it is."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """One that a knowledge base can be made of."""

    id: str
    name: str
    line: str
    """Its kind, size and embedding model, as far as the service tells them."""
    note: str = ""
    """Why it can't be searched, or only in one way; or that nothing is in it yet."""
    searchable: bool = True
    group: str = ""
    """Only datasets of one group can be searched together; blank where all can."""


def dataset_records(answer: Any, http: Http, name: str = "data", ident: str = "id") -> list[dict[str, Any]]:
    """The records of an answer's list called `name` that have an id; null is an empty list.

    ResponseError where there is no such list, or no record of it has an id.
    """
    whole = mapping(answer)
    items = whole.get(name)
    found = [item for item in items if text(mapping(item).get(ident))] if isinstance(items, list) else []
    if name not in whole or (not found and items not in (None, [])):
        raise ResponseError(f"the answer has no list of datasets ({http.seen(answer)})", "Check the service's version")
    return found


async def paged(
    ask: Callable[[int], Awaitable[Any]], read: Callable[[dict[str, Any]], Dataset], http: Http, total: str
) -> list[Dataset]:
    """The whole of a list that a service gives page by page, from 1 on; after PAGES the rest is left out with a note.

    It ends with what the answer calls `total`, or with a page that brings nothing new, whatever a page says about more.
    """
    found: dict[str, Dataset] = {}
    for page in range(1, PAGES + 1):
        answer = await ask(page)
        before, whole = len(found), number(mapping(answer).get(total))
        for dataset in map(read, dataset_records(answer, http)):
            found.setdefault(dataset.id, dataset)
        if len(found) == before or (whole is not None and len(found) >= whole):
            break
    else:
        http.note(f"only the first {len(found)} datasets are listed; the id of another can be typed")
    return list(found.values())


def told(*facts: Any) -> str:
    """The texts among the facts, in one line."""
    return ", ".join(" ".join(fact.split()) for fact in facts if text(fact).strip())
