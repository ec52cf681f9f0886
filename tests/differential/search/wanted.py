"""Differences from PyTorch that are wanted, each with its reason. A program with no other difference counts as wanted."""

from machine import NO_GRAD

WANTED = []


def wanted(name, reason):
    """Adds a class of differences: matches(difference, steps, ours, theirs)."""
    def add(matches):
        WANTED.append((name, reason, matches))
        return matches
    return add


def op_of(difference, steps):
    return (steps[difference.step] or [""])[0].removeprefix(NO_GRAD)


def op_name(step):
    return step[0].removeprefix(NO_GRAD).split("/")[0].rstrip("_")


def calls(steps, *ops):
    """Whether one of these operations is among the steps, in any form."""
    return any(s and op_name(s) in ops for s in steps)


def names_in(argument):
    """The names of the values in an argument of a step."""
    if isinstance(argument, list):
        return {name for each in argument for name in names_in(each)}
    return {argument[1:]} if isinstance(argument, str) and argument.startswith("$") else set()


def sources(step, steps):
    """The steps whose results a step was made of, itself included."""
    found, left = set(), [step]
    while left:
        at = left.pop()
        if at not in found and steps[at]:
            found.add(at)
            left += [int(name.split(".")[0]) for name in names_in(steps[at][1:])]
    return found


def only_theirs_requires_grad(difference):
    """Whether Tandem's tensor requires no gradient, where PyTorch's does: its flags, or what then follows."""
    if difference.kind == "throws":
        return any(text in difference.detail for text in ("not require grad", "doesn't require grad", "requires_grad=False"))
    tandem, _, pytorch = difference.detail.partition(": Tandem ")[2].partition(", PyTorch ")
    return difference.kind in ("flags", "grad flags") and "r" in pytorch and "r" not in tandem


def inputs_of(step, values):
    """The tensors that a step was given, in order."""
    given = [values.get(name) for argument in step[1:] for name in sorted(names_in(argument))]
    return [t for t in given if isinstance(t, list)]


def made_by(steps, *ops):
    """The numbers of the steps that are one of these operations, in any form."""
    return [at for at, s in enumerate(steps) if s and op_name(s) in ops]


def both_sides(difference):
    """Tandem's values and PyTorch's, as the difference tells them."""
    tandem, _, pytorch = difference.detail.partition(", PyTorch ")
    return tandem, pytorch.partition(" (element")[0]


def results_of(step, theirs):
    return [name for name in theirs["values"] if name.split(".")[0] == str(step)]


def is_view_of_leaf(name, steps, theirs):
    """Whether PyTorch's value is a view that has no history of its own."""
    value = theirs["values"][name]
    if not isinstance(value, list) or "float" not in value[0]:
        return False
    op = steps[int(name.split(".")[0])][0]
    unrecorded, handed_on = op.startswith(NO_GRAD), op == "grad" and value[3] == "rl"  # the gradient that was passed, viewed
    return value[3] == "rlv" or handed_on or unrecorded and value[3] == "l" and value[4] != name


def contiguous_strides(sizes):
    """As machine.py tells them: 0 for what does not matter."""
    strides, expected = [], 1
    for size in reversed(sizes):
        strides.insert(0, 0 if 0 in sizes or size == 1 else expected)
        expected *= size
    return strides


def creates_graph(step):
    return step and (step[0] == "grad" and bool(step[5]) or step[0] == "backward" and bool(step[4]))


CONVOLUTIONS = {"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}


def reason_of(difference, steps, ours, theirs):
    """The name of the class that a difference belongs to, or None."""
    return next((name for name, _, matches in WANTED if matches(difference, steps, ours, theirs)), None)


import wanted_forms  # noqa: E402,F401
import wanted_refusals  # noqa: E402,F401
import wanted_values  # noqa: E402,F401
