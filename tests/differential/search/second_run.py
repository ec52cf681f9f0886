"""Other runs of PyTorch, which settle a difference: what it computes where every step's result is moved by rounding, where all is
float64, and where steps may change what backward has saved."""

import math
import random

import torch

from compare import bounds, differences, floor_of, random_names
from machine import DTYPES, NUMBERS, Machine
from op import OPS, RANDOM
from wanted import calls, reason_of, sources

EPSILON = {torch.float32: 5e-7, torch.float64: 1e-15, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
DRAWS = 8  # runs with moved results
NORMS = ("batch_norm", "group_norm", "instance_norm", "layer_norm", "var", "std", "var_mean")
FACTOR = 10  # how much further than those Tandem's value may be from PyTorch's: a step rounds more often than it is moved


def moved(steps, draw):
    """PyTorch's results where the result of each step is off by a few units in its last place."""
    rng = random.Random(draw)
    if calls(steps, *NORMS, *(name for name in OPS if name.startswith(("linalg_", "logdet", "cholesky")))):
        # Whether a matrix is singular, and how nearly equal numbers are spread, is decided by the last place of the elements.
        steps = [["make", *s[1:4], [v * (1 + EPSILON[getattr(torch, s[1])] * rng.uniform(-1, 1)) if isinstance(v, float) else v
                                    for v in s[4]], s[5]]
                 if s and s[0] == "make" and s[1] in ("float32", "float64") else s for s in steps]

    def perturb(name, t):
        if t is not None and t.dtype in EPSILON and name not in RANDOM and not t._is_view():
            with torch.no_grad():
                t.data.mul_(1 + EPSILON[t.dtype] * rng.uniform(-1, 1))

    return Machine(OPS, perturb).run(steps)


def numbers_of(result, difference):
    """The dtype and the numbers of the tensor, or of a hook's calls, that a difference is about; None where there is none."""
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
    """Whether each element of PyTorch's own result moves as far: a comparison of nearly equal numbers, a step function at a jump,
    a difference of large numbers."""
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
    """PyTorch's results where all is float64."""
    torch.set_default_dtype(torch.float64)
    try:
        return Machine(OPS).run([["make", "float64", *s[2:]] if s and s[0] == "make" and "float" in s[1] else s for s in steps])
    finally:
        torch.set_default_dtype(torch.float32)


def in_float64(difference, steps, ours, theirs):
    """Whether Tandem's values are as near as PyTorch's to those that PyTorch gives where all is float64. As near is four times
    as far: both round, each in an order of its own."""
    if {int(name.split(".")[0]) for name in random_names(steps)} & sources(difference.step, steps):
        return False
    a, b, e = (numbers_of(side, difference) for side in (ours, theirs, wide(steps)))
    if not a or not b or not e or len(e[1]) != len(b[1]) or "float" not in b[0]:
        return False
    exact = torch.tensor(e[1], dtype=torch.float64).to(DTYPES[b[0]]).tolist()
    numbers = list(zip(a[1], b[1], exact))
    finite = [three for three in numbers if all(math.isfinite(v) for v in three)]
    off = 4 * max((abs(y - z) for _, y, z in finite), default=0)
    bound = 1e-4 if b[0] in ("float32", "float64") else 2e-2  # of what PyTorch could not hold on the way

    def settled(x, y, z):
        if x == y or x != x and y != y:
            return True
        if math.isfinite(x) and math.isfinite(y):
            return math.isfinite(z) and abs(x - z) <= off
        return x == z or x != x and z != z or math.isfinite(x) and math.isfinite(z) and abs(x - z) <= bound * abs(z)

    return bool(numbers) and all(settled(*three) for three in numbers)


def with_copies(difference, steps, ours, theirs):
    """Whether Tandem gives what PyTorch gives where it keeps a copy of what an in-place step changes and backward needs.
    (Tandem may have saved another tensor, and then need not refuse.)"""
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        copied = Machine(OPS).run(steps)
    return all(reason_of(d, steps, ours, copied) for d in differences(steps, ours, copied))


def settled_by(difference, steps, ours, theirs):
    """Which run of PyTorch gives what Tandem gives, or moves as far, or None."""
    if difference.kind.endswith(("values", "finite")):
        if rounding(difference, steps, ours, theirs):
            return "results moved by rounding"
        if in_float64(difference, steps, ours, theirs):
            return "all in float64"
    if difference.kind == "does not throw" and "modified by an inplace operation" in theirs["errors"][difference.step]:
        if with_copies(difference, steps, ours, theirs):
            return "copies of what backward saves"
    return None
