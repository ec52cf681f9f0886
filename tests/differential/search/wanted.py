"""Intended differences from PyTorch, each with its reason. A program with only such differences is not reported."""

from machine import NO_GRAD

WANTED = []


def wanted(name, reason):
    """Decorator that adds a class of differences, with a function matches(difference, steps, ours, theirs)."""
    def add(matches):
        WANTED.append((name, reason, matches))
        return matches
    return add


def op_of(difference, steps):
    return (steps[difference.step] or [""])[0].removeprefix(NO_GRAD)


def op_name(step):
    return step[0].removeprefix(NO_GRAD).split("/")[0].rstrip("_")


def calls(steps, *ops):
    """Returns whether one of these operations is among the steps, in any variant."""
    return any(s and op_name(s) in ops for s in steps)


def names_in(argument):
    """Returns the names of the values in an argument of a step."""
    if isinstance(argument, list):
        return {name for each in argument for name in names_in(each)}
    return {argument[1:]} if isinstance(argument, str) and argument.startswith("$") else set()


def sources(step, steps):
    """Returns the steps whose results a step depends on, including itself."""
    found, left = set(), [step]
    while left:
        at = left.pop()
        if at not in found and steps[at]:
            found.add(at)
            left += [int(name.split(".")[0]) for name in names_in(steps[at][1:])]
    return found


def only_theirs_requires_grad(difference):
    """Returns whether only PyTorch's tensor requires a gradient: its flags differ, or an error follows from this."""
    if difference.kind == "throws":
        return any(text in difference.detail for text in ("not require grad", "doesn't require grad", "requires_grad=False"))
    tandem, _, pytorch = difference.detail.partition(": Tandem ")[2].partition(", PyTorch ")
    return difference.kind in ("flags", "grad flags") and "r" in pytorch and "r" not in tandem


def inputs_of(step, values):
    """Returns the tensors passed to a step, in order."""
    given = [values.get(name) for argument in step[1:] for name in sorted(names_in(argument))]
    return [t for t in given if isinstance(t, list)]


def made_by(steps, *ops):
    """Returns the indices of the steps that are one of these operations, in any variant."""
    return [at for at, s in enumerate(steps) if s and op_name(s) in ops]


def both_sides(difference):
    """Returns the texts of Tandem's and PyTorch's values in a difference."""
    tandem, _, pytorch = difference.detail.partition(", PyTorch ")
    return tandem, pytorch.partition(" (element")[0]


def results_of(step, theirs):
    return [name for name in theirs["values"] if name.split(".")[0] == str(step)]


def is_view_of_leaf(name, steps, theirs):
    """Returns whether PyTorch's value is a view without a history of its own."""
    value = theirs["values"][name]
    if not isinstance(value, list) or "float" not in value[0]:
        return False
    op = steps[int(name.split(".")[0])][0]
    # grad() may return a view of the gradient passed to it
    unrecorded, handed_on = op.startswith(NO_GRAD), op == "grad" and value[3] == "rl"
    return value[3] == "rlv" or handed_on or unrecorded and value[3] == "l" and value[4] != name


def contiguous_strides(sizes):
    """Returns the strides of a contiguous tensor as machine.py reports them, with 0 for strides without meaning."""
    strides, expected = [], 1
    for size in reversed(sizes):
        strides.insert(0, 0 if 0 in sizes or size == 1 else expected)
        expected *= size
    return strides


def creates_graph(step):
    return step and (step[0] == "grad" and bool(step[5]) or step[0] == "backward" and bool(step[4]))


CONVOLUTIONS = {"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}


def reason_of(difference, steps, ours, theirs):
    """Returns the name of the class that a difference belongs to, or None."""
    return next((name for name, _, matches in WANTED if matches(difference, steps, ours, theirs)), None)


import wanted_forms  # noqa: E402,F401
import wanted_refusals  # noqa: E402,F401
import wanted_values  # noqa: E402,F401
