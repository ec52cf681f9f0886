"""Shrinks a program with a difference as long as the same kind of difference remains."""

import copy
import math

from arguments import INTEGER, REAL
from machine import NO_GRAD
from runner import run_both


def references(argument):
    if isinstance(argument, str) and argument.startswith("$"):
        yield int(argument[1:].split(".")[0])
    elif isinstance(argument, list):
        for each in argument:
            yield from references(each)


def without(steps, index):
    """Returns the program without a step and without the steps that use its results."""
    gone, kept = {index}, []
    for i, step in enumerate(steps):
        if i in gone or step is None or any(r in gone for r in references(step[1:])):
            gone.add(i)
            kept.append(None)
        else:
            kept.append(step)
    return kept


def bypassed(steps, index):
    """Returns the program with the result of a step replaced by the step's first tensor argument."""
    first = next((a for a in steps[index][1:] if isinstance(a, str) and a.startswith("$")), None)
    if first is None:
        return None

    def replaced(a):
        if isinstance(a, list):
            return [replaced(each) for each in a]
        return first if isinstance(a, str) and a.startswith("$") and a[1:].split(".")[0] == str(index) else a

    return [None if i == index or s is None else [s[0], *[replaced(a) for a in s[1:]]] for i, s in enumerate(steps)]


def simpler(steps):
    """Yields programs that are a little smaller."""
    for i in reversed(range(len(steps))):
        if steps[i] is not None:
            yield without(steps, i)
    for i in reversed(range(len(steps))):
        if steps[i] is not None and steps[i][0] != "make":
            shorter = bypassed(steps, i)
            if shorter:
                yield shorter
    for i, step in enumerate(steps):
        if step is None:
            continue
        changed = lambda position, value: [*steps[:i], [*step[:position], value, *step[position + 1:]], *steps[i + 1:]]
        if step[0].startswith(NO_GRAD):
            yield changed(0, step[0][len(NO_GRAD):])
        if step[0] != "make":
            continue
        if step[5]:
            yield changed(5, False)
        if step[3] is not None:
            yield changed(3, None)
        for kinds, simplest in ((REAL, "float32"), (INTEGER, "int64")):
            if step[1] in kinds and step[1] != simplest:
                yield changed(1, simplest)
        for d, size in enumerate(step[2]):
            if step[3] is None:
                yield changed(2, step[2][:d] + step[2][d + 1:])
                for smaller in (1, 2, size - 1):
                    if 0 < smaller < size:
                        yield changed(2, [*step[2][:d], smaller, *step[2][d + 1:]])
        numel = math.prod(step[2])
        if len(step[4]) > max(numel, 1):
            yield changed(4, step[4][:max(numel, 1)])
        if step[4] not in ([1], [1.0], [True]):
            yield changed(4, [type(step[4][0])(1)] if not isinstance(step[4][0], str) else [1.0])
            for k, value in enumerate(step[4]):
                if value not in (1, "nan"):
                    yield changed(4, [*step[4][:k], type(value)(1) if not isinstance(value, str) else 1.0, *step[4][k + 1:]])


def shrink(tandem, steps, difference, is_explained, attempts=400):
    """Returns the smallest program found, and its difference."""
    steps = copy.deepcopy(steps)
    shorter = True
    while shorter and attempts > 0:
        shorter = False
        for candidate in simpler(steps):
            attempts -= 1
            if attempts <= 0:
                break
            found, ours, theirs = run_both(tandem, candidate)
            if "missing" in theirs["errors"]:
                continue
            found = [d for d in found if not is_explained(d, candidate, ours, theirs)]
            if found and found[0].kind == difference.kind:
                steps, difference, shorter = candidate, found[0], True
                break
    return steps, difference
