#!/usr/bin/env python3
"""Disturbs `tandem compare` from outside, and counts how often its diagnosis names the disturbance.

  disturbances.py --runs N [--only NAMES] [--build FOLDER] [--keep FOLDER]

Each run measures DDP over Gloo with two ranks, as `tandem compare --quick` does. The disturbances are:
  none       nothing
  stop       rank 1 is stopped (SIGSTOP) for 20 of every 30 ms
  neighbour  as many busy processes as there are cores
  loader     each batch comes 20 ms late (--plant input:0.02)
  link       the ranks' connections go through a relay that passes on 20 MB/s
A run is right if the expected name is there and no other is. "contention" is no wrong name if this script, too, finds
that other programs used a quarter of a core during the run: it then is true. Fails if fewer than nine in ten runs of a
disturbance are right, or if a run without one has a wrong name."""
import argparse
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
EXPECTED = {"none": None, "stop": "straggler", "neighbour": "contention", "loader": "data-starved", "link": "link-bound"}
MIN_CORES = 0.25  # of other programs, as in tools/compare/diagnose.cpp
RUN_SECONDS = 180


# ---------------------------------------------------------------- disturbances
def descendants(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                found += [int(child), *descendants(int(child))]
    except OSError:
        pass  # the process has ended
    return found


def is_rank(pid, rank):
    try:
        return b"RANK=%d" % rank in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def stop_rank(parent, rank, ended, stopped_ms=20, running_ms=10):
    """Stops the processes of a rank again and again until `ended` is set. compare starts new ones for each sample."""
    while not ended.is_set():
        for pid in [p for p in descendants(parent) if is_rank(p, rank)]:
            try:
                while not ended.is_set():
                    try:
                        os.kill(pid, signal.SIGSTOP)
                        time.sleep(stopped_ms / 1000)
                    finally:
                        os.kill(pid, signal.SIGCONT)
                    time.sleep(running_ms / 1000)
                    if not is_rank(pid, rank):  # a zombie has no environment
                        break
            except ProcessLookupError:
                pass
        time.sleep(0.005)


def spin():
    while True:
        pass


class Relay:
    """Passes connections on to the port that relay_preload.cpp says is meant, so many bytes a second in all."""

    def __init__(self, folder, bytes_per_second):
        self.rate, self.free_at, self.lock, self.meant = bytes_per_second, 0.0, threading.Lock(), {}
        self.path = str(Path(folder) / "relay")
        self.words = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.words.bind(self.path)
        self.words.setblocking(False)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        threading.Thread(target=self.accept, daemon=True).start()

    def environment(self, preload):
        return {"LD_PRELOAD": preload, "TANDEM_SHARED_MEMORY": "0", "TANDEM_TEST_RELAY_PATH": self.path,
                "TANDEM_TEST_RELAY_PORT": str(self.listener.getsockname()[1])}

    def accept(self):
        while True:
            try:
                client, address = self.listener.accept()
            except OSError:
                return  # closed
            try:
                while True:
                    own, meant = self.words.recv(64).split()
                    self.meant[int(own)] = int(meant)
            except BlockingIOError:
                pass
            try:
                server = socket.create_connection(("127.0.0.1", self.meant[address[1]]))
            except (OSError, KeyError):
                client.close()
                continue
            for here, there in ((client, server), (server, client)):
                there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.pass_on, args=(here, there), daemon=True).start()

    def pass_on(self, here, there):
        try:
            while data := here.recv(1 << 14):
                with self.lock:
                    self.free_at = max(self.free_at, time.monotonic()) + len(data) / self.rate
                    due = self.free_at
                if (wait := due - time.monotonic()) > 0:
                    time.sleep(wait)
                there.sendall(data)
            there.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.close()
        self.words.close()


# ---------------------------------------------------------------- one run
def busy_seconds():
    """CPU seconds that all programs have used on the cores of this process."""
    cores = {f"cpu{i}" for i in os.sched_getaffinity(0)}
    ticks = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name in cores:
            ticks += sum(int(f) for f in fields[:3] + fields[5:8])
    return ticks / os.sysconf("SC_CLK_TCK")


def child_seconds():
    used = os.times()
    return used.children_user + used.children_system


def run(disturbance, options, folder):
    """The report of one run, and the cores that other programs used meanwhile; None if it failed."""
    out = Path(folder) / "report"
    command = [str(options.build / "tools/tandem"), "compare", "--quick", "--model", options.model, "--backend", "gloo", "--mode",
               "ddp_gloo", "--devices", "2", "--repeats", "1", "--seconds", "0.05", "--out", str(out)]
    environment, relay, helpers, ended = dict(os.environ), None, [], threading.Event()
    if disturbance == "loader":
        command += ["--plant", "input:0.02"]
    if disturbance == "link":
        relay = Relay(folder, 20e6)
        environment |= relay.environment(str(options.build / "tests/librelay_preload.so"))
    if disturbance == "neighbour":
        helpers = [multiprocessing.Process(target=spin, daemon=True) for _ in os.sched_getaffinity(0)]
        for helper in helpers:
            helper.start()
    began, busy, own = time.monotonic(), busy_seconds(), child_seconds()
    try:
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            if disturbance == "stop":
                threading.Thread(target=stop_rank, args=(process.pid, 1, ended), daemon=True).start()
            try:
                output, _ = process.communicate(timeout=RUN_SECONDS)
            except subprocess.TimeoutExpired:
                process.terminate()
                output, _ = process.communicate()
        others = (busy_seconds() - busy - (child_seconds() - own)) / (time.monotonic() - began)
    finally:
        ended.set()
        for helper in helpers:
            helper.terminate()
            helper.join()
        if relay:
            relay.close()
    if process.returncode != 0:
        print(f"{disturbance}: tandem compare ended with {process.returncode}:\n{output}", file=sys.stderr)
        return None, others
    return json.loads((out / "report.json").read_text()), others


def judge(disturbance, report, others):
    """Whether the expected name is there, the wrong names, and all names."""
    expected, found = EXPECTED[disturbance], []
    for diagnosis in report["diagnosis"]:
        name = diagnosis["kind"]
        if name == "straggler":
            name += " rank 1" if "longer for rank 1 than" in diagnosis["sentence"] else " other"
        found.append(name)
    right = {"straggler": "straggler rank 1"}.get(expected, expected)
    allowed = {right} | ({"contention"} if others >= MIN_CORES else set())
    return expected is None or right in found, sorted(set(found) - allowed), found


def keep(report, path):
    """Writes what the diagnosis of DDP is made from, in the form of tests/fixtures/disturbances."""
    ddp = next(r for r in report["runs"] if r["mode"] == "ddp_gloo")
    link = next(l for l in report["links"] if l["name"].startswith("all-reduce"))
    figures = {"cores_of_others": ddp["cores_of_others"], "traced_steps": ddp["shown_step"]["of"], "steps": ddp["steps"],
               "link": {field: link[field] for field in ("name", "latency", "bandwidth")}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(figures, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="runs of each disturbance")
    parser.add_argument("--only", default=",".join(EXPECTED), help="disturbances, separated by commas")
    parser.add_argument("--model", default="mlp", help="mlp, lenet or fashion_cnn")
    parser.add_argument("--build", type=lambda p: Path(p).resolve(), default=ROOT / "build/release")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="folder for the figures of each run")
    options = parser.parse_args()
    names = options.only.split(",")
    for name in names:
        if name not in EXPECTED:
            parser.error(f"'{name}' is not a disturbance; accepted: {', '.join(EXPECTED)}")
    total = {name: {"runs": 0, "right": 0, "wrong": 0} for name in names}
    for i in range(options.runs):
        for name in names:  # in turn, so that each meets the same load of the machine
            with tempfile.TemporaryDirectory() as folder:
                began = time.monotonic()
                report, others = run(name, options, folder)
                sum_ = total[name]
                sum_["runs"] += 1
                if report is None:
                    continue
                named, wrong, found = judge(name, report, others)
                sum_["right"] += named and not wrong
                sum_["wrong"] += bool(wrong)
                print(f"{name:<10} {'right' if named and not wrong else 'WRONG'}  others {others:4.2f} cores  "
                      f"{time.monotonic() - began:5.1f} s  {', '.join(found) or 'no diagnosis'}", flush=True)
                if options.keep:
                    keep(report, options.keep / f"{name}_{i}.json")
    failed = False
    for name, sum_ in total.items():
        failed |= sum_["right"] < 0.9 * sum_["runs"] or (name == "none" and sum_["wrong"] > 0)
        print(f"{name}: {sum_['right']} of {sum_['runs']} right, {sum_['wrong']} with a wrong name")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
