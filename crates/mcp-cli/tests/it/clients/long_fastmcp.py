"""The fastmcp client at the gateway: a long result with an output schema, which it checks itself."""

import asyncio
import os
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main() -> None:
    gateway = StdioTransport(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with Client(gateway) as client:
        await client.list_tools()
        result = await client.call_tool("mcp__files__read", {})
        print(len(result.content), len(result.content[0].text), len(result.structured_content["content"]))


asyncio.run(main())
