"""Runs programs under PyTorch and under Tandem."""

import json
import subprocess

from compare import differences
from machine import Machine
from op import OPS


class Tandem:
    """A process that runs programs under Tandem. It is restarted after a program ends it."""

    def __init__(self, program, device="cpu"):
        self.command = [program, "serve", "--device", device]
        self.process = None

    def run(self, steps):
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True)
        try:
            self.process.stdin.write(json.dumps(steps) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        status = self.process.wait()
        self.process = None
        return {"crash": f"the process ended with status {status}"}


def run_both(tandem, steps, theirs=None):
    """Returns the differences, Tandem's results and PyTorch's results."""
    theirs = theirs or Machine(OPS).run(steps)
    ours = tandem.run(steps)
    return differences(steps, ours, theirs), ours, theirs
