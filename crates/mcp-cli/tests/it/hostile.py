"""A server that does not want to end: a schema with 2^40 paths, a tool that never answers, signals ignored."""

import json
import signal
import sys
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)

defs = {"a0": {"type": "string"}}
for level in range(1, 41):
    below = {"$ref": f"#/$defs/a{level - 1}"}
    defs[f"a{level}"] = {"allOf": [below, below]}
bomb = {"type": "object", "$defs": defs, "properties": {"p": {"$ref": "#/$defs/a40"}}}
tools = [
    {"name": "bomb", "inputSchema": {"type": "object"}, "outputSchema": bomb},
    {"name": "hang", "inputSchema": {"type": "object"}},
]


def answer(message):
    method = message["method"]
    if method == "initialize":
        info = {"name": "hostile", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": tools}
    if method == "tools/call" and message["params"]["name"] == "bomb":
        return {"content": [], "structuredContent": {"p": "x"}}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    result = answer(message)
    if result is not None:
        reply["result"] = result
    elif message["method"] == "tools/call":
        continue
    else:
        reply["error"] = {"code": -32601, "message": "no"}
    print(json.dumps(reply), flush=True)

# The input has ended, and this process has not.
while True:
    time.sleep(60)
