"""The application: every route found by name, one guard in front, one shape of error, the page."""

from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, FastAPI, Request, Response
from starlette.staticfiles import StaticFiles

from audit.say import Voice
from audit.serving import errors, routes
from audit.serving.guards import Guard, Log
from audit.serving.service import Service
from audit_events import plugins
from audit_events.version import VERSION

WEB: Final = Path(__file__).parent / "web"


def create_app(service: Service, log: Log | None = None) -> FastAPI:
    """The whole application over one service; `log` takes a line that holds no payload."""
    app = FastAPI(
        title="Sandtrail",
        version=VERSION,
        description="What agents' sandboxes allowed and refused. Read only.",
        docs_url=None,
        redoc_url=None,
        # Ours are the only answers: no redirect that repeats what was asked for.
        redirect_slashes=False,
        responses=errors.RESPONSES,
    )
    app.state.service = service
    errors.add_handlers(app)
    for router in plugins.find(routes, "router").values():
        assert isinstance(router, APIRouter)  # noqa: S101
        app.include_router(router)
    _add_page(app)
    say: Any = log or Voice(service.call.prog, service.call.environ).line
    app.add_middleware(Guard, service=service, log=say)
    return app


def _add_page(app: FastAPI) -> None:
    files = StaticFiles(directory=WEB)
    app.mount("/web", files, name="page")

    async def index(request: Request) -> Response:
        return await files.get_response("index.html", request.scope)

    app.add_api_route("/", index, include_in_schema=False)
