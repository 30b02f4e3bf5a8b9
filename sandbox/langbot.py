"""A real LangBot, headless, in a folder of its own: start, drive over its HTTP API, stop."""

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import httpx

USER, PASSWORD = "admin@example.test", "sandbox-Passw0rd!"
NOWHERE = "http://127.0.0.1:9"
"""A closed port: LangBot's release check and marketplace lead there, so that no call leaves the machine."""


class LangBot:
    """`with LangBot(folder) as langbot`: up and logged in, with an account made for the folder. Needs group `host`.

    Raises RuntimeError where LangBot ends or does not answer in time; `log` has what host, runtime and plugins wrote.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, self._control, self._debug = (_free_port() for _ in range(3))
        self.base = f"http://127.0.0.1:{self.port}"
        self._token = secrets.token_urlsafe(48)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._installed: set[str] = set()
        self._http = httpx.Client(base_url=self.base, timeout=120, trust_env=False)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._http.close()

    # ---- processes

    def start(self) -> None:
        """Start the plugin runtime and the host, and log in."""
        programs = Path(sys.executable).parent
        # LangBot starts no runtime of its own in a container, so one is started for it everywhere
        ports = ["--ws-control-port", str(self._control), "--ws-debug-port", str(self._debug)]
        self._spawn("runtime", [str(programs / "lbp"), "rt", *ports])
        self._spawn("langbot", [str(programs / "langbot"), "--standalone-runtime"])
        self._wait(lambda: self._http.get("/api/v1/system/info").status_code == httpx.codes.OK, "LangBot", 180)
        if not self.call("GET", "/api/v1/user/init")["initialized"]:
            self.call("POST", "/api/v1/user/init", {"user": USER, "password": PASSWORD})
        token = self.call("POST", "/api/v1/user/auth", {"user": USER, "password": PASSWORD})["token"]
        self._http.headers["Authorization"] = f"Bearer {token}"
        self.call("POST", "/api/v1/system/wizard/completed", {"status": "skipped"})
        self._wait(lambda: self._http.get("/api/v1/plugins").status_code == httpx.codes.OK, "the plugin runtime", 60)
        self._wait(lambda: self._installed <= set(self.engines()), "what was installed before", 120)

    def stop(self) -> None:
        """End exactly the processes that were started, and their children."""
        family = [pid for process in self._processes for pid in (process.pid, *_descendants(process.pid))]
        for process in reversed(self._processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(8)
        for pid in family:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for process in self._processes:
            process.wait(5)
        self._processes.clear()

    @property
    def log(self) -> str:
        """What the host, the runtime and the plugins wrote so far."""
        return "".join(path.read_text("utf-8", "replace") for path in sorted(self.folder.glob("*.log")))

    def _spawn(self, name: str, command: list[str]) -> None:
        cwd = self.folder / name
        cwd.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes.append(
                subprocess.Popen(  # noqa: S603
                    command,
                    cwd=cwd,
                    env=self._environment(name),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )

    def _environment(self, name: str) -> dict[str, str]:
        home = self.folder / "home"
        home.mkdir(parents=True, exist_ok=True)
        kept = {k: v for k, v in os.environ.items() if k.lower() in _PASSED_ON or k.startswith("PIP_")}
        closed = {"HTTP_PROXY": NOWHERE, "HTTPS_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1,localhost"}
        return {
            **kept,
            **(closed if name == "langbot" else {}),
            "HOME": str(home),
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "API__HOST": "127.0.0.1",
            "API__PORT": str(self.port),
            "API__WEBHOOK_PREFIX": self.base,
            "BOX__ENABLED": "false",
            "MCP__STDIO__ENABLED": "false",
            "SPACE__URL": NOWHERE,
            "SPACE__MODELS_GATEWAY_API_URL": f"{NOWHERE}/v1",
            "SPACE__DISABLE_TELEMETRY": "true",
            "SPACE__DISABLE_MODELS_SERVICE": "true",
            "CLOUD_SERVICE_URL": NOWHERE,
            "PLUGIN__ENABLE_MARKETPLACE": "false",
            "PLUGIN__DISPLAY_PLUGIN_DEBUG_URL": f"ws://127.0.0.1:{self._debug}/plugin/debug/ws",
            "PLUGIN__RUNTIME_WS_URL": f"ws://127.0.0.1:{self._control}/control/ws",
            "LANGBOT_PLUGIN_RUNTIME_CONTROL_TOKEN": self._token,
        }

    def _wait(self, ready: Any, what: str, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for process in self._processes:
                if process.poll() is not None:
                    raise RuntimeError(f"{process.args!r} ended with {process.returncode}; see {self.folder}")
            with contextlib.suppress(httpx.TransportError):
                if ready():
                    return
            time.sleep(0.3)
        raise RuntimeError(f"{what} was not ready within {seconds:g} s; see {self.folder}")

    # ---- the HTTP API

    def raw(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """One request as the web page makes it."""
        return self._http.request(method, path, json=body)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The `data` of an answer; RuntimeError where the host refuses."""
        response = self.raw(method, path, body)
        if response.status_code != httpx.codes.OK or response.json().get("code") not in (0, None):
            raise RuntimeError(f"{method} {path}: {response.status_code} {response.text[:500]}")
        return response.json().get("data")

    def install(self, package: Path) -> None:
        """Install a package and wait until its engine is listed."""
        files = {"file": (package.name, package.read_bytes(), "application/octet-stream")}
        response = self._http.post("/api/v1/plugins/install/local", files=files)
        task = response.json()["data"]["task_id"]
        self._wait(lambda: self._task(task).get("done"), f"the installation of {package.name}", 240)
        if problem := self._task(task).get("exception"):
            raise RuntimeError(f"{package.name} could not be installed: {problem}")
        author, name = package.name.split("-")[:-2], package.name.split("-")[-2]
        plugin = f"{'-'.join(author)}/{name}"
        self._wait(lambda: plugin in self.engines(), f"the engine of {package.name}", 60)
        self._installed.add(plugin)

    def _task(self, task: Any) -> dict[str, Any]:
        return dict(self.call("GET", f"/api/v1/system/tasks/{task}").get("runtime", {}))

    def engines(self) -> dict[str, dict[str, Any]]:
        """Every engine by the id of its plugin."""
        response = self.raw("GET", "/api/v1/knowledge/engines")
        if response.status_code != httpx.codes.OK:
            return {}
        return {engine["plugin_id"]: engine for engine in response.json()["data"]["engines"]}

    def draft(self, plugin: str, name: str = "") -> str:
        """The page's first step: a knowledge base with a name and an engine only; its id."""
        body = {
            "name": name or f"kb {uuid.uuid4().hex[:6]}",
            "description": "",
            "knowledge_engine_plugin_id": plugin,
            "creation_settings": {},
            "retrieval_settings": {},
            "defer_initialization": True,
        }
        return str(self.call("POST", "/api/v1/knowledge/bases", body)["uuid"])

    def save(self, base: str, creation: dict[str, Any], retrieval: dict[str, Any] | None = None) -> httpx.Response:
        """The page's second step: the settings, which start the engine's hook."""
        told = self.call("GET", f"/api/v1/knowledge/bases/{base}")
        told = told.get("base", told)
        body = {
            "name": told["name"],
            "description": told.get("description") or "",
            "creation_settings": creation,
            "retrieval_settings": retrieval or {},
            "initialize_engine": True,
        }
        return self.raw("PUT", f"/api/v1/knowledge/bases/{base}", body)

    def create(self, plugin: str, creation: dict[str, Any], name: str = "") -> str:
        """Both steps; RuntimeError where the settings are refused."""
        base = self.draft(plugin, name)
        response = self.save(base, creation)
        if response.status_code != httpx.codes.OK:
            raise RuntimeError(f"not saved: {response.status_code} {response.text[:300]}")
        return base

    def search(self, base: str, query: str, **retrieval: Any) -> httpx.Response:
        """The page's search box."""
        body = {"query": query, "retrieval_settings": retrieval}
        return self.raw("POST", f"/api/v1/knowledge/bases/{base}/retrieve", body)


_PASSED_ON = (
    "path", "lang", "lc_all", "tz", "http_proxy", "https_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir",
    "requests_ca_bundle", "langbot_plugin_pypi_index_url", "langbot_plugin_pypi_trusted_host",
)  # fmt: skip
"""What the runtime's pip may need to install a plugin's requirements."""


@contextlib.contextmanager
def installed(folder: Path, packages: list[Path]) -> Iterator[LangBot]:
    """A LangBot with these packages installed."""
    with LangBot(folder) as langbot:
        for package in packages:
            langbot.install(package)
        yield langbot


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _descendants(pid: int) -> list[int]:
    """The ids of a process's children and theirs (Linux)."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir() if Path("/proc").is_dir() else ():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                parents.setdefault(parent, []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return found


def as_json(response: httpx.Response) -> list[dict[str, Any]]:
    """The results of a search that worked."""
    return list(json.loads(response.content)["data"]["results"])
