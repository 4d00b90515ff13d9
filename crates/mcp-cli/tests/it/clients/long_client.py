"""The official Python client at the gateway: a long result with an output schema, which it checks itself."""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    gateway = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with stdio_client(gateway) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        await session.list_tools()
        result = await session.call_tool("mcp__files__read", {})
        structured = getattr(result, "structured_content", None) or result.structuredContent
        print(len(result.content), len(result.content[0].text), len(structured["content"]))


asyncio.run(main())
