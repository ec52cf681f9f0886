"""Explains differences by other runs of PyTorch: with the results of each step moved by rounding, with everything in
float64, and with in-place changes of saved tensors allowed."""

import math
import random

import torch

from compare import bounds, differences, floor_of, random_names
from machine import DTYPES, NUMBERS, Machine
from op import OPS, RANDOM
from wanted import calls, reason_of, sources

EPSILON = {torch.float32: 5e-7, torch.float64: 1e-15, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
DRAWS = 8  # number of runs with moved results
NORMS = ("batch_norm", "group_norm", "instance_norm", "layer_norm", "var", "std", "var_mean")
FACTOR = 10  # factor by which Tandem may differ more than the moved runs: a step rounds more often than it is moved


def moved(steps, draw):
    """Returns PyTorch's results if the result of each step is moved by a few units in its last place."""
    rng = random.Random(draw)
    if calls(steps, *NORMS, *(name for name in OPS if name.startswith(("linalg_", "logdet", "cholesky")))):
        # Also moves the inputs: rounding decides whether a matrix is singular, and affects statistics of nearly equal
        # numbers.
        steps = [["make", *s[1:4], [v * (1 + EPSILON[getattr(torch, s[1])] * rng.uniform(-1, 1)) if isinstance(v, float) else v
                                    for v in s[4]], s[5]]
                 if s and s[0] == "make" and s[1] in ("float32", "float64") else s for s in steps]

    def perturb(name, t):
        if t is not None and t.dtype in EPSILON and name not in RANDOM and not t._is_view():
            with torch.no_grad():
                t.data.mul_(1 + EPSILON[t.dtype] * rng.uniform(-1, 1))

    return Machine(OPS, perturb).run(steps)


def numbers_of(result, difference):
    """Returns the dtype and numbers of the tensor (or the hook's calls) that a difference is about, or None."""
    if difference.kind.startswith("hook"):
        calls_of_hook = result["hooks"].get(str(difference.step), [])
        dtype, values = calls_of_hook[0][0] if calls_of_hook else "", [v for call in calls_of_hook for v in call[2]]
    else:
        t = result["grads" if difference.kind.startswith("grad") else "values"].get(difference.detail[1:].split(":")[0])
        if not isinstance(t, list):
            return None
        dtype, values = t[0], t[6]
    return dtype, [NUMBERS.get(v, v) if isinstance(v, str) else v for v in values]


def rounding(difference, steps, ours, theirs):
    """Returns whether PyTorch's own result moves as far in each element, as in a comparison of nearly equal numbers, a
    step function at a jump, or a difference of large numbers."""
    a, b = numbers_of(ours, difference), numbers_of(theirs, difference)
    runs = [numbers_of(moved(steps, draw), difference) for draw in range(DRAWS)]
    if not a or not b or not all(runs) or len({len(n) for _, n in (a, b, *runs)}) > 1:
        return False
    for i, (x, y, bound) in enumerate(zip(a[1], b[1], bounds(b[0], b[1], floor_of(steps)))):
        others = [numbers[i] for _, numbers in runs]
        if x == y or x != x and y != y:
            continue
        if math.isfinite(x) and math.isfinite(y):
            if abs(x - y) > max(bound, FACTOR * max((abs(z - y) for z in others if math.isfinite(z)), default=0)):
                return False
        elif all(z == y or z != z and y != y for z in others):
            return False
    return True


def wide(steps):
    """Returns PyTorch's results with every floating-point tensor in float64."""
    torch.set_default_dtype(torch.float64)
    try:
        return Machine(OPS).run([["make", "float64", *s[2:]] if s and s[0] == "make" and "float" in s[1] else s for s in steps])
    finally:
        torch.set_default_dtype(torch.float32)


def in_float64(difference, steps, ours, theirs):
    """Returns whether Tandem's values are about as close as PyTorch's to the values that PyTorch computes in float64.
    Up to four times the distance is allowed, because both round, each in another order."""
    if {int(name.split(".")[0]) for name in random_names(steps)} & sources(difference.step, steps):
        return False
    a, b, e = (numbers_of(side, difference) for side in (ours, theirs, wide(steps)))
    if not a or not b or not e or len(e[1]) != len(b[1]) or "float" not in b[0]:
        return False
    exact = torch.tensor(e[1], dtype=torch.float64).to(DTYPES[b[0]]).tolist()
    numbers = list(zip(a[1], b[1], exact))
    finite = [three for three in numbers if all(math.isfinite(v) for v in three)]
    off = 4 * max((abs(y - z) for _, y, z in finite), default=0)
    # relative error allowed if PyTorch's narrower computation overflowed
    bound = 1e-4 if b[0] in ("float32", "float64") else 2e-2

    def settled(x, y, z):
        if x == y or x != x and y != y:
            return True
        if math.isfinite(x) and math.isfinite(y):
            return math.isfinite(z) and abs(x - z) <= off
        return x == z or x != x and z != z or math.isfinite(x) and math.isfinite(z) and abs(x - z) <= bound * abs(z)

    return bool(numbers) and all(settled(*three) for three in numbers)


def with_copies(difference, steps, ours, theirs):
    """Returns whether Tandem's results equal PyTorch's if PyTorch copies saved tensors that an in-place step changes.
    (Tandem may have saved another tensor, and then does not need to throw.)"""
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        copied = Machine(OPS).run(steps)
    return all(reason_of(d, steps, ours, copied) for d in differences(steps, ours, copied))


def settled_by(difference, steps, ours, theirs):
    """Returns the kind of PyTorch run that explains a difference, or None."""
    if difference.kind.endswith(("values", "finite")):
        if rounding(difference, steps, ours, theirs):
            return "results moved by rounding"
        if in_float64(difference, steps, ours, theirs):
            return "all in float64"
    if difference.kind == "does not throw" and "modified by an inplace operation" in theirs["errors"][difference.step]:
        if with_copies(difference, steps, ours, theirs):
            return "copies of what backward saves"
    return None
