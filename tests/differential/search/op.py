"""The table of ops: name, PyTorch's expression (which is run and printed), and how each of its arguments is drawn. The twin
of op_table.h, in the same order of arguments."""

import re

import machine


class Op:
    def __init__(self, name, expression, draws):
        self.name, self.expression, self.draws = name, expression, draws
        self.run = eval(f"lambda {', '.join(draws)}: {expression}", vars(machine))

    def text(self, arguments):
        """The expression with the texts of its arguments in place of their names."""
        by_name = dict(zip(self.draws, arguments))
        return re.sub(r"(?<![\w.])(\w+)\b(?!=[^=])", lambda m: by_name.get(m[1], m[1]), self.expression)


OPS = {}  # by name
BASES = {}  # the ops that are forms of one: "add", "add/scalar"; without those that only autograd's steps call
RANDOM = set()  # ops whose values are drawn at random
INEXACT = set()  # ops whose results round: what wanted.py perturbs


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
