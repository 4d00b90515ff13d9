"""Other processes, escapes from the supervisor, resources, and the launcher itself."""

import ctypes
import glob
import os
import resource
import signal
import subprocess
import threading
import time

from files import shell, text

ATTACKS = {}
LIBC = ctypes.CDLL(None, use_errno=True)


def attack(kind):
    def add(function):
        ATTACKS[function.__name__.replace("_", "-")] = (kind, function)
        return function

    return add


def call(number, *arguments):
    result = LIBC.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def private_memory(pid):
    """Start and size of the memory that a program writes to."""
    found = []
    for line in text(f"/proc/{pid}/maps").splitlines():
        parts = line.split()
        if parts[1].startswith("rw-p") and (len(parts) == 5 or parts[5] == "[heap]"):
            start, end = (int(part, 16) for part in parts[0].split("-"))
            found.append((start, min(end - start, 8 << 20)))
    return found


def memory_file(pid):
    found = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for start, size in private_memory(pid):
            try:
                memory.seek(start)
                found.append(memory.read(size))
            except OSError:
                pass
    return secrets_in(b"".join(found))


def secrets_in(data):
    at = data.find(b"loot-")
    return data[at:at + 40] if at >= 0 else "nothing"


@attack("proc")
def environment_of_host(t):
    return open(f"/proc/{t['host']}/environ", "rb").read()


@attack("proc")
def environment_of_all(t):
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            found.append(open(path, "rb").read())
        except OSError:
            pass
    return found


@attack("proc")
def environment_by_child(t):
    return shell("cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'")


@attack("proc")
def arguments_of_all(t):
    return [open(path, "rb").read() for path in glob.glob("/proc/[0-9]*/cmdline") if os.path.exists(path)]


@attack("proc")
def memory_file_of_bystander(t):
    return memory_file(t["bystander"])


@attack("proc")
def trace_bystander(t):
    # PTRACE_ATTACH, then the memory.
    call(101, 16, t["bystander"], 0, 0)
    os.waitpid(t["bystander"], 0x40000000)
    data = memory_file(t["bystander"])
    call(101, 17, t["bystander"], 0, 0)
    return data


class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


@attack("proc")
def read_memory_by_call(t):
    # Asked for memory without a look at its map: inside a sandbox there is none to look at.
    call(310, t["bystander"], None, 0, None, 0, 0)
    found = []
    for start, size in private_memory(t["bystander"]):
        buffer = ctypes.create_string_buffer(size)
        here, there = Part(ctypes.addressof(buffer), size), Part(start, size)
        call(310, t["bystander"], ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        found.append(buffer.raw)
    return secrets_in(b"".join(found))


@attack("proc")
def take_descriptor_of_bystander(t):
    handle = call(434, t["bystander"], 0)
    return os.pread(call(438, handle, t["open"], 0), 1000, 0)


@attack("proc")
def descriptor_files_of_bystander(t):
    return text(f"/proc/{t['bystander']}/fd/{t['open']}")


def rest():
    time.sleep(1000)


@attack("escape")
def daemon_by_double_fork(t):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 64)
            rest()
        os._exit(0)
    return os.wait()


@attack("escape")
def child_that_ignores_signals(t):
    if os.fork() == 0:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        os.setsid()
        os.closerange(0, 64)
        rest()


@attack("escape")
def orphan_without_variables(t):
    subprocess.Popen(["sleep", "1000"], env={}, start_new_session=True, stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@attack("escape")
def nohup_by_shell(t):
    return shell("nohup setsid sleep 1000 >/dev/null 2>&1 </dev/null &")


@attack("escape")
def server_that_does_not_end(t):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=rest).start()
    if os.fork() == 0:
        os.setsid()
        os.closerange(0, 64)
        rest()


@attack("escape")
def kill_bystander(t):
    os.kill(t["bystander"], signal.SIGKILL)


@attack("escape")
def stop_bystander_by_handle(t):
    call(424, call(434, t["bystander"], 0), signal.SIGKILL, None, 0)


@attack("escape")
def stop_bystander_by_child(t):
    return shell(f"kill -9 {t['bystander']}")


@attack("exhaustion")
def many_processes(t):
    children = []
    try:
        while len(children) < 2000:
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    except OSError:
        pass
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return "EXHAUSTED" if len(children) >= 2000 else len(children)


@attack("exhaustion")
def many_threads(t):
    threading.stack_size(65536)
    done, started = threading.Event(), 0
    try:
        while started < 2000:
            threading.Thread(target=done.wait).start()
            started += 1
    except RuntimeError:
        pass
    done.set()
    return "EXHAUSTED" if started >= 2000 else started


@attack("exhaustion")
def much_memory(t):
    import mmap
    parts = [mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in range(6)]
    return "EXHAUSTED" if len(parts) == 6 else len(parts)


@attack("exhaustion")
def huge_file(t):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with open("/tmp/mcp-attack-huge", "wb") as file:
        file.truncate(6 << 30)
    os.unlink("/tmp/mcp-attack-huge")
    return "EXHAUSTED"


@attack("exhaustion")
def many_descriptors(t):
    resource.setrlimit(resource.RLIMIT_NOFILE, (t["most_files"], t["most_files"]))
    opened = []
    while len(opened) < 5000:
        opened.append(os.open("/dev/null", os.O_RDONLY))
    for number in opened:
        os.close(number)
    return "EXHAUSTED"


@attack("launcher")
def overwrite_launcher(t):
    with open(t["launcher_copy"], "ab") as file:
        file.write(b"#")


@attack("launcher")
def write_report(t):
    os.makedirs(t["state"] + "/reports", exist_ok=True)
    with open(t["state"] + "/reports/forged", "w") as file:
        file.write('{"applied":[],"missing":[]}\n')


@attack("launcher")
def write_kernel_settings(t):
    value = text("/proc/sys/net/ipv4/ip_default_ttl")
    with open("/proc/sys/net/ipv4/ip_default_ttl", "w") as file:
        file.write(value)
    return "EXHAUSTED"


@attack("launcher")
def kill_everything(t):
    # Children first, so that this server survives to answer.
    for path in glob.glob("/proc/[0-9]*"):
        pid = int(path.rsplit("/", 1)[1])
        if pid in (t["bystander"],) or (pid == os.getppid() and pid != t["host"]):
            os.kill(pid, signal.SIGKILL)
    os.kill(t["bystander"], signal.SIGKILL)


@attack("launcher")
def program_with_privileges(t):
    # With capabilities of a namespace, mounts would be possible again.
    status = text("/proc/self/status")
    effective = next(line for line in status.splitlines() if line.startswith("CapEff"))
    return "EXHAUSTED" if int(effective.split()[1], 16) else effective
