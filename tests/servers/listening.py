"""Shared by the Python servers of the matrix: a free port, and an exit when stdin closes."""

import os
import socket
import sys
import threading

import uvicorn


def serve(app, scheme="http", path="/mcp"):
    """Serves `app` on a free loopback port. Prints its URL once connections are accepted."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    end_with_stdin()
    print(f"{scheme}://127.0.0.1:{listener.getsockname()[1]}{path}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


def end_with_stdin():
    """Exits when stdin closes: the parent process holds it."""

    def watch():
        while sys.stdin.buffer.read(1):
            pass
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
