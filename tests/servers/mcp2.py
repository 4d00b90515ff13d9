"""The server of the matrix on the python SDK `mcp` 2.x, which speaks both eras.

usage: mcp2.py stdio | http | sse
"""

import os
import sys
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

MODERN = "2026-07-28"
NOTE = "memo://note"

server = MCPServer("matrix-mcp2", version="1.0.0", instructions="Add, count, wait, ask.")
state = {"cancelled": 0, "note": 0}


def is_modern(ctx: Context) -> bool:
    return (ctx.protocol_version or "") >= MODERN


@server.tool()
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@server.tool()
async def count(steps: int, ctx: Context) -> str:
    """Counts and reports progress."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
    return f"counted to {steps}"


@server.tool()
async def wait(ctx: Context) -> str:
    """Waits until the call is cancelled."""
    await ctx.report_progress(0, 1)
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        state["cancelled"] += 1
        raise
    return "never"


@server.tool()
def cancelled() -> str:
    """How many waits were cancelled."""
    return str(state["cancelled"])


class Person(BaseModel):
    name: str
    colour: str = "blue"


def who() -> Elicit[Person]:
    return Elicit("Who are you?", Person)


@server.tool()
async def ask(person: Annotated[Person, Resolve(who)]) -> str:
    """Asks the user."""
    return f"Hello {person.name}, {person.colour} it is"


@server.tool()
async def grow(ctx: Context) -> str:
    """Adds a tool."""
    server.add_tool(lambda: "grown", name="grown", description="Was not there before.")
    if is_modern(ctx):
        await ctx.notify_tools_changed()
    else:
        await ctx.session.send_tool_list_changed()
    return "grew"


@server.tool()
async def touch(ctx: Context) -> str:
    """Changes the note."""
    state["note"] += 1
    if is_modern(ctx):
        await ctx.notify_resource_updated(NOTE)
    else:
        await ctx.session.send_resource_updated(NOTE)
    return "touched"


@server.tool()
async def lose() -> str:
    """Drops every session: requests with an old session id are rejected."""
    server.session_manager._server_instances.clear()
    return "lost"


@server.tool()
def die() -> str:
    """Ends the server without a response."""
    os._exit(7)


@server.resource(NOTE)
def note() -> str:
    return f"touched {state['note']} times"


@server.prompt()
def greet(name: str) -> str:
    """Greets."""
    return f"Please greet {name}."


match sys.argv[1:]:
    case ["stdio"]:
        server.run("stdio")
    case ["http"]:
        from listening import serve

        serve(server.streamable_http_app())
    case ["sse"]:
        from listening import serve

        serve(server.sse_app(), path="/sse")
    case _:
        sys.exit(__doc__)
