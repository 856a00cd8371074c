"""The sandbox's own processes. Run as `python -I -S _init.py FD`: standard library only, Linux only.

    outer   host namespaces; waits for the caller's end (hang-up of FD), then kills the rest and removes the cgroup
      mid   new user namespace; only forks PID 1, because CLONE_NEWPID is for children
        PID 1   builds the root file system, pivots into it, drops capabilities, then serves requests to run commands

FD is one end of a SOCK_SEQPACKET pair; each message is a marshalled dict. The first is the configuration (see `sandbox.py`), the
answer is `ready` or an error. A request to run a command carries four descriptors: stdin, stdout, stderr, status.

Why the order of things is as it is:
- root's ids are mapped to an unused range of the host's, so that root inside is nobody outside (bubblewrap and
  `unshare` as root map to host root, who may then write `/proc/sys`);
- `/proc` is mounted before `pivot_root`: a new proc is only allowed while a complete one is visible;
- hang-up instead of a parent-death signal towards the caller: that signal is sent when the *thread* ends that forked.
"""

# ruff: noqa: PTH101, PTH102, PTH103, PTH106, PTH110, PTH112, PTH114, PTH115, PTH120, PTH123, PTH208, PTH211, SIM105, SIM905
# (os.* instead of pathlib and contextlib: this file is about system calls, and imports are most of a sandbox's start.)

from __future__ import annotations

import ctypes
import errno
import fcntl
import marshal
import os
import resource
import select
import struct
import sys

# The modules beneath `socket` and `signal`, without the enum, re and selectors that those import. marshal instead of
# json for the same reason; both ends are the same Python.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    import socket
    from typing import Any, NoReturn
else:
    import _signal as signal
    import _socket as socket

libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = (
    1,
    2,
    4,
    8,
    32,
    4096,
    16384,
    1 << 18,
)
MNT_DETACH = 2
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
SYS_MOUNT_SETATTR = 442
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 36, 38
SIOCSIFFLAGS, IFF_UP_RUNNING = 0x8914, 0x41
SYS_KEYCTL = {"x86_64": 250, "aarch64": 219}

# Docker's default set without MKNOD: chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap,
# net_bind_service, net_raw, sys_chroot, audit_write, setfcap.
KEPT_CAPABILITIES = {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 29, 31}
FIRST_MAPPED_ID, MAPPED_IDS = 0x20000000, 65536

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
MERGED_USR = ("bin", "sbin", "lib", "lib64", "lib32", "libx32")
FOLDERS = ("proc dev/pts dev/shm etc/ssl tmp root app logs var/tmp var/log var/lib run home opt srv mnt").split()
ETC_COPIED = (
    "ld.so.cache ld.so.conf profile bash.bashrc inputrc protocols services mime.types "
    "localtime timezone debian_version login.defs ssl/openssl.cnf"
).split()
ETC_BOUND = ("alternatives ssl/certs pam.d security perl python3 python3.11 python3.12 python3.13").split()
ETC_WRITTEN = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/usr/sbin:/usr/sbin/nologin\n"
    "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\ndaemon:x:1:\ntty:x:5:\nstaff:x:50:\nusers:x:100:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "hostname": "sandbox\n",
    "resolv.conf": "",
    "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n",
}
PROC_READ_ONLY = ("sys", "bus", "irq", "sysrq-trigger", "fs", "acpi", "scsi")
PROC_HIDDEN = ("kcore", "keys", "timer_list", "kallsyms", "kmsg")
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CGROUP_PREFIX = "termdepth-"


# ---- system calls


def call(name: str, *args: Any) -> None:
    given = [a.encode() if isinstance(a, str) else a for a in args]
    if getattr(libc, name)(*given) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}{tuple(args)[:3]}: {os.strerror(code)}")


def mount(source: str | None, target: str, kind: str | None = None, flags: int = 0, data: str | None = None) -> None:
    call("mount", source, target, kind, ctypes.c_ulong(flags), data)


def prctl(option: int, value: int = 0) -> None:
    call("prctl", option, ctypes.c_ulong(value), 0, 0, 0)


def bind_read_only(source_fd: int, target: str) -> None:
    mount(f"/proc/self/fd/{source_fd}", target, None, MS_BIND | MS_REC)
    attributes = struct.pack("QQQQ", MS_RDONLY | MS_NOSUID, 0, 0, 0)
    try:
        size = ctypes.c_size_t(len(attributes))
        call("syscall", ctypes.c_long(SYS_MOUNT_SETATTR), AT_FDCWD, target, AT_RECURSIVE, attributes, size)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        remount_each_read_only(target)  # Linux < 5.12


def remount_each_read_only(target: str) -> None:
    kept = {"nodev": MS_NODEV, "noexec": MS_NOEXEC, "noatime": 1024, "nodiratime": 2048}
    for line in read("/proc/self/mountinfo").splitlines():
        where, options = line.split()[4:6]
        if where == target or where.startswith(target + "/"):
            flags = sum(flag for name, flag in kept.items() if name in options.split(","))
            mount(None, where, None, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | flags)


def read_bytes(path: str) -> bytes:
    with open(path, "rb") as f:
        return f.read()


def read(path: str) -> str:
    return read_bytes(path).decode(errors="replace")


def write(path: str, text: str | bytes) -> None:
    with open(path, "wb") as f:
        f.write(text.encode() if isinstance(text, str) else text)


# ---- the root file system


def build_root(config: dict[str, Any], many_ids: bool) -> None:
    """Make a tmpfs root with the host's /usr read-only in it, and pivot into it."""
    os.umask(0o022)
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    tops = ["/usr", *(f"/{d}" for d in MERGED_USR if os.path.lexists(f"/{d}"))]
    links = {p: os.readlink(p) for p in tops if os.path.islink(p)}
    bound = [p for p in tops if p not in links]
    bound += [f"/etc/{d}" for d in ETC_BOUND if os.path.isdir(f"/etc/{d}")]
    sources = {p: os.open(p, os.O_PATH) for p in [*bound, *(f"/dev/{d}" for d in DEVICES)]}
    etc: dict[str, str | bytes] = {**ETC_WRITTEN}
    for name in ETC_COPIED:
        try:  # read with the mapped id, so only what everybody may read can be copied
            etc[name] = read_bytes(f"/etc/{name}")
        except OSError:
            continue
    root = "/tmp"  # any folder that exists: only this mount namespace sees what is mounted there
    mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, f"mode=0755,size={config['disk_mb']}m,nr_inodes=400k")
    fill_root(root, etc, links)
    for folder, mode in config["folders"].items():
        if not os.path.isdir(root + folder):
            os.makedirs(root + folder)
            os.chmod(root + folder, mode)
    for path, fd in sources.items():
        target = root + path
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            os.makedirs(target, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            write(target, "")
        if path.startswith("/dev/"):
            mount(f"/proc/self/fd/{fd}", target, None, MS_BIND)
        else:
            bind_read_only(fd, target)
    if os.path.isdir("/usr/local"):  # the host's own additions are none of the sandbox's business
        for name in ["bin", "etc", "games", "include", "lib", "sbin", "share", "src"]:
            os.makedirs(f"{root}/opt/.usr-local/{name}")
        mount(f"{root}/opt/.usr-local", f"{root}/usr/local", None, MS_BIND)
    terminals = "newinstance,ptmxmode=0666,mode=0620" + (",gid=5" if many_ids else "")
    mount("devpts", f"{root}/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, terminals)
    mount("proc", f"{root}/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    os.chdir(root)
    call("pivot_root", ".", ".")
    call("umount2", ".", MNT_DETACH)  # the host's tree is gone from this namespace
    os.chdir("/")
    restrict_proc()
    for fd in sources.values():
        os.close(fd)


def fill_root(root: str, etc: dict[str, str | bytes], links: dict[str, str]) -> None:
    for folder in FOLDERS:
        os.makedirs(f"{root}/{folder}")
    for folder, mode in (("tmp", 0o1777), ("var/tmp", 0o1777), ("dev/shm", 0o1777), ("root", 0o700)):
        os.chmod(f"{root}/{folder}", mode)
    for name, content in etc.items():
        write(f"{root}/etc/{name}", content)
    write(f"{root}/etc/shadow", "root:*:19000:0:99999:7:::\n")
    os.chmod(f"{root}/etc/shadow", 0o640)
    devices = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", **{n: f"/proc/self/fd/{i}" for i, n in enumerate(STREAMS)}}
    for name, to in {
        **links,
        "/etc/os-release": "../usr/lib/os-release",
        "/var/run": "/run",
        **{f"/dev/{name}": to for name, to in devices.items()},
    }.items():
        os.symlink(to, root + name)


STREAMS = ("stdin", "stdout", "stderr")


def restrict_proc() -> None:
    write("/proc/sys/user/max_user_namespaces", "0")  # none inside this one
    for name in PROC_READ_ONLY:
        if os.path.exists(f"/proc/{name}"):
            fd = os.open(f"/proc/{name}", os.O_PATH)
            bind_read_only(fd, f"/proc/{name}")
            os.close(fd)
    for name in PROC_HIDDEN:
        if os.path.exists(f"/proc/{name}"):
            mount("/dev/null", f"/proc/{name}", None, MS_BIND)


def drop_privileges(config: dict[str, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_NPROC, (config["pids"], config["pids"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    last = int(read("/proc/sys/kernel/cap_last_cap"))
    for capability in set(range(last + 1)) - KEPT_CAPABILITIES:
        prctl(PR_CAPBSET_DROP, capability)
    mask = sum(1 << c for c in KEPT_CAPABILITIES)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    call("capset", struct.pack("Ii", 0x20080522, 0), struct.pack("6I", low, low, 0, high, high, 0))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    fields = read("/proc/self/stat").rsplit(")", 1)[1].split()
    start, end = int(fields[45]), int(fields[46])  # the command line: it names paths of the host
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, b"sandbox-init", min(12, end - start))
    prctl(PR_SET_DUMPABLE, 0)  # nothing inside can trace or inspect PID 1


# ---- PID 1: running commands


def look_up(user: str) -> tuple[int, int, list[int], str, str]:
    """-> uid, gid, groups, home, name, from the sandbox's own files (no name service in PID 1)."""
    rows = [r.split(":") for r in read("/etc/passwd").splitlines() if r.count(":") == 6]
    row = next((r for r in rows if user in (r[0], r[2])), None)
    if row is None:
        if not user.isdigit():
            raise ValueError(f"unknown user {user}")
        return int(user), int(user), [], "/", user
    groups = [r.split(":") for r in read("/etc/group").splitlines() if r.count(":") == 3]
    return int(row[2]), int(row[3]), [int(g[2]) for g in groups if row[0] in g[3].split(",")], row[5], row[0]


def run_command(request: dict[str, Any], fds: list[int], many_ids: bool) -> NoReturn:
    """In the child: become the command. Exit code 126 if that cannot be."""
    try:
        os.setsid()
        for sig in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGCHLD):
            signal.signal(sig, signal.SIG_DFL)
        prctl(PR_SET_DUMPABLE, 1)
        write("/proc/self/oom_score_adj", "500")  # the kernel shall take the command before PID 1
        for i in range(3):
            os.dup2(fds[i], i)
        user = request["user"]
        uid, gid, groups, home, name = look_up(str(0 if user is None else user))
        env = {"PATH": DEFAULT_PATH, "LANG": "C.UTF-8", "HOME": home, "USER": name, "LOGNAME": name, **request["env"]}
        if many_ids:
            os.setgroups(groups)
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
        elif uid:
            raise ValueError("only root exists in this sandbox (no subordinate ids on this host)")
        try:
            os.chdir(request["cwd"])
        except OSError:  # as Docker does it: where the image's own folder was removed, commands start at the root
            if not request.get("fallback"):
                raise
            os.chdir("/")
        os.execve(request["argv"][0], request["argv"], env)
    except BaseException as error:
        os.write(2, f"sandbox: cannot start the command: {error}\n".encode())
    os._exit(126)


def kill_family(leader: int) -> None:
    """Kill all of the session that `leader` leads and all its descendants, until none is left."""
    for _ in range(20):
        parents: dict[int, int] = {}
        doomed = set()
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                fields = read(f"/proc/{entry}/stat").rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            if fields[0] in "ZX":
                continue
            parents[int(entry)] = int(fields[1])
            if int(fields[3]) == leader or int(entry) == leader:
                doomed.add(int(entry))
        grown = True
        while grown:
            more = {p for p, parent in parents.items() if parent in doomed} - doomed
            doomed |= more
            grown = bool(more)
        if not doomed:
            return
        for pid in doomed:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue


def serve(sock: socket.socket, many_ids: bool) -> NoReturn:
    null = os.open("/dev/null", os.O_RDWR)
    for i in range(3):
        os.dup2(null, i)
    wake_r, wake_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    poll.register(wake_r, select.POLLIN)
    jobs: dict[int, tuple[int, int]] = {}  # pid -> request id, status descriptor
    sock.send(b"ready")
    while True:
        ready = [fd for fd, _ in poll.poll()]
        if wake_r in ready:
            os.read(wake_r, 512)
            reap(jobs)
        if sock.fileno() in ready:
            message, fds = receive(sock)
            if not message:
                os._exit(0)
            request = marshal.loads(message)
            if "kill" in request:
                leader = next((pid for pid, job in jobs.items() if job[0] == request["kill"]), None)
                if leader:
                    kill_family(leader)
                continue
            start_command(request, fds, jobs, many_ids)


def receive(sock: socket.socket) -> tuple[bytes, list[int]]:
    """A message and the descriptors that came with it."""
    message, ancillary, _, _ = sock.recvmsg(1 << 20, socket.CMSG_SPACE(16), socket.MSG_CMSG_CLOEXEC)
    fds: list[int] = []
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds += struct.unpack(f"{len(data) // 4}i", data)
    return message, fds


def start_command(request: dict[str, Any], fds: list[int], jobs: dict[int, tuple[int, int]], many_ids: bool) -> None:
    try:
        pid = os.fork()
    except OSError as error:
        os.write(fds[2], f"sandbox: {error}\n".encode())
        os.write(fds[3], b"126")
        pid = -1
    if pid == 0:
        run_command(request, fds, many_ids)
    if pid > 0:
        jobs[pid] = (request["id"], os.dup(fds[3]))
    for fd in fds:
        os.close(fd)


def reap(jobs: dict[int, tuple[int, int]]) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        if pid in jobs:  # all others are orphans that PID 1 adopted
            _, fd = jobs.pop(pid)
            code = os.waitstatus_to_exitcode(status)
            try:
                os.write(fd, str(128 - code if code < 0 else code).encode())
            except OSError:
                pass  # the caller gave up on this command
            os.close(fd)


# ---- the outer process


def map_ids(pid: int) -> bool:
    """Map the sandbox's root to an unprivileged id of the host. True if a whole range of ids is mapped."""
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        base = FIRST_MAPPED_ID + (os.getpid() % 4096) * MAPPED_IDS
        try:
            for kind in ("uid", "gid"):
                write(f"/proc/{pid}/{kind}_map", f"0 {base} {MAPPED_IDS}")
            return True
        except OSError:
            pass  # root of a smaller user namespace
    elif map_subordinate_ids(pid, uid):
        return True
    if read(f"/proc/{pid}/uid_map").strip():
        raise OSError("newuidmap worked but newgidmap failed")
    write(f"/proc/{pid}/setgroups", "deny")
    write(f"/proc/{pid}/uid_map", f"0 {uid} 1")
    write(f"/proc/{pid}/gid_map", f"0 {gid} 1")
    return False


def map_subordinate_ids(pid: int, uid: int) -> bool:
    import pwd
    import shutil

    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = str(uid)
    for kind in ("uid", "gid"):
        try:
            rows = [r.strip().split(":") for r in read(f"/etc/sub{kind}").splitlines()]
        except OSError:
            return False
        row = next((r for r in rows if len(r) == 3 and r[0] in (name, str(uid))), None)
        tool = shutil.which(f"new{kind}map")
        if not row or not tool or os.spawnv(os.P_WAIT, tool, [tool, str(pid), "0", row[1], row[2]]) != 0:
            return False
    return True


def make_cgroups(config: dict[str, Any], pid: int) -> list[str]:
    """Limit memory, processes and processor time as far as this host lets us. Returns the folders made."""
    base, name = "/sys/fs/cgroup", f"{CGROUP_PREFIX}{os.getpid()}"
    memory, cpus = config["memory_mb"] << 20, config["cpus"]
    quota = int(cpus * 100_000) if cpus else 0
    if os.path.exists(f"{base}/cgroup.controllers"):
        values = {"memory.max": memory, "memory.swap.max": 0, "pids.max": config["pids"]}
        plan = {f"{base}/{name}": {**values, **({"cpu.max": f"{quota} 100000"} if quota else {})}}
    else:
        limits: dict[str, dict[str, Any]] = {
            "memory": {"memory.limit_in_bytes": memory},
            "pids": {"pids.max": config["pids"]},
            **({"cpu": {"cpu.cfs_period_us": 100_000, "cpu.cfs_quota_us": quota}} if quota else {}),
        }
        plan = {f"{base}/{c}/{name}": v for c, v in limits.items() if os.path.isdir(f"{base}/{c}")}
    made = []
    for folder, settings in plan.items():
        remove_stale_cgroups(os.path.dirname(folder))
        try:
            os.mkdir(folder)
            made.append(folder)
            for key, value in settings.items():
                if os.path.exists(f"{folder}/{key}"):
                    write(f"{folder}/{key}", str(value))
            write(f"{folder}/cgroup.procs", str(pid))
        except OSError:
            continue  # best effort: in a container cgroups are often read-only
    return made


def remove_stale_cgroups(parent: str) -> None:
    """Remove what outer processes left that were themselves killed."""
    for name in os.listdir(parent):
        if name.startswith(CGROUP_PREFIX) and not os.path.exists(f"/proc/{name.removeprefix(CGROUP_PREFIX)}"):
            try:
                os.rmdir(f"{parent}/{name}")
            except OSError:
                continue


def mid(sock: socket.socket, config: dict[str, Any], up: tuple[int, int], down: tuple[int, int]) -> NoReturn:
    os.close(down[1])
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # outer has one thread, so here this signal is right
    call("unshare", CLONE_NEWUSER)
    os.write(up[1], b"u")
    reply = os.read(down[0], 1)
    if not reply:
        os._exit(1)
    many_ids = reply == b"m"
    if many_ids:
        os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # changing ids cleared it
    call("unshare", CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)
    pid = os.fork()
    if pid:
        sock.close()
        os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()
    call("sethostname", "sandbox", 7)
    network = socket.socket()
    fcntl.ioctl(network.fileno(), SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP_RUNNING))
    network.close()
    build_root(config, many_ids)
    if number := SYS_KEYCTL.get(os.uname().machine):
        libc.syscall(ctypes.c_long(number), 1, None)  # a session keyring of our own: do not share the caller's keys
    drop_privileges(config)
    serve(sock, many_ids)


def report(sock: socket.socket, error: BaseException) -> NoReturn:
    try:
        sock.send(f"{type(error).__name__}: {error}".encode())
    except OSError:
        pass
    os._exit(1)


def main() -> NoReturn:
    sock = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(sock.fileno(), False)
    cgroups: list[str] = []
    try:
        config = marshal.loads(sock.recv(1 << 16))
        prctl(PR_SET_CHILD_SUBREAPER, 1)  # PID 1 becomes our child if mid dies
        up, down = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                mid(sock, config, up, down)
            except BaseException as error:
                report(sock, error)
        os.close(up[1])
        os.close(down[0])
        if os.read(up[0], 1):
            cgroups = make_cgroups(config, pid) if os.geteuid() == 0 else []
            os.write(down[1], b"m" if map_ids(pid) else b"s")
        os.close(down[1])
    except BaseException as error:
        report(sock, error)
    poll = select.poll()
    poll.register(sock, 0)  # POLLHUP only: the caller closed its end or was killed
    poll.register(os.pidfd_open(pid), select.POLLIN)
    poll.poll()
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    while True:  # mid, then PID 1, which ends only after the kernel has killed its whole namespace
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    for folder in cgroups:
        try:
            os.rmdir(folder)
        except OSError:
            continue
    os._exit(0)


if __name__ == "__main__":
    main()
