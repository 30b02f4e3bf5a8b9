"""The plugin's page in a browser without LangBot: a stage that answers as LangBot's page SDK does.

The plugin, its engine and the page are real; storage and the list of knowledge bases are dicts.
"""

import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from components.knowledge_engine.engine import RemoteEngine
from console import api
from scripts.page import PAGE
from tests.console.host import Plugin

SDK = Path(__file__).parent / "stage.js"


class Stage:
    """Where the page is, and the plugin behind it; `down` fails every call of the page as a missing right does."""

    def __init__(self, portal: BlockingPortal, plugin: Plugin) -> None:
        self.portal = portal
        self.plugin = plugin
        self.base = ""
        self.down = False

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a coroutine function of the plugin's gives."""
        return self.portal.call(function, *arguments)

    def say(self, endpoint: str, **body: Any) -> dict[str, Any]:
        """The answer to a call, as the page gets it."""
        answer: dict[str, Any] = self.call(api.answer, self.plugin, endpoint, body)
        return answer

    def enter(self, entered: Any) -> Any:
        """Enter an asynchronous context on the plugin's loop; it is left with the stage."""
        return self.stack.enter_context(self.portal.wrap_async_context_manager(entered))

    stack: contextlib.ExitStack


@contextlib.asynccontextmanager
async def _plugin(stored: dict[str, bytes]) -> AsyncIterator[Plugin]:
    plugin = Plugin()
    plugin.stored = stored
    await plugin.initialize()
    plugin.engine = RemoteEngine()
    plugin.engine.plugin = plugin
    await plugin.engine.initialize()
    try:
        yield plugin
    finally:
        await plugin.close()


@contextlib.contextmanager
def staged(stored: dict[str, bytes] | None = None) -> Iterator[Stage]:
    """A stage with a plugin over a storage of these values."""
    with contextlib.ExitStack() as stack, start_blocking_portal() as portal:
        plugin = stack.enter_context(portal.wrap_async_context_manager(_plugin({} if stored is None else stored)))
        stage = Stage(portal, plugin)
        stage.stack = stack

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                sdk = self.path.endswith(".js")
                self._say((SDK if sdk else PAGE).read_bytes(), "text/javascript" if sdk else "text/html")

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if stage.down:
                    self.send_error(403)
                else:
                    told = stage.say(asked["endpoint"], **(asked.get("body") or {}))
                    self._say(json.dumps(told, allow_nan=False).encode(), "application/json")

            def _say(self, body: bytes, kind: str) -> None:
                with contextlib.suppress(ConnectionError):
                    self.send_response(200)
                    self.send_header("Content-Type", f"{kind}; charset=utf-8")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        stage.base = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stack.callback(server.server_close)
        stack.callback(server.shutdown)
        yield stage
        stack.close()
