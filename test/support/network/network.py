"""Hosts for tests: each has a network namespace of its own, and this program is the wire between them.

Usage: network.py PREFIX SEED [HOST ...], for example: network.py 198.18.7 1 10 11 12
Run as root. The machine itself takes part with the addresses PREFIX.1 to PREFIX.3, on a device that nothing else uses.
One line of JSON on standard output names the process that holds each host's namespace: {"10": 4711, ...}.
Each line on standard input replaces all faults: [{"from": "10", "to": "3", "cut": true, "delayMs": 200, "lossPercent": 5}],
where "*" stands for any address. The answer is the line "set". The end of standard input ends everything; nothing is left.
"""

import ctypes
import fcntl
import heapq
import json
import os
import random
import selectors
import signal
import socket
import struct
import sys
import time

CLONE_NEWNET = 0x40000000
# linux/if_tun.h, linux/sockios.h, linux/if.h, linux/prctl.h
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK = 0x8913, 0x8914, 0x8916, 0x891C
SIOCSIFTXQLEN = 0x8943
IFF_UP = 0x1
PR_SET_PDEATHSIG = 1
PACKET_BYTES_MAX = 65536
# A wire that holds more than this loses what comes next, as a router's queue does.
HELD_PACKETS_MAX = 20_000

libc = ctypes.CDLL(None, use_errno=True)


def request(name, body):
    return struct.pack("16s24s", name.encode(), body)


def address_of(text):
    return struct.pack("HH4s16x", socket.AF_INET, 0, socket.inet_aton(text))


def open_device(name, addresses):
    """A network device whose packets this program reads and writes; it is gone when its descriptor is closed."""
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for number, address in enumerate(addresses):
            alias = name if number == 0 else f"{name}:{number}"
            fcntl.ioctl(control, SIOCSIFADDR, request(alias, address_of(address)))
            fcntl.ioctl(control, SIOCSIFNETMASK, request(alias, address_of("255.255.255.0")))
        bring_up(control, name)
    return tun


def bring_up(control, name):
    flags = struct.unpack_from("16sH", fcntl.ioctl(control, SIOCGIFFLAGS, request(name, b"")))[1]
    fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH22x", name.encode(), flags | IFF_UP))


def hold_host(address):
    """Forks a process in a namespace of its own. Answers its id and the descriptor of its device."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent or libc.unshare(CLONE_NEWNET) != 0:
            os._exit(1)
        tun = open_device("wire", [address])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            bring_up(control, "lo")
        socket.send_fds(there, [b"."], [tun])
        here.close()
        while True:
            signal.pause()
    there.close()
    received, descriptors, _, _ = socket.recv_fds(here, 1, 1)
    if received == b"":
        sys.exit("this kernel gives no network namespace")
    return child, descriptors[0]


class Wire:
    def __init__(self, prefix, seed, devices):
        self.prefix = prefix
        # The descriptor by a host's number; the numbers below 10 are the machine's own.
        self.devices = devices
        self.random = random.Random(seed)
        self.faults = []
        self.held = []
        self.number = 0

    def carry(self, packet, now):
        if len(packet) < 20 or packet[0] >> 4 != 4:
            return
        origin, target = packet[15], packet[19]
        if socket.inet_ntoa(packet[16:19] + b"\0").rsplit(".", 1)[0] != self.prefix:
            return
        delay = 0.0
        for fault in self.faults:
            if fault["from"] not in ("*", str(origin)) or fault["to"] not in ("*", str(target)):
                continue
            if fault.get("cut") or self.random.random() * 100 < fault.get("lossPercent", 0):
                return
            delay += fault.get("delayMs", 0) / 1000
        if delay == 0:
            self.deliver(target, packet)
        elif len(self.held) < HELD_PACKETS_MAX:
            self.number += 1
            heapq.heappush(self.held, (now + delay, self.number, target, packet))

    def deliver(self, target, packet):
        device = self.devices.get(target if target >= 10 else 0)
        if device is None:
            return
        try:
            os.write(device, packet)
        except OSError:
            pass  # A full queue loses the packet.

    def deliver_held(self, now):
        while self.held and self.held[0][0] <= now:
            _, _, target, packet = heapq.heappop(self.held)
            self.deliver(target, packet)

    def wait(self, now):
        return max(0.0, self.held[0][0] - now) if self.held else None


def main():
    prefix, seed, hosts = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    processes, devices = {}, {}
    for host in hosts:
        processes[host], devices[int(host)] = hold_host(f"{prefix}.{host}")
    devices[0] = open_device(f"rec{prefix.rsplit('.', 1)[1]}", [f"{prefix}.{number}" for number in (1, 2, 3)])
    wire = Wire(prefix, seed, devices)
    selector = selectors.DefaultSelector()
    for descriptor in devices.values():
        selector.register(descriptor, selectors.EVENT_READ)
    os.set_blocking(0, False)
    selector.register(0, selectors.EVENT_READ)
    print(json.dumps(processes), flush=True)
    commands = b""
    while True:
        ready = selector.select(wire.wait(time.monotonic()))
        now = time.monotonic()
        wire.deliver_held(now)
        for key, _ in ready:
            if key.fd == 0:
                read = os.read(0, PACKET_BYTES_MAX)
                if read == b"":
                    return
                *lines, commands = (commands + read).split(b"\n")
                for line in lines:
                    wire.faults = json.loads(line)
                    print("set", flush=True)
                continue
            for _ in range(64):
                try:
                    wire.carry(os.read(key.fd, PACKET_BYTES_MAX), now)
                except BlockingIOError:
                    break


if __name__ == "__main__":
    main()
