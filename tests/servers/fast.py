"""The server of the matrix on `fastmcp`, which speaks both eras.

usage: fast.py stdio | http
"""

import os
import sys

import anyio
from fastmcp import Context, FastMCP
from mcp_types import ToolListChangedNotification
from pydantic import BaseModel

server = FastMCP("matrix-fastmcp", version="1.0.0", instructions="Add, count, wait, ask.")
state = {"cancelled": 0}


@server.tool
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@server.tool
async def count(steps: int, ctx: Context) -> str:
    """Counts and reports progress."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
    return f"counted to {steps}"


@server.tool
async def wait(ctx: Context) -> str:
    """Waits until the call is cancelled."""
    await ctx.report_progress(0, 1)
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        state["cancelled"] += 1
        raise
    return "never"


@server.tool
def cancelled() -> str:
    """How many waits were cancelled."""
    return str(state["cancelled"])


class Person(BaseModel):
    name: str
    colour: str = "blue"


@server.tool
async def ask(ctx: Context) -> str:
    """Elicits input; this SDK supports it in the legacy era only."""
    answer = await ctx.elicit("Who are you?", Person)
    return f"Hello {answer.data.name}, {answer.data.colour} it is"


@server.tool
async def grow(ctx: Context) -> str:
    """Adds a tool; this SDK sends the notification in the legacy era only."""
    server.tool(grown)
    await ctx.send_notification(ToolListChangedNotification())
    return "grew"


def grown() -> str:
    """Was not there before."""
    return "grown"


@server.tool
def die() -> str:
    """Ends the server without a response."""
    os._exit(7)


@server.resource("memo://note")
def note() -> str:
    return "a note"


@server.prompt
def greet(name: str) -> str:
    """Greets."""
    return f"Please greet {name}."


match sys.argv[1:]:
    case ["stdio"]:
        server.run("stdio", show_banner=False)
    case ["http"]:
        from listening import serve

        serve(server.http_app())
    case _:
        sys.exit(__doc__)
