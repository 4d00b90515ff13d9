"""A server with one tool, whose result has an output schema and 2 MB of text, said twice."""

import json
import sys

TEXT = "a line of a long file, é\n" * 85_000
SCHEMA = {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]}
TOOLS = [{"name": "read", "inputSchema": {"type": "object"}, "outputSchema": SCHEMA}]


def answer(message):
    method = message["method"]
    if method == "initialize":
        info = {"name": "files", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        content = [{"type": "text", "text": TEXT}]
        return {"content": content, "structuredContent": {"content": TEXT}}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        result = answer(message)
        if result is None:
            reply["error"] = {"code": -32601, "message": "no"}
        else:
            reply["result"] = result
        print(json.dumps(reply), flush=True)
