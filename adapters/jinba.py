"""Jinba: a published flow, POST /api/v2/external/flows/{id}/published-run, or a search URL. Known from its documentation."""

from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import quote

from pydantic import BeforeValidator, model_validator

from adapters.backend import Backend, Failure
from adapters.options import Options
from adapters.who import Forms
from adapters.words import told_in
from bridge.errors import AuthError, NotFoundError, ResponseError, SettingsError
from bridge.hits import Hit, read_each
from bridge.http import Http, Reply
from bridge.question import Question
from bridge.settings import Texts, parsed
from bridge.values import filled, from_json, link_in, mapping, number, text, worst_last

TOP_K_LIMIT = 50
DEPTH_LIMIT = 6
_FAILURES = (
    Failure(
        "40[13]",
        AuthError,
        "the API key was refused",
        "Use the key in the flow's own settings; a new key ends the old one",
    ),
    Failure(
        "404 page",
        NotFoundError,
        "no such flow or API here",
        "Check api_base_url, then flow_id and that it is published",
    ),
    Failure(
        "404", NotFoundError, "the flow was not found", "Check flow_id and api_base_url, and that the flow is published"
    ),
    Failure(
        "400", SettingsError, "the flow did not take the arguments", "Check query_arg and the other names of arguments"
    ),
    Failure(r"2\d\d (?!page)", ResponseError, "the flow failed", "Read the run in Jinba"),
)


class JinbaOptions(Options):
    """How to search in Jinba: by meaning, as the flow is made."""

    modes: ClassVar[dict[str, str]] = {"semantic": "semantic"}

    long_query: Annotated[Literal["cut"], BeforeValidator(lambda value: "cut" if value == "split" else value)] = "cut"
    """Every run costs credits, so that what splits elsewhere cuts here."""


class Jinba(Backend):
    """A flow that searches a knowledge base, or any URL that takes query, knowledgeBaseId, topK and threshold."""

    product: ClassVar[str] = "Jinba"
    address_tail: ClassVar[str] = r"/api(/v2(/external(/flows(/[^/]+(/published-run)?)?)?)?)?$"
    filters: ClassVar[bool] = False
    forms: ClassVar[Forms] = Forms(
        own=r" status:text| stepOutputs:|^((?!error:\{code details).)* success:(true|false)",
        marks=r" stepOutputs:\{| error:\{(message )?name( traceback)?( value)?\} (\S+ )*status:text| runId:text status:text;",
        loose=True,  # the documentation says nothing about the bodies of errors
    )
    failures: ClassVar[tuple[Failure, ...]] = _FAILURES
    resend: ClassVar[bool] = False  # every run costs credits, and a flow may do more than search

    backend: Literal["jinba"] = "jinba"
    route: Literal["published_flow", "search_url"] = "published_flow"
    api_base_url: str = "https://api.jinba.dev"
    dataset_id: Texts = ()
    flow_id: str = ""
    query_arg: str = "query"
    knowledge_base_arg: str = ""
    top_k_arg: str = ""
    threshold_arg: str = ""
    step_id: str = ""
    options: JinbaOptions = JinbaOptions()

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.route == "published_flow" and not self.flow_id:
            raise ValueError("flow_id is missing; copy it from the flow's settings in Jinba")
        if not self.dataset_id and (self.route == "search_url" or self.knowledge_base_arg):
            raise ValueError("dataset_id is missing; enter the id of Jinba's knowledge base")
        if len(self.dataset_id) > 1:
            raise ValueError("dataset_id takes one knowledge base here")
        return self

    @property
    def key_owner(self) -> tuple[str | int | None, ...]:
        """Also the route: a flow has a key of its own."""
        return *super().key_owner, self.route

    @property
    def takes_own_query(self) -> bool:
        return self.route == "search_url"

    def _address(self) -> str:
        if self.route == "search_url":
            return parsed(self.api_base_url)._replace(query="", fragment="").geturl()
        return super()._address()

    def _dataset_ids(self) -> tuple[str, ...]:
        return self.dataset_id

    async def search(self, question: Question, http: Http) -> list[Hit]:
        if self.options.top_k > TOP_K_LIMIT:
            http.note(f"Jinba searches for at most {TOP_K_LIMIT} passages")
        knowledge = self.dataset_id[0] if self.dataset_id else ""
        values = (question.text, knowledge, min(self.options.top_k, TOP_K_LIMIT), self.options.score_threshold)
        if self.route == "search_url":
            names = ("query", "knowledgeBaseId", "topK", "threshold")
            answer = await http.post("", dict(zip(names, values, strict=True)))
        else:
            names = (self.query_arg, self.knowledge_base_arg, self.top_k_arg, self.threshold_arg)
            args = [{"name": name, "value": value} for name, value in zip(names, values, strict=True) if name]
            path = f"/api/v2/external/flows/{quote(self.flow_id, safe='')}/published-run"
            answer = await http.post(path, {"args": args, "mode": "sync"})
        records = sorted(self._records(answer, http), key=lambda record: worst_last(mapping(record).get("score")))
        return read_each(
            records, lambda record: _hit(record, knowledge), http, ("chunk.content",), self.enough(question)
        )

    def accepts(self, reply: Reply) -> bool:
        answer = mapping(reply.data)
        return super().accepts(reply) and answer.get("status") != "failed" and answer.get("success") is not False

    def words(self, data: Any) -> str:
        name = text(told_in(data)[0].get("name"))
        return f"{name}: {super().words(data)}".strip(": ")

    def _records(self, answer: Any, http: Http) -> list[Any]:
        """The list of hits in what a flow left, wherever it stands; an answer without one is an error, not "no hits"."""
        steps = mapping(mapping(answer).get("stepOutputs"))
        if self.step_id:
            places = [mapping(steps.get(self.step_id)).get("result")]
        elif isinstance(answer, dict):
            results = (mapping(step).get("result") for step in steps.values())
            places = [answer.get("result"), answer.get("output"), answer, *results]
        else:
            places = [answer] if self.route == "search_url" else []
        found = next((records for place in places if (records := _found(place)) is not None), None)
        if found is not None:
            return found
        failed = next((step for step in map(mapping, steps.values()) if step.get("status") == "failed"), None)
        if failed:
            raise ResponseError(
                f"a step of the flow failed ({http.privacy.quote(self.words(failed))})", "Read the run in Jinba"
            )
        if mapping(answer).get("runId") and "result" not in mapping(answer):
            raise ResponseError("the flow ran async and left no result", "Publish a flow that can run sync")
        seen = http.seen(answer) + (f"; steps: {http.privacy.quote(', '.join(list(steps)[:8]))}" if steps else "")
        raise ResponseError(
            f"the flow's answer has no search result ({seen})", "End it with the search, or set step_id"
        )


def _found(value: Any, depth: int = DEPTH_LIMIT) -> list[Any] | None:
    """The list of hits in `value`: three nestings are documented, and a result may be JSON in a text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        value, _ = from_json(value)
    if isinstance(value, list):
        return value if not value or any(map(_is_record, value)) else None
    if not isinstance(value, dict) or not depth:
        return None
    if _is_record(value):
        return [value]
    if "results" in value and not value["results"]:  # an empty list is an answer only where it names its search
        return [] if value.keys() & {"query", "totalResults"} else None
    places = (value.get(name) for name in ("results", "result", "output", "data"))
    return next((records for place in places if (records := _found(place, depth - 1)) is not None), None)


def _is_record(value: Any) -> bool:
    return "content" in mapping(mapping(value).get("chunk"))


def _passage(record: Any) -> str:
    return text(mapping(mapping(record).get("chunk")).get("content"))


def _hit(record: dict[str, Any], knowledge: str) -> Hit:
    chunk, file = mapping(record.get("chunk")), mapping(record.get("file"))
    document = mapping(chunk.get("metadata"))
    return Hit(
        id=text(chunk.get("id")),
        text=_passage(record),
        score=number(record.get("score")),
        metadata=filled(
            document_name=text(file.get("filename")) or text(chunk.get("fileId")),
            document_id=text(chunk.get("fileId")),
            dataset_id=knowledge,
            measure="similarity",
            content_type=file.get("contentType"),
            document_metadata=document,
            url=link_in(document),
        ),
    )
