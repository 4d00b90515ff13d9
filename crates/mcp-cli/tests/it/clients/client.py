"""The official Python client at the gateway: lists, calls, reads, and follows progress."""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    gateway = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with stdio_client(gateway) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        names = [tool.name for tool in (await session.list_tools()).tools]
        print("tools", " ".join(name for name in names if "weekday" in name or name == "tool_call"))
        if "tool_call" in names:
            target = {"id": "mcp__demo__weekday", "arguments": {"date": "2020-01-01"}}
            result = await session.call_tool("tool_call", target)
        else:
            result = await session.call_tool("mcp__demo__weekday", {"date": "2020-01-01"})
        print(result.content[0].text)
        print("resources", len((await session.list_resources()).resources))


asyncio.run(main())
