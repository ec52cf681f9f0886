"""Prints a program as Python for PyTorch, and (through the program `differential`) as C++ for Tandem."""

import json
import math
import subprocess

from machine import NO_GRAD
from op import OPS


def argument_text(a):
    if isinstance(a, str):
        if a.startswith("$"):
            step, _, output = a[1:].partition(".")
            return f"t{step}" + (f"[{output}]" if output else "")
        return f"float('{a}')" if a in ("nan", "inf", "-inf") else "..." if a == "..." else repr(a)
    if isinstance(a, list):
        return "[" + ", ".join(map(argument_text, a)) + "]"
    if isinstance(a, dict):
        return f"slice({', '.join(map(str, a['slice']))})"
    return repr(a)


def nested(values, sizes):
    """Returns the text of nested lists of these sizes."""
    if not sizes:
        return argument_text(values[0])
    step = len(values) // sizes[0]
    return "[" + ", ".join(nested(values[i * step:(i + 1) * step], sizes[1:]) for i in range(sizes[0])) + "]"


def make_text(dtype, sizes, strides, values, requires_grad):
    numel = math.prod(sizes)
    if numel == 0:
        text = f"torch.zeros({sizes}, dtype=torch.{dtype})"
    else:
        text = f"torch.tensor({nested([values[i % len(values)] for i in range(numel)], sizes)}, dtype=torch.{dtype})"
    if strides is not None:
        text = f"torch.empty_strided({sizes}, {strides}, dtype=torch.{dtype}).copy_({text})"
    return text + ".requires_grad_()" * requires_grad


def python_text(steps):
    lists = set()  # steps with several results, of which "$3" is the first
    for step in steps:
        for a in json.dumps(step).split('"'):
            if a.startswith("$") and "." in a:
                lists.add(a[1:].split(".")[0])
    several = {"chunk", "split", "split/sizes", "unbind", "max/dim", "min/dim", "sort", "topk", "max_pool2d_with_indices", "grad"}
    lists |= {str(i) for i, s in enumerate(steps) if s and s[0].removeprefix(NO_GRAD) in several}

    def text(a):
        if isinstance(a, list):
            return "[" + ", ".join(map(text, a)) + "]"
        first = isinstance(a, str) and a.startswith("$") and a[1:] in lists
        return argument_text(a) + "[0]" * first

    lines = []
    for i, step in enumerate(steps):
        if step is None:
            continue
        name = step[0].removeprefix(NO_GRAD)
        if name == "make":
            lines.append(f"t{i} = {make_text(*step[1:])}")
        elif name == "hook":
            then = ", g * 2)[-1]" if step[2] == "double" else ", None)[-1]"
            lines.append(f"{text(step[1])}.register_hook(lambda g: (print('hook {i}:', g){then})")
        else:
            arguments = [("torch." + a if isinstance(a, str) and a in DTYPE_NAMES else text(a)) for a in step[1:]]
            prefix = "with torch.no_grad(): " if step[0] != name else ""
            nothing = name in ("backward", "retain_grad")
            lines.append(prefix + ("" if nothing else f"t{i} = ") + OPS[name].text(arguments))
    return "\n".join(lines)


DTYPE_NAMES = {"float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"}


def cpp_text(program, steps):
    return subprocess.run([program, "print"], input=json.dumps(steps) + "\n", capture_output=True, text=True).stdout.strip()
