"""FastGPT: POST /api/core/dataset/searchTest, GET /api/core/dataset/detail, POST /api/core/dataset/list.

Run against v4.8.17 to v4.14.13; read from v4.6 on.
"""

import math
from typing import Any, ClassVar, Literal

from adapters.backend import Backend, Failure
from adapters.options import Options
from adapters.who import Forms
from adapters.words import told_in
from bridge.datasets import Dataset, dataset_records, told
from bridge.errors import AuthError, NotFoundError, RateLimitedError, ResponseError, Retry, UnavailableError
from bridge.hits import Hit, listed, read_each, side_by_side
from bridge.http import Http, Reply
from bridge.links import absolute, hosted
from bridge.question import Question
from bridge.values import counted, filled, joined, mapping, number, text

_KEY = r"\d+ (unAuthApiKey|unAuthorization|openapi)"
_LIMIT = r"(?!429)\d+ (tooManyRequest|\S+ 429)"
_ADDRESS = "Set api_base_url to FastGPT's address, like http://host:3000"
_MODELS = "Check the dataset's embedding and rerank models in FastGPT"
_REQUEST = "Check dataset_id (24 hex digits) and FastGPT's version"
_FAILURES = (
    Failure(_KEY, AuthError, "the API key was refused", "Use an API key of FastGPT (account or app)"),
    Failure(r"\d+ unAuthDataset", AuthError, "the key's owner may not read this dataset", "Use a key of one who may"),
    Failure(r"\d+ unExistDataset|.*Cast to ObjectId", NotFoundError, "the dataset was not found", "Check dataset_id"),
    Failure(
        r"\d+ \S+ \d+ Rate limit", RateLimitedError, "the team's rate limit is reached", "Wait 60 s, or ask less often"
    ),
    Failure(_LIMIT, RateLimitedError, "too many requests", "Wait a second, or ask less often", Retry(1.0, unsent=True)),
    Failure(r"\d+ aiPointsNotEnough", UnavailableError, "the team's AI points are used up", "Buy points in FastGPT"),
    Failure(r"400|\d+ missingParams", ResponseError, "the request was not accepted", _REQUEST),
    Failure("404", NotFoundError, "no FastGPT API here", _ADDRESS),
    Failure(r"500 \S+ \d", UnavailableError, "the search failed inside FastGPT", _MODELS, Retry(tries=2), inside=True),
    Failure(r"200 \S+ \d", ResponseError, "the search was refused", "Check the settings and FastGPT's version"),
)
_MEASURES = (("reRank", "rerank"), ("embedding", "similarity"), ("fullText", "text_rank"))
"""FastGPT's kinds of score and what they measure, the best first."""
FOLDERS = 50
FOLDER_DEPTH = 5
_MISSING = object()
_PAGES = ("/api/", "/imgs/")
"""Where FastGPT serves its files and pictures."""


class FastGPTOptions(Options):
    """How to search in FastGPT."""

    modes: ClassVar[dict[str, str]] = {"semantic": "embedding", "full_text": "fullTextRecall", "hybrid": "mixedRecall"}
    offers: ClassVar[frozenset[str]] = frozenset(
        {"rerank", "rerank_model", "vector_weight", "expand_query", "token_limit"}
    )


class FastGPT(Backend):
    """Datasets that the key's owner may read."""

    product: ClassVar[str] = "FastGPT"
    address_tail: ClassVar[str] = (
        r"/api(/core(/dataset(/\w+)?)?|/v1(/chat(/completions)?)?)?$|/dataset/(list|detail)$|^/dataset$"
    )
    dataset_pattern: ClassVar[str] = r"(?i)(?<![0-9a-f])[0-9a-f]{24}(?![0-9a-f])"
    dataset_hint: ClassVar[str] = "copy the 24 digits out of the dataset's page address in FastGPT"
    filters: ClassVar[bool] = False
    lists: ClassVar[bool] = True
    forms: ClassVar[Forms] = Forms(
        own=r" code:\d+ .*statusText:|(400|413) words;", marks=r" code:\d+ .*statusText:text"
    )
    failures: ClassVar[tuple[Failure, ...]] = _FAILURES

    backend: Literal["fastgpt"] = "fastgpt"
    options: FastGPTOptions = FastGPTOptions()

    async def search(self, question: Question, http: Http) -> list[Hit]:
        async def one(dataset: str) -> list[Hit]:
            answer = await http.post("/api/core/dataset/searchTest", self._payload(question, dataset))
            return self._hits(mapping(answer).get("data", _MISSING), dataset, http, self.enough(question))

        return await side_by_side(self.dataset_id, one)

    async def describe(self, http: Http) -> list[str]:
        found = [mapping((await http.get("/api/core/dataset/detail", {"id": i})).get("data")) for i in self.dataset_id]
        return [f"{one.name}: {one.line}" for one in map(_dataset, found) if one.name]

    async def datasets(self, http: Http) -> list[Dataset]:
        found: list[Dataset] = []
        known: set[str] = set()
        unopened = 0
        folders: list[tuple[str | None, tuple[str, ...]]] = [(None, ())]
        for folder, path in folders:  # which grows on the way
            answer = await http.post("/api/core/dataset/list", {"parentId": folder})
            for item in dataset_records(answer, http, ident="_id"):
                if item["_id"] in known:
                    continue
                known.add(item["_id"])
                if item.get("type") != "folder":
                    found.append(_dataset(item, path))
                elif len(path) < FOLDER_DEPTH and len(folders) <= FOLDERS:
                    folders.append((item["_id"], (*path, text(item.get("name")))))
                else:
                    unopened += 1
        if unopened:
            http.note(
                f"{counted(unopened, 'folder')} not opened: too deep or too many; the id of a dataset can be typed"
            )
        return found

    def accepts(self, reply: Reply) -> bool:
        return super().accepts(reply) and mapping(reply.data).get("code") == 200

    def gist(self, reply: Reply) -> str:
        answer = told_in(reply.data)[0]
        return f"{reply.status} {answer.get('statusText') or '-'} {answer.get('code')} {self.words(answer)}"

    def _payload(self, question: Question, dataset: str) -> dict[str, Any]:
        options = self.options
        mode = "hybrid" if options.vector_weight is not None else options.search_mode
        return {
            "datasetId": dataset,
            "text": question.text,
            "limit": options.token_limit,
            "similarity": options.score_threshold,
            "usingReRank": options.rerank,
            "datasetSearchUsingExtensionQuery": options.expand_query,  # on by default in v4.8.8 to v4.8.20
            **filled(
                searchMode=options.modes.get(mode),
                embeddingWeight=options.vector_weight,
                rerankModel=options.rerank_model if options.rerank else "",
            ),
        }

    def _hits(self, data: Any, dataset: str, http: Http, enough: int | None) -> list[Hit]:
        items = mapping(data).get("list", _MISSING) if isinstance(data, dict) else data
        items = listed(items)
        if items is _MISSING:
            raise ResponseError(f"the answer has no list of passages ({http.seen(data)})", "Check FastGPT's version")
        if self.options.rerank and mapping(data).get("usingReRank") is False:
            http.note("FastGPT searched without the reranker; check its rerank model")
        hits = read_each(items, lambda item: self._hit(item, dataset), http, ("q", "a"), enough)
        rest = [_scores(mapping(item).get("score")) for item in items[len(hits) :]]
        _measure(hits, rest, reranked=mapping(data).get("usingReRank") is not False)
        return hits

    def _hit(self, item: dict[str, Any], dataset: str) -> Hit:
        words, source = joined(text(item.get("q")), text(item.get("a"))), item.get("sourceId")
        return Hit(
            id=text(item.get("id")),
            text=absolute(words, self.api_base_url, _PAGES),
            metadata=filled(
                document_name=text(item.get("sourceName")),
                document_id=text(item.get("collectionId")),
                dataset_id=text(item.get("datasetId")) or dataset,
                url=source if isinstance(source, str) and source.startswith(("http://", "https://")) else "",
                source_id=source,
                position=item.get("chunkIndex"),
                updated_at=item.get("updateTime"),
                image_url=hosted(text(item.get("imagePreivewUrl")), self.api_base_url),
                scores=_scores(item.get("score")),
            ),
        )


def _dataset(info: dict[str, Any], path: tuple[str, ...] = ()) -> Dataset:
    place = f"in {' / '.join(path)}" if path else ""
    line = told(info.get("type"), mapping(info.get("vectorModel")).get("name"), place)
    readable = mapping(info.get("permission")).get("hasReadPer") is not False
    note = "" if readable else "the key's owner may not read it"
    return Dataset(text(info.get("_id")), text(info.get("name")), line, note, readable)


def _scores(score: Any) -> dict[str, float]:
    """Every finite value by its kind; one plain number, as v4.6.5 and older send it, is a similarity."""
    if isinstance(score, list):
        found = {}
        for told in map(mapping, score):
            kind, measured = text(told.get("type")), number(told.get("value"))
            if kind and measured is not None:
                found[kind] = measured
        return found
    value = number(score)
    return {} if value is None else {"embedding": value}


def _measure(hits: list[Hit], rest: list[dict[str, float]], *, reranked: bool) -> None:
    """Score a list by one measure that it or its unread rest has, in its own order; rrf is a rank and never one.

    A hit without the measure gets the smaller of its neighbours' and is marked as estimated.
    """
    measures = _MEASURES if reranked else _MEASURES[1:]
    own = [mapping(hit.metadata.get("scores")) for hit in hits]
    whole = own + rest
    kind, measure = next((pair for pair in measures if any(pair[0] in scores for scores in whole)), ("", ""))
    if not kind:
        return
    logits = kind == "reRank" and any(not 0 <= scores.get(kind, 0) <= 1 for scores in whole)
    scale = _logistic if logits else _bounded if kind == "fullText" else float
    values = [scores.get(kind) for scores in own]
    scaled = [None if v is None else scale(v) for v in values]
    before, after = _nearest(scaled), _nearest(scaled[::-1])[::-1]
    for hit, score, left, right in zip(hits, scaled, before, after, strict=True):
        estimate = 0.0 if right is None else right if left is None else min(left, right)
        hit.score = estimate if score is None else score
        hit.metadata["measure"] = "estimated" if score is None else measure


def _nearest(values: list[float | None]) -> list[float | None]:
    """For each place the last value at or before it that is there."""
    last: float | None = None
    return [last := last if value is None else value for value in values]


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-max(min(value, 500.0), -500.0)))


def _bounded(value: float) -> float:
    """A text engine's sum over words, made bounded in the same order; no similarity."""
    return max(value, 0.0) / (max(value, 0.0) + 1)
