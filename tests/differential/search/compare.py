"""Finds the differences between the results of PyTorch (machine.py) and Tandem (machine.cpp) for a program."""

import math
from dataclasses import dataclass

from machine import NO_GRAD, NUMBERS
from op import RANDOM

# Tolerance relative to the largest value of the tensor (because sums cancel). Programs have at most eight steps. Each
# step rounds to half a unit in the last place, functions to a few units, and sums of up to 400 terms, in another order,
# to about ten units. Integers and bools must be equal.
TOLERANCE = {"float64": 1e-11, "float32": 2e-5, "float16": 1e-2, "bfloat16": 6e-2}
FIELDS = ("dtype", "sizes", "strides", "flags", "storage", "same")


@dataclass
class Difference:
    kind: str  # one of crash, error, missing, undefined, FIELDS, values, finite, grad..., hook...
    step: int  # index of the step whose result differs
    detail: str

    def __str__(self):
        return f"{self.kind} of step {self.step}: {self.detail}"


def finite(values):
    return [abs(v) for v in values if isinstance(v, (int, float)) and math.isfinite(v)]


def floor_of(steps):
    """Returns the smallest magnitude that is compared: a hundredth of the program's inputs, because results may
    cancel."""
    made = [max(finite(s[4]), default=0) for s in steps if s and s[0] == "make" and s[1] in TOLERANCE]
    return 1e-2 * min(1, max(made, default=1) or 1)


def bounds(dtype, values, floor=1e-2):
    """Returns the tolerance of each value."""
    tolerance = TOLERANCE.get(dtype, 0)
    scale = max(finite(values), default=0) if tolerance else 0
    return [tolerance * max(scale, floor)] * len(values)


def values_differ(dtype, ours, theirs, floor=1e-2):
    if len(ours) != len(theirs):
        return "values", f"{len(ours)} elements, not {len(theirs)}"
    ours = [NUMBERS.get(v, v) if isinstance(v, str) else v for v in ours]
    for i, (a, b, bound) in enumerate(zip(ours, theirs, bounds(dtype, theirs, floor))):
        if a == b or (a != a and b != b):
            continue
        if not (math.isfinite(a) and math.isfinite(b)):
            return "finite", f"Tandem {ours[:24]}, PyTorch {theirs[:24]} (element {i})"
        if abs(a - b) > bound:
            return "values", f"Tandem {ours[:24]}, PyTorch {theirs[:24]} (element {i})"
    return None


def random_names(steps):
    """Returns the names of random values, with all outputs of their steps."""
    names = set()
    for i, step in enumerate(steps):
        if step and step[0].removeprefix(NO_GRAD) in RANDOM:
            names.add(str(i))
            if step[0].removeprefix(NO_GRAD).endswith("_"):
                names.add(step[1][1:])
    return names


def tensors(what, steps, ours, theirs):
    skipped, floor = random_names(steps), floor_of(steps)
    for name in theirs.keys() | ours.keys():
        step = int(name.split(".")[0])
        if (name in ours) != (name in theirs):
            yield Difference(what + "undefined", step, f"{'only Tandem' if name in ours else 'only PyTorch'} has t{name}")
            continue
        a, b = ours[name], theirs[name]
        if a is None or b is None:
            if a is not b:
                yield Difference(what + "undefined", step, f"t{name}: {'PyTorch' if a is None else 'Tandem'} defines it")
            continue
        if isinstance(a, dict) or isinstance(b, dict):
            if isinstance(a, dict) != isinstance(b, dict):
                yield Difference(what + "unreadable", step, f"t{name}: Tandem {a}, PyTorch {b}")
            continue
        for field, x, y in zip(FIELDS, a, b):
            if x != y and x is not None:  # null: programs should not rely on it (machine.h)
                yield Difference(what + field, step, f"t{name}: Tandem {x}, PyTorch {y}")
        if a[:2] == b[:2] and name not in skipped:
            differ = values_differ(a[0], a[6], b[6], floor)
            if differ:
                yield Difference(what + differ[0], step, f"t{name}: {differ[1]}")


def hooks(ours, theirs):
    for name in theirs.keys() | ours.keys():
        a, b = ours.get(name, []), theirs.get(name, [])
        if len(a) != len(b):
            yield Difference("hook calls", int(name), f"Tandem {len(a)}, PyTorch {len(b)}")
            continue
        for x, y in zip(a, b):
            if x[:2] != y[:2]:
                yield Difference("hook sizes", int(name), f"Tandem {x[:2]}, PyTorch {y[:2]}")
            elif values_differ(x[0], x[2], y[2]):
                yield Difference("hook values", int(name), values_differ(x[0], x[2], y[2])[1])


def differences(steps, ours, theirs):
    """Returns the differences, those of earlier steps first. If a step throws on one side only, returns only that
    difference."""
    if "crash" in ours:
        return [Difference("crash", len(steps) - 1, ours["crash"])]
    for i, (a, b) in enumerate(zip(ours["errors"], theirs["errors"])):
        if (a is None) != (b is None):
            return [Difference("throws" if a else "does not throw", i, f"Tandem: {a}; PyTorch: {b}")]
    found = list(tensors("", steps, ours["values"], theirs["values"]))
    found += tensors("grad ", steps, ours["grads"], theirs["grads"])
    found += hooks(ours["hooks"], theirs["hooks"])
    order = ["dtype", "undefined", "sizes", "same", "storage", "flags", "strides"]
    return sorted(found, key=lambda d: (d.step if not d.kind.startswith(("grad", "hook")) else len(steps),
                                        order.index(d.kind) if d.kind in order else len(order)))
