"""AnythingLLM: POST /api/v1/workspace/{slug}/vector-search, GET /api/v1/workspace/{slug}, GET /api/v1/workspaces.

Run against 1.16.0 with LanceDB; read from v1.7.4 on, and for its other vector stores.
"""

import re
from collections import Counter
from typing import Any, ClassVar, Literal
from urllib.parse import quote, unquote

from adapters.backend import Backend, Failure
from adapters.options import Options
from adapters.who import Forms
from bridge.datasets import Dataset, dataset_records
from bridge.errors import AuthError, NotFoundError, ResponseError, Retry, UnavailableError
from bridge.hits import Hit, listed, read_each, side_by_side
from bridge.http import Http
from bridge.question import Question
from bridge.values import counted, digest, filled, link_in, mapping, number, text

CANDIDATES = 100
"""Passages that are asked for where a filter drops some here."""
_KEY = "Use a key of Settings > API keys; if it is right, check AnythingLLM's database"
_SLUG = "Check dataset_id (the slug in the workspace's page address); if it is right, AnythingLLM's database"
_LOG = "Read AnythingLLM's log; check its embedder, chat provider and vector store"
_FAILURES = (
    Failure("403  No valid api key", AuthError, "the API key was refused", _KEY, Retry(tries=2)),
    Failure("403 ", ResponseError, "something in front of AnythingLLM refused the request", "Let it pass there"),
    Failure("400  Workspace .*not a valid", NotFoundError, "the workspace was not found", _SLUG),
    Failure("500 page", UnavailableError, "the search failed and nothing says why", _LOG, Retry(tries=2)),
)
_HEADER = re.compile(
    r"[^\n<]{0,60}<document_metadata>(.*?)</document_metadata>\s*|(?:search_document|passage): ", re.DOTALL
)
"""What AnythingLLM puts before a passage for its embedder: the document's data, or an embedder's word alone."""


class AnythingLLMOptions(Options):
    """How to search in AnythingLLM: by meaning; whether the hits are reranked is the workspace's own setting."""

    modes: ClassVar[dict[str, str]] = {"semantic": "semantic"}


class AnythingLLM(Backend):
    """Workspaces of one AnythingLLM server; its keys open all of them."""

    product: ClassVar[str] = "AnythingLLM"
    address_tail: ClassVar[str] = r"/(api|v1|workspace|settings|login)(/.*)?$"
    dataset_pattern: ClassVar[str] = r"(?<=/workspace/)[^/?#\s]+|^[^/?#\s]+$"
    dataset_hint: ClassVar[str] = "copy what follows /workspace/ in the workspace's page address"
    filters: ClassVar[bool] = False
    lists: ClassVar[bool] = True
    forms: ClassVar[Forms] = Forms(own=r"403 error:text;|400 message:text;|500 words;")
    failures: ClassVar[tuple[Failure, ...]] = _FAILURES

    backend: Literal["anything_llm"] = "anything_llm"
    options: AnythingLLMOptions = AnythingLLMOptions()

    def _dataset_ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(unquote, super()._dataset_ids())))  # as browsers write an address

    async def search(self, question: Question, http: Http) -> list[Hit]:
        async def one(workspace: str) -> list[Hit]:
            answer = await http.post(f"{_path(workspace)}/vector-search", self._payload(question))
            if "results" not in mapping(answer):
                raise ResponseError(f"the answer has no results ({http.seen(answer)})", "Check AnythingLLM's version")
            records = listed(answer["results"])
            if not records:
                self._explain_nothing(workspace, text(answer.get("message")), http)
            return _hits(records, workspace, http, self.enough(question))

        return await side_by_side(self.dataset_id, one)

    async def describe(self, http: Http) -> list[str]:
        lines = []
        for workspace in self.dataset_id:
            found = listed(mapping(await http.get(_path(workspace))).get("workspace"))
            for info in map(mapping, found if isinstance(found, list) else ()):
                documents = info.get("documents")
                count = counted(len(documents), "document") if isinstance(documents, list) else "its documents not told"
                lines += [f"{info['name']}: {count}, {_ranked(info)}"] if info.get("name") else []
        return lines

    async def datasets(self, http: Http) -> list[Dataset]:
        found = dataset_records(await http.get("/api/v1/workspaces"), http, "workspaces", "slug")
        return [Dataset(info["slug"], text(info.get("name")), _ranked(info)) for info in found]

    def _payload(self, question: Question) -> dict[str, Any]:
        """The whole request; what is left out or out of bounds would silently be the workspace's own."""
        options = self.options
        return {
            "query": question.text,
            "topN": CANDIDATES if question.where.conditions else options.top_k,
            "scoreThreshold": options.score_threshold,
        }

    def _explain_nothing(self, workspace: str, said: str, http: Http) -> None:
        """Note what may be behind an empty answer; a vector store or reranker that fails looks like nothing found."""
        if said:
            http.note(f"workspace {workspace}: {http.privacy.quote(said)}; add documents, or check its vector store")
        elif not self.options.score_threshold:
            http.note(f"workspace {workspace} has documents and found none; if it reranks, its reranker failed")


def _path(workspace: str) -> str:
    return f"/api/v1/workspace/{quote(workspace, safe='')}"


def _ranked(info: dict[str, Any]) -> str:
    return "reranked" if info.get("vectorSearchMode") == "rerank" else "ranked by similarity"


def _hits(records: Any, workspace: str, http: Http, enough: int | None) -> list[Hit]:
    """The hits in their order, with scores that are true.

    A passage less alike than orthogonal comes with score 1. Stores that tell no distance show it by the order alone.
    """
    ids = Counter(text(mapping(record).get("id")) for record in records) if isinstance(records, list) else Counter()
    hits = read_each(records, lambda record: _hit(record, workspace, ids), http, ("text",), enough)
    lower = False
    for hit in hits:
        if lower and hit.score == 1:
            hit.score = None
            del hit.metadata["measure"]
        lower = lower or (hit.score is not None and hit.score < 1)
    if hits and all(hit.score is None for hit in hits):
        http.note(f"AnythingLLM measured no passage of workspace {workspace}; check its embedder")
    return hits


def _hit(record: dict[str, Any], workspace: str, ids: Counter[str]) -> Hit:
    words, head = _passage(text(record.get("text")))
    told, ident = mapping(record.get("metadata")), text(record.get("id"))
    source = text(told.get("chunkSource"))
    link = source.removeprefix("link://") if source.startswith("link://") else head.get("source")
    document = filled(title=head.get("sourceDocument"), published=head.get("published"), source=link)
    document |= {name: value for name, value in told.items() if name != "chunkSource"}
    title = text(told.get("title")) or head.get("sourceDocument", "")
    score, similarity = _measured(number(record.get("score")), number(record.get("distance")))
    return Hit(
        # several stores give the id of the document, the same for all its passages, or none
        id=ident if ident and ids[ident] == 1 else digest(workspace, title, words),
        text=words,
        score=score,
        similarity=similarity,
        metadata=filled(
            document_name=title,
            dataset_id=workspace,
            measure="" if score is None else "similarity" if similarity is None else "rerank",
            document_metadata=document,
            url=link_in(document),
        ),
    )


def _measured(score: float | None, distance: float | None) -> tuple[float | None, float | None]:
    """The true score, and the similarity beside it where the score is a reranker's, which nothing else tells."""
    if distance is None:
        return score, None
    similarity = 1 - distance
    raw = 1 if distance >= 1 else 1 - abs(distance)
    reranked = score is not None and abs(score - raw) > 1e-6
    return (score, similarity) if reranked else (similarity, None)


def _passage(words: str) -> tuple[str, dict[str, str]]:
    """A passage without what stands before it for the embedder, and the document's data from there."""
    found = _HEADER.match(words)
    if not found:
        return words, {}
    pairs = (line.partition(": ") for line in (found[1] or "").splitlines())
    return words[found.end() :], {name: value for name, _, value in pairs if value}
