"""The server of the matrix on the python SDK `mcp` 1.x, the last one with a WebSocket.

usage: websocket.py
"""

import os

import anyio
from listening import serve
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.websocket import websocket_server
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute

server = FastMCP("matrix-websocket", instructions="Add, count, wait, ask.")
state = {"cancelled": 0, "note": 0}
sockets = []


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


@server.tool()
async def ask(ctx: Context) -> str:
    """Asks the user."""
    answer = await ctx.elicit("Who are you?", Person)
    return f"Hello {answer.data.name}, {answer.data.colour} it is"


@server.tool()
async def grow(ctx: Context) -> str:
    """Adds a tool."""
    server.add_tool(lambda: "grown", name="grown", description="Was not there before.")
    await ctx.session.send_tool_list_changed()
    return "grew"


@server.tool()
async def lose() -> str:
    """Closes every socket without a response."""
    for websocket in sockets:
        await websocket({"type": "websocket.close", "code": 1001, "reason": "lost"})
    return "lost"


@server.tool()
def die() -> str:
    """Ends the server without a response."""
    os._exit(7)


@server.resource("memo://note")
def note() -> str:
    return "a note"


@server.prompt()
def greet(name: str) -> str:
    """Greets."""
    return f"Please greet {name}."


class Endpoint:
    """An application, since the SDK accepts the socket itself."""

    def __init__(self, scope, receive, send):
        self.connection = (scope, receive, send)

    def __await__(self):
        return self.run().__await__()

    async def run(self):
        send = self.connection[2]
        sockets.append(send)
        try:
            async with websocket_server(*self.connection) as (read, write):
                mcp = server._mcp_server
                await mcp.run(read, write, mcp.create_initialization_options())
        finally:
            sockets.remove(send)


serve(Starlette(routes=[WebSocketRoute("/ws", Endpoint)]), scheme="ws", path="/ws")
