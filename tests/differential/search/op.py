"""Table of ops: name, PyTorch's expression (which is run and printed), and how to draw each argument. It is the
counterpart of op_table.h and has the same order of arguments."""

import re

import machine


class Op:
    def __init__(self, name, expression, draws):
        self.name, self.expression, self.draws = name, expression, draws
        self.run = eval(f"lambda {', '.join(draws)}: {expression}", vars(machine))

    def text(self, arguments):
        """Returns the expression with its parameters replaced by the argument texts."""
        by_name = dict(zip(self.draws, arguments))
        return re.sub(r"(?<![\w.])(\w+)\b(?!=[^=])", lambda m: by_name.get(m[1], m[1]), self.expression)


OPS = {}  # ops by name
# variants by name of the base op: "add", "add/scalar"; without ops that only the generator's gradient steps call
BASES = {}
RANDOM = set()  # names of ops with random results
INEXACT = set()  # names of ops whose results are rounded


def op(name, expression, *, drawn=True, random=False, **draws):
    assert name not in OPS, name
    OPS[name] = Op(name, expression, draws)
    if drawn:
        BASES.setdefault(name if name.startswith("operator") else name.split("/")[0], []).append(OPS[name])
    if random:
        RANDOM.add(name)


import ops_composed  # noqa: E402,F401
import ops_elementwise  # noqa: E402,F401
import ops_layers  # noqa: E402,F401
import ops_matrices  # noqa: E402,F401
import ops_order  # noqa: E402,F401
import ops_shape  # noqa: E402,F401
import ops_spatial  # noqa: E402,F401
