"""Differences from PyTorch that are wanted, each with its reason. A program with no other difference counts as wanted."""

import random

import torch

from compare import differences
from machine import NO_GRAD, Machine
from op import OPS, RANDOM

WANTED = []


def wanted(name, reason):
    """Adds a class of differences: matches(difference, steps, ours, theirs)."""
    def add(matches):
        WANTED.append((name, reason, matches))
        return matches
    return add


def differing_names(steps, ours, theirs):
    """The names of values that differ in their elements."""
    return {d.detail[1:].split(":")[0] for d in differences(steps, ours, theirs) if d.kind == "values"}


def op_of(difference, steps):
    return (steps[difference.step] or [""])[0].removeprefix(NO_GRAD)


@wanted("derivatives that PyTorch does not have",
        "Tandem differentiates what PyTorch refuses to: weights of losses, backward functions called by their own names")
def _(difference, steps, ours, theirs):
    return difference.kind == "does not throw" and any(
        text in theirs["errors"][difference.step] for text in ("is not differentiable with respect to argument",
                                                                "is not implemented"))


@wanted("dtypes that PyTorch has no kernel for", "Tandem computes what PyTorch computes for other dtypes: booleans, half types")
def _(difference, steps, ours, theirs):
    return difference.kind == "does not throw" and any(
        text in theirs["errors"][difference.step] for text in ("not implemented for '", "does not support bool input"))


@wanted("views that PyTorch cannot take", "Tandem's results are contiguous, where PyTorch keeps the strides of what they were made "
        "from: every view of them is legal")
def _(difference, steps, ours, theirs):
    return difference.kind == "does not throw" and "view size is not compatible" in theirs["errors"][difference.step]


@wanted("floor_divide requires no gradient", "It has no derivative: PyTorch marks its result, and refuses in backward")
def _(difference, steps, ours, theirs):
    drawn = any(s and s[0].removeprefix(NO_GRAD).startswith("floor_divide") for s in steps)
    text = (ours["errors"][difference.step] or "") if "errors" in ours else ""
    return drawn and (difference.kind == "flags" or difference.kind == "throws" and "require a gradient" in text)


@wanted("views of leaves", "A view that was made before its base required a gradient, or without recording, says in PyTorch that it "
        "requires one too, and gets none")
def _(difference, steps, ours, theirs):
    if difference.kind == "throws" and steps[difference.step][0] in ("hook", "retain_grad", "grad", "backward"):
        return any(v and isinstance(v, list) and "rlv" == v[3] for v in theirs["values"].values())
    return difference.kind == "flags" and difference.detail.endswith("PyTorch rlv")


@wanted("parameters of another dtype", "Tandem converts a layer's parameters, and the second operand of a loss or a comparison, to the "
        "dtype of its input, or promotes; PyTorch refuses some of the pairs")
def _(difference, steps, ours, theirs):
    return difference.kind == "does not throw" and any(
        text in theirs["errors"][difference.step] for text in
        ("mixed dtype", "did not match", "expected scalar type", "Found dtype", "to have the same dtype", "same type as"))


@wanted("ties of topk", "Which of several equal elements topk takes is not said; Tandem takes the first")
def _(difference, steps, ours, theirs):
    at = op_of(difference, steps) == "topk" and difference.kind == "values"
    return at and differing_names(steps, ours, theirs) == {f"{difference.step}.1"}


@wanted("what backward saves", "PyTorch saved the result or the input that an in-place step then changed; Tandem saved the other, and "
        "need not refuse")
def _(difference, steps, ours, theirs):
    return difference.kind == "does not throw" and "modified by an inplace operation" in theirs["errors"][difference.step]


@wanted("gradients that are handed on", "PyTorch may keep the gradient that it was given as a tensor's grad, and adds the next one "
        "into it, which changes the program's own tensor")
def _(difference, steps, ours, theirs):
    name = difference.detail[1:].split(":")[0]
    return difference.kind == "values" and any(
        grad and isinstance(grad, list) and grad[4] == name for grad in theirs["grads"].values())


@wanted("products of integers", "Matrix products exist for floating-point dtypes; integers are to be converted")
def _(difference, steps, ours, theirs):
    return difference.kind == "throws" and "both must be of one floating dtype" in ours["errors"][difference.step]


EPSILON = {torch.float32: 5e-7, torch.float64: 1e-15, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def moved(steps, draw):
    """PyTorch's results where the result of each step is off by a few units in its last place."""
    rng = random.Random(draw)

    def perturb(name, t):
        if t.dtype in EPSILON and not name.endswith("_") and name not in RANDOM and not t._is_view():
            with torch.no_grad():
                t.data.mul_(1 + EPSILON[t.dtype] * rng.uniform(-1, 1))

    return Machine(OPS, perturb).run(steps)


def rounding(difference, steps, ours, theirs):
    """Whether PyTorch's own result moves as far: a comparison of nearly equal numbers, a step function at a jump, a
    difference of large numbers."""
    return difference.kind.endswith(("values", "finite")) and any(
        d.kind == difference.kind for draw in range(6) for d in differences(steps, moved(steps, draw), theirs))


WANTED.append(("rounding that is amplified", "PyTorch's own result differs as much when each step's result is moved by a few "
               "units in its last place", rounding))


def reason_of(difference, steps, ours, theirs):
    """The name of the class that a difference belongs to, or None."""
    return next((name for name, _, matches in WANTED if matches(difference, steps, ours, theirs)), None)
