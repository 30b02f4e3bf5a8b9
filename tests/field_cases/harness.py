"""Run field cases against a LangBot knowledge plugin, as a black box over real loopback sockets.

    python tests/field_cases/harness.py --plugin DIR CASES.json [--only ID] [--backend NAME] [--json OUT]

The plugin is loaded the way the SDK loads it, a small HTTP server plays the remote service, and the
outcome of `engine.retrieve(...)` and the requests that arrived are compared with each case's `expect`.
Each case is a failure of people who did this job; `right` says in words what must come out.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import copy
import importlib
import importlib.util
import io
import json
import logging
import math
import os
import re
import signal
import socket
import ssl
import struct
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import trustme
import yaml

CASE_LIMIT_S = 60
SEARCH_MODES = {
    "semantic_search": "semantic", "full_text_search": "full_text", "hybrid_search": "hybrid", "keyword_search": "keyword",
    "embedding": "semantic", "fullTextRecall": "full_text", "mixedRecall": "hybrid",
}
RENAMED_CREATION = {"base_url": "api_base_url", "dataset_ids": "dataset_id", "knowledge_base_id": "dataset_id",
                    "knowledge_id": "dataset_id", "verify_ssl": "verify_tls"}
RENAMED_RETRIEVAL = {"search_method": "search_mode", "use_kg": "use_knowledge_graph", "timeout_s": "timeout"}
ROUTES = {
    "dify": r"/v1/datasets/[^/]+/(retrieve|hit-testing)$",
    "ragflow": r"/{1,2}api/v1/retrieval/?$",
    "fastgpt": r"/api/core/dataset/searchTest$",
    "jinba": r"/api/v2/external/flows/[^/]+/published-run$",
    "external_knowledge": r".*/retrieval$",
}


# ---------------------------------------------------------------- the plugin

def load_class(root: Path, file: Path, attr: str) -> type:
    file = file.resolve()
    if not file.is_relative_to(root):
        raise SystemExit(f"{file} lies outside the plugin")
    name = ".".join(file.relative_to(root).with_suffix("").parts)
    return getattr(importlib.import_module(name), attr)


def load_plugin(root: Path) -> tuple[type, type]:
    """The plugin class and the class of its first engine, as the manifest names them."""
    manifest = yaml.safe_load((root / "manifest.yaml").read_text("utf-8"))
    plugin = manifest["execution"]["python"]
    first = (root / manifest["spec"]["components"]["KnowledgeEngine"]["fromFiles"][0]).resolve()
    engine = yaml.safe_load(first.read_text("utf-8"))["execution"]["python"]
    return (load_class(root, root / plugin["path"], plugin["attr"]),
            load_class(root, first.parent / engine["path"], engine["attr"]))


async def make_engine(classes: tuple[type, type], config: dict[str, Any]) -> Any:
    plugin = classes[0]()
    plugin.config = config
    plugin.plugin_runtime_handler = None
    await plugin.initialize()
    engine = classes[1]()
    engine.plugin = plugin
    await engine.initialize()
    return engine


def plugin_settings(backend: str, settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The case's neutral names under the plugin's own names: (creation, retrieval)."""
    creation: dict[str, Any] = {"backend": backend}
    retrieval: dict[str, Any] = {}
    for name, value in settings["creation"].items():
        if name == "timeout_s":
            retrieval["timeout"] = value
        else:
            creation[RENAMED_CREATION.get(name, name)] = value
    given = dict(settings["retrieval"])
    if given.pop("score_threshold_enabled", None) is False:
        given["score_threshold"] = 0
    for name, value in given.items():
        if name == "search_method" and isinstance(value, str):
            value = SEARCH_MODES.get(value, value)
        retrieval[RENAMED_RETRIEVAL.get(name, name)] = value
    return creation, retrieval


class Loop(asyncio.SelectorEventLoop):
    """An event loop that notices refused connections."""

    refused = 0
    on_refused: Any = None

    async def sock_connect(self, sock: socket.socket, address: Any) -> Any:
        try:
            return await super().sock_connect(sock, address)
        except ConnectionRefusedError:
            self.refused += 1
            if self.on_refused:
                self.on_refused()
            raise


# ---------------------------------------------------------------- the remote service

class ServerThread:
    """One thread with an event loop of its own, so that a plugin that blocks can't block the service."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(lambda *_: None)
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def do(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(10)


class Request:
    def __init__(self, method: str, target: str, headers: dict[str, str], raw: bytes) -> None:
        self.method, self.headers, self.raw, self.target = method, headers, raw, target
        self.path, _, query = target.partition("?")
        self.query = parse_qs(query)
        try:
            self.body = json.loads(raw.decode("utf-8"))
        except ValueError:
            self.body = None


class Site:
    """One listening address. It answers as the case says and remembers what it was asked."""

    def __init__(self, case: dict[str, Any] | None, tls: ssl.SSLContext | None = None) -> None:
        self.case, self.tls = case, tls
        self.requests: list[Request] = []
        self.hang_ups = 0
        self.turn = 0
        self.server: asyncio.Server | None = None
        self.writers: set[asyncio.StreamWriter] = set()
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.host = "127.0.0.1:%d" % self.socket.getsockname()[1]
        self.base = ("https://" if tls else "http://") + self.host

    async def open(self) -> None:
        if self.server is None:
            self.server = await asyncio.start_server(self.serve, sock=self.socket, ssl=self.tls)

    async def close(self) -> None:
        if self.server is not None:
            self.server.close()
        for writer in list(self.writers):
            writer.transport.abort()
        self.socket.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.add(writer)
        try:
            while request := await self.read(reader):
                self.requests.append(request)
                if not await self.answer(request, reader, writer):
                    break
        except (OSError, EOFError, asyncio.LimitOverrunError, ValueError):
            pass
        finally:
            self.writers.discard(writer)
            writer.close()

    async def read(self, reader: asyncio.StreamReader) -> Request | None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        except asyncio.IncompleteReadError:
            return None
        method, target, _ = head[0].split(" ", 2)
        headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        raw = b""
        if headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
                raw += await reader.readexactly(size)
                await reader.readexactly(2)
            await reader.readuntil(b"\r\n")
        elif length := int(headers.get("content-length") or 0):
            raw = await reader.readexactly(length)
        return Request(method, target, headers, raw)

    async def answer(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        answer = pick(self, request) if self.case else {"status": 200, "body": {}}
        if answer.get("delay_s"):
            gone = asyncio.ensure_future(reader.read(1))
            done, _ = await asyncio.wait({gone}, timeout=answer["delay_s"])
            if done:
                self.hang_ups += 1
                return False
            gone.cancel()
        if answer.get("fault") == "reset":
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return False
        if answer.get("fault") == "drop":
            return False
        if "raw_body" in answer:
            body = answer["raw_body"].encode("utf-8")
        else:
            content = answer.get("body")
            if answer.get("paginate"):
                content = copy.deepcopy(content)
                page, size = int(request.body.get("page", 1)), int(request.body.get("page_size", 30))
                content["data"]["chunks"] = content["data"]["chunks"][(page - 1) * size:page * size]
            body = json.dumps(content, ensure_ascii=False).encode("utf-8")
        headers = {"content-type": "application/json", **answer.get("headers", {}),
                   "content-length": str(answer.get("content_length", len(body)))}
        head = f"HTTP/1.1 {answer['status']} Status\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n"
        cut = answer.get("cut_at")
        writer.write(head.encode("latin-1") + (body if cut is None else body[:cut]))
        await writer.drain()
        return cut is None and int(headers["content-length"]) == len(body) and request.headers.get("connection", "") != "close"


def dig(value: Any, path: str) -> Any:
    for part in path.split("."):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def has(value: Any, path: str) -> bool:
    parent, _, last = path.rpartition(".")
    holder = dig(value, parent) if parent else value
    return isinstance(holder, dict) and last in holder


def met(when: dict[str, Any], path: str, body: Any) -> bool:
    number = (int, float)
    return (
        path.startswith(when.get("path_prefix", ""))
        and all(dig(body, k) == v for k, v in when.get("json", {}).items())
        and all(isinstance(dig(body, k), number) and dig(body, k) > v for k, v in when.get("json_gt", {}).items())
        and all(len(str(dig(body, k) or "")) > v for k, v in when.get("json_len_gt", {}).items())
        and ("json_has" not in when or when["json_has"] in json.dumps(body, ensure_ascii=False))
        and all(len(dig(body, k) or []) > v for k, v in when.get("json_list_len_gt", {}).items())
        and all(v in (dig(body, k) or []) for k, v in when.get("json_contains", {}).items())
        and ("json_lacks_any" not in when or any(not has(body, k) for k in when["json_lacks_any"]))
        and ("json_not" not in when or all(dig(body, k) != v for k, v in when["json_not"].items()))
    )


def pick(site: Site, request: Request) -> dict[str, Any]:
    case = site.case
    answers = case["server_answers"]
    looks_only = request.method == "GET"
    fitting = [a for a in answers if "when" in a and met(a["when"], request.path, request.body)
               and not (looks_only and set(a["when"]) - {"path_prefix"})]
    queue = [a for a in answers if "when" not in a and a.get("fault") != "connect_error"]
    if looks_only:
        for look_up in case.get("look_ups", []):
            if request.path.startswith(look_up["path_prefix"]):
                return look_up
        lasting = fitting[0] if fitting else queue[-1] if queue else None
        if lasting and lasting_trouble(case["backend"], lasting):
            return lasting
        return {**look_up_answer(case, request), "delay_s": (lasting or {}).get("delay_s", 0)}
    if not on_route(case, request.path):
        return fitting[0] if fitting else not_found(case["backend"], request.path)
    if fitting:
        return fitting[0]
    if not queue:
        return not_found(case["backend"], request.path)
    site.turn += 1
    return queue[min(site.turn, len(queue)) - 1]


def on_route(case: dict[str, Any], path: str) -> bool:
    if (dig(case, "settings.creation.route")) == "search_url":
        return path == urlsplit(case["settings"]["creation"]["base_url"].strip()).path
    return re.fullmatch(ROUTES[case["backend"]], path) is not None


def lasting_trouble(backend: str, answer: dict[str, Any]) -> bool:
    """Whether a look-up beside the search would meet the same trouble."""
    if answer.get("fault"):
        return True
    if answer["status"] in (301, 302, 307, 308, 401, 403, 404, 429) or answer["status"] >= 500:
        # FastGPT's code 500 comes from its embedding service, which a look-up doesn't need
        return dig(answer.get("body"), "code") != 500 or backend != "fastgpt"
    if "html" in answer.get("headers", {}).get("content-type", ""):
        return True
    body = answer.get("body")
    if backend == "ragflow" and isinstance(body, dict):
        return body.get("code") in (102, 108, 109, 401) or body.get("data") is False
    return backend == "fastgpt" and isinstance(body, dict) and body.get("code") not in (200, 500)


def not_found(backend: str, path: str) -> dict[str, Any]:
    if backend == "ragflow":
        return {"status": 404, "body": {"code": 404, "data": None, "error": "Not Found", "message": f"Not Found: {path}"}}
    if backend in ("dify", "fastgpt"):
        version = {"X-Version": "1.14.2"} if backend == "dify" else {}
        return {"status": 404, "headers": {"content-type": "text/html; charset=utf-8", **version},
                "raw_body": "<!doctype html><html lang=en><title>404 Not Found</title><h1>Not Found</h1></html>"}
    return {"status": 404, "body": {"message": "Not Found"}}


def look_up_answer(case: dict[str, Any], request: Request) -> dict[str, Any]:
    """What a healthy service says to the GET that a client may send before it searches."""
    backend, path = case["backend"], request.path
    if backend == "dify" and (m := re.fullmatch(r"/v1/datasets/([^/]+)(/metadata)?", path)):
        fields = [{"id": "m1", "name": "category", "type": "string"}, {"id": "m2", "name": "year", "type": "number"}]
        headers = {"X-Version": "1.14.2"}
        if m[2]:
            fields = [{**f, "count": 1} for f in fields]
            return {"status": 200, "headers": headers, "body": {"doc_metadata": fields, "built_in_field_enabled": False}}
        return {"status": 200, "headers": headers, "body": {
            "id": m[1], "name": "handbook", "description": "", "provider": "vendor", "permission": "all_team_members",
            "data_source_type": "upload_file", "indexing_technique": "high_quality", "doc_form": "text_model",
            "document_count": 3, "total_documents": 3, "total_available_documents": 3, "word_count": 307,
            "embedding_model": "made-up-embedding", "embedding_model_provider": "made/up/provider", "embedding_available": True,
            "enable_api": True, "built_in_field_enabled": False, "doc_metadata": fields, "tags": [],
            "retrieval_model_dict": {
                "search_method": "semantic_search", "reranking_enable": False, "reranking_mode": None,
                "reranking_model": {"reranking_provider_name": "", "reranking_model_name": ""}, "weights": None,
                "top_k": 2, "score_threshold_enabled": False, "score_threshold": None},
            "external_knowledge_info": {"external_knowledge_id": None, "external_knowledge_api_id": None,
                                        "external_knowledge_api_name": None, "external_knowledge_api_endpoint": None},
            "external_retrieval_model": {"top_k": 2, "score_threshold": 0.0, "score_threshold_enabled": None}}}
    if backend == "ragflow" and path.rstrip("/") == "/api/v1/datasets":
        ids = request.query.get("id") or request.query.get("ids") or ["0" * 32]
        return {"status": 200, "body": {"code": 0, "total_datasets": len(ids), "data": [
            {"id": i, "name": "handbook", "embedding_model": "made-up@provider", "chunk_count": 7, "document_count": 2,
             "chunk_method": "naive", "permission": "me", "pagerank": 0, "similarity_threshold": 0.2,
             "vector_similarity_weight": 0.3, "status": "1", "token_num": 35} for i in ids]}}
    if backend == "fastgpt" and path == "/api/core/dataset/detail":
        return {"status": 200, "body": {"code": 200, "statusText": "", "message": "", "data": {
            "_id": request.query.get("id", [""])[0], "name": "handbook", "type": "dataset", "status": "active", "intro": "",
            "vectorModel": {"model": "made-up", "name": "made-up"}, "permission": {"isOwner": True, "hasReadPer": True}}}}
    return not_found(backend, path)


_TLS: ssl.SSLContext | None = None


def self_signed() -> ssl.SSLContext:
    """A certificate that nobody trusts."""
    global _TLS
    if _TLS is None:
        _TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert("127.0.0.1").configure_cert(_TLS)
    return _TLS


# ---------------------------------------------------------------- what a real server would refuse

def refusal(backend: str, body: Any) -> str | None:
    """Why a real service would not take this search request; None if it would."""
    def number(x: Any, low: float, high: float = math.inf) -> bool:
        return isinstance(x, (int, float)) and not isinstance(x, bool) and low <= x <= high

    if not isinstance(body, dict):
        return "the body is no JSON object"
    if backend == "dify":
        model = body.get("retrieval_model")
        if not isinstance(body.get("query"), str) or not 0 < len(body["query"]) <= 250:
            return "query must be a text of 1 to 250 characters"
        if "external_retrieval_model" in body or "metadata_filtering_conditions" in body:
            return "a field stands beside retrieval_model that belongs inside it or nowhere"
        if model is not None:
            methods = ("semantic_search", "full_text_search", "hybrid_search", "keyword_search")
            if not isinstance(model, dict) or model.get("search_method") not in methods:
                return "retrieval_model.search_method is missing or unknown"
            if not all(isinstance(model.get(k), bool) for k in ("reranking_enable", "score_threshold_enabled")):
                return "retrieval_model needs reranking_enable and score_threshold_enabled as booleans"
            if not number(model.get("top_k"), 1) or isinstance(model["top_k"], float):
                return "retrieval_model.top_k must be a whole number from 1"
            if model.get("score_threshold") is not None and not number(model["score_threshold"], -math.inf):
                return "retrieval_model.score_threshold must be a number or null"
            if (model.get("metadata_filtering_conditions") or {"conditions": [1]}).get("conditions") == []:
                return "an empty condition list lets every document pass"
    elif backend == "ragflow":
        ids, condition = body.get("dataset_ids"), body.get("metadata_condition")
        if not isinstance(ids, list) or not ids or not all(isinstance(i, str) and i for i in ids):
            return "dataset_ids must be a list of texts and not empty"
        if not isinstance(body.get("question"), str) or not body["question"].strip():
            return "question must be a text"
        if "page_size" in body and (not number(body["page_size"], 1, 100) or isinstance(body["page_size"], float)):
            return "page_size must be a whole number from 1 to 100"
        for k, low in (("top_k", 1), ("page", 1), ("similarity_threshold", -math.inf), ("vector_similarity_weight", -math.inf)):
            if k in body and not number(body[k], low):
                return f"{k} must be a number"
        if condition is not None and (not condition.get("conditions") or any(
                not {"name", "comparison_operator", "value"} <= set(c) for c in condition["conditions"])):
            return "metadata_condition needs conditions with name, comparison_operator and value"
    elif backend == "fastgpt":
        if not re.fullmatch(r"[0-9a-fA-F]{24}", str(body.get("datasetId"))):
            return "datasetId must be 24 hex digits"
        if not isinstance(body.get("text"), str) or not body["text"].strip():
            return "text must be a text"
        if any(v is None for v in body.values()):
            return "null is refused: leave the field out"
        for k in ("limit", "similarity", "embeddingWeight", "rerankWeight"):
            if k in body and not number(body[k], 0):
                return f"{k} must be a number"
        if body.get("searchMode", "embedding") not in ("embedding", "fullTextRecall", "mixedRecall"):
            return "searchMode is unknown"
        if not isinstance(body.get("usingReRank", False), bool) or "collectionFilterMatch" in body:
            return "usingReRank must be a boolean, and collectionFilterMatch does nothing"
    elif backend == "jinba" and "args" in body:
        if body.get("mode") != "sync" or not all(isinstance(a, dict) and set(a) == {"name", "value"} for a in body["args"]):
            return "args must be a list of name and value, mode must be sync"
    elif backend == "jinba":
        if not body.get("query") or not body.get("knowledgeBaseId") or not number(body.get("topK", 3), 1, 50) or not number(body.get("threshold", 0.3), 0, 1):
            return "the tool wants query, knowledgeBaseId, topK 1 to 50, threshold 0 to 1"
    elif backend == "external_knowledge":
        setting, condition = body.get("retrieval_setting") or {}, body.get("metadata_condition", {"conditions": [1]})
        if not body.get("knowledge_id") or not body.get("query") or not number(setting.get("top_k"), 1) or not number(setting.get("score_threshold"), 0, 1):
            return "the protocol wants knowledge_id, query, retrieval_setting.top_k and .score_threshold"
        if not condition or not condition.get("conditions"):
            return "metadata_condition must be left out when there is no filter"
    return None


# ---------------------------------------------------------------- comparing

def subset(want: Any, got: Any) -> bool:
    if isinstance(want, dict):
        return isinstance(got, dict) and all(k in got and subset(v, got[k]) for k, v in want.items())
    if isinstance(want, list):
        return isinstance(got, list) and len(want) == len(got) and all(map(subset, want, got))
    if isinstance(want, bool) or isinstance(got, bool) or want is None:
        return want == got and type(want) is type(got)
    if isinstance(want, (int, float)):
        return isinstance(got, (int, float)) and abs(want - got) < 1e-6
    return bool(want == got)


def same_numbers(want: list[Any], got: list[Any]) -> bool:
    return len(want) == len(got) and all(
        (a is None and b is None) or (a is not None and b is not None and abs(a - b) < 1e-6) for a, b in zip(want, got))


def text_of(entry: Any) -> str:
    return "".join(c.text or "" for c in entry.content)


class Outcome:
    def __init__(self, response: Any, error: BaseException | None) -> None:
        self.response, self.error = response, error
        self.entries = list(response.results) if response is not None else []
        self.kind = "cancelled" if isinstance(error, asyncio.CancelledError) else "error" if error else "results" if self.entries else "empty"
        self.message = str(error) if error else ""


def keys_of(case: dict[str, Any]) -> set[str]:
    found = set()
    for settings in [c["settings"] for c in case.get("calls", [])] or [case["settings"]]:
        key = re.sub(r"(?i)^bearer\s+", "", (settings["creation"].get("api_key") or "").strip())
        if len(key) > 7:
            found.add(key)
    return found


def always(case: dict[str, Any], outcome: Outcome, log: str, requests: list[Request]) -> list[str]:
    """What holds in every case."""
    found = []
    whole = f"{type(outcome.error).__name__}: {outcome.message}"
    for key in keys_of(case):
        if outcome.error and key in whole:
            found.append("the API key is in the error text")
        if key in log:
            found.append("the API key is in the log")
    if outcome.kind == "error":
        if not outcome.message.strip():
            found.append(f"{type(outcome.error).__name__} has no text")
        if re.search(r"(?i)<!doctype|<html|Traceback \(most", outcome.message):
            found.append("the error text holds HTML or a traceback")
    entries, top_k = outcome.entries, (case["settings"] or {"retrieval": {}})["retrieval"].get("top_k")
    ids = [e.id for e in entries]
    if not all(isinstance(i, str) and i.strip() for i in ids) or len(set(ids)) != len(ids):
        found.append(f"ids empty or not unique: {ids}")
    if any(not math.isfinite(e.distance) or (e.score is not None and not math.isfinite(e.score)) for e in entries):
        found.append("a number is not finite")
    if any(not text_of(e).strip() for e in entries):
        found.append("an entry has no text")
    if isinstance(top_k, int) and top_k > 0 and len(entries) > top_k:
        found.append(f"{len(entries)} entries, top_k {top_k}")
    if outcome.response is not None:
        try:
            again = json.loads(json.dumps(outcome.response.model_dump(mode="json"), allow_nan=False))
            type(outcome.response).model_validate(again)
        except Exception as error:
            found.append(f"the response does not survive JSON: {type(error).__name__}")
    for request in requests:
        why = on_route(case, request.path) and refusal(case["backend"], request.body)
        if why:
            found.append(f"a real server would refuse the request: {why}")
    return list(dict.fromkeys(found))


def check(case: dict[str, Any], outcome: Outcome, site: Site, other: Site, took: float, log: str, told: str, refused: int) -> list[str]:
    want = dict(case["expect"])
    posts = [r for r in site.requests if r.method != "GET"]
    found = always(case, outcome, log, posts)
    if outcome.kind not in want["outcome"].split("_or_"):
        extra = f" ({type(outcome.error).__name__}: {outcome.message[:160]})" if outcome.error else ""
        found.append(f"outcome {outcome.kind}, wanted {want['outcome']}{extra}")
    if outcome.kind == "error":
        want.update(want.pop("if_error", {}))
        low = outcome.message.lower()
        for words in want.get("error_contains_any", []):
            if not any(w.lower() in low for w in words):
                found.append(f"error text lacks all of {words}: {outcome.message[:160]!r}")
        for word in want.get("error_must_not_speak_of", []):
            if word.lower() in f"{type(outcome.error).__name__}: {low}".lower():
                found.append(f"error speaks of {word!r}: {outcome.message[:160]!r}")
        for word in want.get("error_must_not_contain", []):
            if word in outcome.message:
                found.append("error text holds what it must not")
    for word in want.get("log_must_not_contain", []):
        if word in log:
            found.append("log holds what it must not")
    found += check_requests(want, posts, site, other, refused, outcome)
    if took > want.get("elapsed_max_s", math.inf):
        found.append(f"took {took:.1f} s, at most {want['elapsed_max_s']}")
    if took < want.get("elapsed_min_s", 0):
        found.append(f"took {took:.2f} s, at least {want['elapsed_min_s']}")
    if want.get("told_of") and outcome.kind == "results":
        where = json.dumps([outcome.response.metadata, [e.metadata for e in outcome.entries]], default=str) + told
        found += [f"nothing says {w!r} (entry or response metadata, log)" for w in want["told_of"] if w.lower() not in where.lower()]
    if outcome.kind in ("results", "empty"):
        found += check_entries(want, outcome)
    return found


def check_requests(want: dict[str, Any], posts: list[Request], site: Site, other: Site, refused: int, outcome: Outcome) -> list[str]:
    found = []
    count = len(posts) + refused
    if "request_count" in want and count != want["request_count"]:
        found.append(f"{count} requests, wanted {want['request_count']}")
    if count > want.get("request_count_max", 99):
        found.append(f"{count} requests, at most {want['request_count_max']}")
    if count < want.get("request_count_min", 0):
        found.append(f"{count} requests, at least {want['request_count_min']}")
    if want.get("request_count_max") == 1:
        asked = [(r.method, r.target) for r in site.requests]
        if len(set(asked)) != len(asked):
            found.append("asked again where one request is enough")
    if any("authorization" in r.headers for r in other.requests) and "other_host_requests_with_key" in want:
        found.append("the key went to another host")
    if want.get("client_hangs_up") and not site.hang_ups:
        found.append("the request was left running after the cancellation")
    needs_request = ("request_path", "request_must_contain", "request_header", "request_has_keys", "request_contains_any", "request_json_ranges")
    if not posts:
        if any(k in want for k in needs_request) and outcome.kind != "error":
            found.append("no search request arrived")
        return found
    first, body = posts[0], posts[0].body or {}
    if "request_path" in want and first.path != want["request_path"]:
        found.append(f"path {first.path}, wanted {want['request_path']}")
    if "request_paths_allowed" in want and any(r.path not in want["request_paths_allowed"] for r in posts):
        found.append(f"paths {[r.path for r in posts]}")
    found += [f"header {k} is wrong" for k, v in want.get("request_header", {}).items() if first.headers.get(k) != v]
    if "request_must_contain" in want and not subset(want["request_must_contain"], body):
        found.append("request lacks " + json.dumps(want["request_must_contain"], ensure_ascii=False)[:200])
    if "request_contains_any" in want and not any(subset(w, body) for w in want["request_contains_any"]):
        found.append("request has none of the wanted forms")
    found += [f"request lacks {p}" for p in want.get("request_has_keys", []) if not has(body, p)]
    sent = json.dumps(body, ensure_ascii=True) + first.target
    found += [f"request holds {w!r}" for w in want.get("request_must_not_contain", []) if w in sent]
    found += [f"request has {k} == {v}" for k, v in want.get("request_must_not_equal", {}).items() if dig(body, k) == v]
    for k, (low, high) in want.get("request_json_ranges", {}).items():
        for r in posts:
            x = dig(r.body or {}, k)
            if not isinstance(x, (int, float)) or not low <= x <= high:
                found.append(f"{k}={x} is outside {low}..{high}")
    found += [f"{k} is too long" for k, m in want.get("request_string_max_len", {}).items() if len(dig(body, k) or "") > m]
    if want.get("request_valid_utf8") and first.body is None:
        found.append("request is no UTF-8 JSON")
    if rules := want.get("request_conditions"):
        got = dig(body, rules["path"]) or []
        found += [f"condition on {i['name']} is missing" for i in rules["items"] if not any(
            g.get("name") == i["name"] and g.get("comparison_operator") in i["op"] and str(g.get("value")) == i["value"] for g in got)]
    if "request_pairs" in want:
        pairs = sorted([r.path, r.headers.get("authorization"), (r.body or {}).get("query")] for r in posts)
        if pairs != sorted(want["request_pairs"]):
            found.append(f"requests {pairs}")
    return found


def check_entries(want: dict[str, Any], outcome: Outcome) -> list[str]:
    found, entries, response = [], outcome.entries, outcome.response
    ids, scores, distances = [e.id for e in entries], [e.score for e in entries], [e.distance for e in entries]
    if "ids" in want and ids != want["ids"]:
        found.append(f"ids {ids}, wanted {want['ids']}")
    if "ids_set" in want and sorted(ids) != sorted(want["ids_set"]):
        found.append(f"ids {ids}, wanted {want['ids_set']}")
    if "ids_prefix" in want and ids[:len(want["ids_prefix"])] != want["ids_prefix"]:
        found.append(f"ids {ids}, first wanted {want['ids_prefix']}")
    if "n_results" in want and len(ids) != want["n_results"]:
        found.append(f"{len(ids)} entries, wanted {want['n_results']}")
    if not want.get("n_results_min", 0) <= len(ids) <= want.get("n_results_max", math.inf):
        found.append(f"{len(ids)} entries")
    if "total_found" in want and response.total_found != want["total_found"]:
        found.append(f"total_found {response.total_found}")
    if not want.get("total_found_min", 0) <= response.total_found <= want.get("total_found_max", math.inf):
        found.append(f"total_found {response.total_found}")
    if "scores" in want and not same_numbers(want["scores"], scores):
        found.append(f"scores {scores}, wanted {want['scores']}")
    if "distances" in want and not same_numbers(want["distances"], distances):
        found.append(f"distances {distances}, wanted {want['distances']}")
    if "score_in" in want:
        low, high = want["score_in"]
        if any((s is None and not want.get("score_null_ok")) or (s is not None and not low <= s <= high) for s in scores):
            found.append(f"scores {scores} outside {low}..{high}")
    if "distance_in" in want and any(not want["distance_in"][0] <= d <= want["distance_in"][1] for d in distances):
        found.append(f"distances {distances} outside {want['distance_in']}")
    if want.get("distance_monotone") and any(a > b + 1e-9 for a, b in zip(distances, distances[1:])):
        found.append(f"distances do not rise: {distances}")
    if want.get("null_scores_not_ranked_above"):
        scored = [d for s, d in zip(scores, distances) if s is not None]
        unscored = [d for s, d in zip(scores, distances) if s is None]
        if not unscored or (scored and min(unscored) < max(scored) - 1e-9):
            found.append(f"an unscored entry looks better than a scored one: {list(zip(scores, distances))}")
    for i, text in want.get("text", {}).items():
        if int(i) >= len(entries) or text_of(entries[int(i)]) != text:
            found.append(f"text of entry {i}")
    for i, texts in want.get("text_contains", {}).items():
        if int(i) >= len(entries) or any(t not in text_of(entries[int(i)]) for t in texts):
            found.append(f"text of entry {i} lacks one of {texts}")
    for i, values in want.get("metadata_has_value", {}).items():
        carried = json.dumps(entries[int(i)].metadata, ensure_ascii=False, default=str) if int(i) < len(entries) else ""
        if any(v not in carried for v in values):
            found.append(f"metadata of entry {i} lacks one of {values}")
    return found


# ---------------------------------------------------------------- one case

def filled(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace(word, text)
        return value
    if isinstance(value, list):
        return [filled(v, words) for v in value]
    if isinstance(value, dict):
        return {k: filled(v, words) for k, v in value.items()}
    return value


class TooLong(BaseException):
    """A case that blocks."""


def on_alarm(*_: Any) -> None:
    raise TooLong


async def act(case: dict[str, Any], classes: tuple[type, type]) -> tuple[list[Outcome], float]:
    from langbot_plugin.api.entities.builtin.rag.context import RetrievalContext

    engine = await make_engine(classes, case.get("config", {}))

    async def call(settings: dict[str, Any], query: str, filters: dict[str, Any]) -> Any:
        creation, retrieval = plugin_settings(case["backend"], settings)
        return await engine.retrieve(RetrievalContext(
            query=query, knowledge_base_id="field-case", creation_settings=creation, retrieval_settings=retrieval, filters=filters))

    calls = case.get("calls") or [case]
    start = time.monotonic()
    tasks = [asyncio.ensure_future(call(c["settings"], c["query"], c.get("filters") or {})) for c in calls]
    if "cancel_after_s" in case["expect"]:
        await asyncio.sleep(case["expect"]["cancel_after_s"])
        tasks[0].cancel()
    done = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), CASE_LIMIT_S - 2)
    took = time.monotonic() - start
    for blocked in (d for d in done if isinstance(d, TooLong)):
        raise blocked
    if case["expect"].get("client_hangs_up"):
        await asyncio.sleep(0.5)
    await engine.plugin.close()
    return [Outcome(None, d) if isinstance(d, BaseException) else Outcome(d, None) for d in done], took


def run_case(case: dict[str, Any], classes: tuple[type, type], thread: ServerThread) -> list[str]:
    faults = [a.get("fault") for a in case["server_answers"]]
    site, other = Site(None, self_signed() if case.get("tls") else None), Site(None)
    case = filled(copy.deepcopy(case), {"{BASE}": site.base, "{HOST}": site.host, "{OTHER}": other.base})
    site.case = case
    later = faults[0] == "connect_error" and len(faults) > 1
    buffer, spoken = io.StringIO(), io.StringIO()
    handlers = [logging.StreamHandler(buffer), logging.StreamHandler(spoken)]
    handlers[1].setLevel(logging.INFO)
    root = logging.getLogger()
    before = (root.handlers[:], root.level, dict(os.environ))
    outcomes, took, refused = [], 0.0, 0
    thread.do(other.open())
    if faults[0] != "connect_error":
        thread.do(site.open())
    root.handlers, _ = handlers, root.setLevel(logging.DEBUG)
    os.environ.update(case.get("env", {}))
    signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(CASE_LIMIT_S)
    try:
        with asyncio.Runner(loop_factory=Loop) as runner, contextlib.redirect_stdout(buffer):
            loop = runner.get_loop()
            if later:
                loop.on_refused = lambda: thread.do(site.open())
            outcomes, took = runner.run(act(case, classes))
            refused = loop.refused
    except TooLong:
        return [f"the event loop was blocked until the limit of {CASE_LIMIT_S} s"]
    except TimeoutError:
        return [f"no end within {CASE_LIMIT_S} s"]
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return [f"could not run: {type(error).__name__}: {str(error)[:200]} ({Path(where.filename).name}:{where.lineno})"]
    finally:
        signal.alarm(0)
        root.handlers = before[0]
        root.setLevel(before[1])
        os.environ.clear()
        os.environ.update(before[2])
        thread.do(site.close())
        thread.do(other.close())
    log = buffer.getvalue()
    found = check(case, outcomes[0], site, other, took, log, spoken.getvalue(), refused)
    for call, outcome in zip(case.get("calls", []), outcomes):
        if outcome.kind not in case["expect"]["outcome"].split("_or_"):
            found.append(f"call {call['query']!r}: {outcome.kind} {outcome.message[:120]}")
        elif "ids" in call and [e.id for e in outcome.entries] != call["ids"]:
            found.append(f"call {call['query']!r} got {[e.id for e in outcome.entries]}, wanted {call['ids']}")
    return list(dict.fromkeys(found))


def main() -> int:
    parser = argparse.ArgumentParser(description="Run field cases against a plugin.")
    parser.add_argument("cases", type=Path)
    parser.add_argument("--plugin", type=Path, default=Path("."), help="the plugin's root (default: here)")
    parser.add_argument("--only", action="append", help="the id of a case; may be repeated")
    parser.add_argument("--backend", help="the cases of one backend")
    parser.add_argument("--json", type=Path, help="write the outcome of every case here")
    args = parser.parse_args()
    cases = json.loads(args.cases.read_text("utf-8"))
    if args.only:
        cases = [c for c in cases if c["id"] in args.only]
    if args.backend:
        cases = [c for c in cases if c["backend"] == args.backend]
    if not cases:
        parser.error("no such case")
    report = args.json.resolve() if args.json else None
    root = args.plugin.resolve()
    os.chdir(root)
    sys.path.insert(0, str(root))
    classes = load_plugin(root)
    thread = ServerThread()
    outcome = []
    for case in cases:
        found = run_case(case, classes, thread)
        outcome.append({"id": case["id"], "backend": case["backend"], "kind": case["kind"], "pass": not found, "found": found})
        if found:
            print(" ".join(f"{case['id']} {case['backend']} {case['kind']}: {'; '.join(found)}".split()), flush=True)
    passed = sum(o["pass"] for o in outcome)
    if report:
        report.write_text(json.dumps(outcome, ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(f"{passed} of {len(outcome)} field cases pass")
    return 0 if passed == len(outcome) else 1


if __name__ == "__main__":
    sys.exit(main())
