"""Differences from PyTorch that are wanted, each with its reason. A program with no other difference counts as wanted."""

import math
import re

from compare import values_differ
from machine import NO_GRAD, has_no_answer

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
        return "not require a gradient" in difference.detail
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


@wanted("derivatives that PyTorch does not have",
        "Tandem differentiates what PyTorch refuses to: dist with p = 0, whose gradient is 0, addcdiv by integers, atan2, pow, "
        "logaddexp and igamma beside bools, layer_norm a second time without a weight")
def _(difference, steps, ours, theirs):
    if difference.kind != "does not throw":
        return False
    texts = []
    called = {s[0].removeprefix(NO_GRAD).split("/")[0] for s in steps if s}
    if op_of(difference, steps) in ("backward", "grad"):  # where PyTorch's formulas of some derivatives end
        if any(s and s[0].removeprefix(NO_GRAD) == "dist" and s[-1] == 0 for s in steps):
            texts.append("Expected a proper Tensor but got None")
        if "addcdiv" in called:
            texts.append("can't be cast to the desired output type")
        if called & {"atan2", "logaddexp", "pow"}:
            texts += ["with a bool tensor is not supported", "on a bool tensor is not supported"]
        if "layer_norm" in called:  # without a weight, whose second derivative PyTorch looks for
            texts.append("Expected a proper Tensor but got None")
        if called & {"igamma", "igammac"}:
            texts.append("Subtraction, the `-` operator, with a bool tensor")
    return any(text in theirs["errors"][difference.step] for text in texts)


@wanted("no answer of PyTorch", "It has no kernel for the dtype, no derivative, or fails by a mistake of its own. The generator leaves "
        "such steps out; a program that is shortened may come to have one")
def _(difference, steps, ours, theirs):
    return difference.kind == "does not throw" and has_no_answer(theirs["errors"][difference.step])


@wanted("views that PyTorch cannot take", "kron and isin work on any strides; PyTorch's take views of their operands, which fails where "
        "these are not contiguous")
def _(difference, steps, ours, theirs):
    return (difference.kind == "does not throw" and op_of(difference, steps) in ("kron", "isin")
            and "view size is not compatible" in theirs["errors"][difference.step])


@wanted("views of leaves", "A view that was made without recording, before its base required a gradient, says in PyTorch that it "
        "requires one too, and gets none; so does what is made of it")
def _(difference, steps, ours, theirs):
    if difference.kind == "does not throw":
        return "A view was created in no_grad mode" in theirs["errors"][difference.step]
    if not only_theirs_requires_grad(difference):
        return False
    return any(is_view_of_leaf(name, steps, theirs) for at in sources(difference.step, steps) for name in results_of(at, theirs))


CONVOLUTIONS = {"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}


@wanted("integers that require a gradient", "What requires a gradient may be copied into integers, which PyTorch then says require one")
def _(difference, steps, ours, theirs):
    if difference.kind == "does not throw":
        return "Autograd not support dtype" in theirs["errors"][difference.step]
    tensor = theirs["values"].get(difference.detail[1:].split(":")[0])
    return difference.kind == "flags" and isinstance(tensor, list) and "float" not in tensor[0] and only_theirs_requires_grad(difference)


@wanted("results that are views", "Integers have no history, and Tandem does not keep which of them are views; pools of one dimension "
        "and repeat_interleave give a view of their own memory in PyTorch")
def _(difference, steps, ours, theirs):
    made = sources(difference.step, steps)
    own = any(steps[at][0].removeprefix(NO_GRAD).startswith(("adaptive_avg_pool1d", "avg_pool1d", "repeat_interleave")) for at in made)
    return (difference.kind == "does not throw" and "Can't detach views in-place" in theirs["errors"][difference.step]
            and ("float" not in ours["values"][str(difference.step)][0] or own))


# Ops whose gradients lie otherwise than PyTorch's.
MEANS = {"mean", "nanmean", "var_mean", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "cov"}
PRODUCTS = {"matmul", "mm", "bmm", "mv", "linear", "addmm", "addmv", "addbmm", "baddbmm", "einsum", "cdist", "scaled_dot_product_attention"}
LOSSES = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss", "multi_margin_loss",
          "cosine_embedding_loss", "nll_loss"}


@wanted("strides of gradients", "The gradient of a mean is one number, expanded, as that of a sum is in both: nothing is written that "
        "the next step can do without. Those of matrix products, losses and conv_transpose3d lie as the operands, and need no copy")
def _(difference, steps, ours, theirs):
    made = {steps[at][0].removeprefix(NO_GRAD).split("/")[0] for at in sources(difference.step, steps)}
    return difference.kind == "strides" and op_of(difference, steps) == "grad" and bool(
        made & (MEANS | PRODUCTS | LOSSES | {"conv_transpose3d"}))


# Ops whose results are contiguous, where PyTorch leaves them as its kernels made them.
CONTIGUOUS = {"sort", "argsort", "msort", "nonzero", "quantile", "nanquantile", "unique_dim", "unique_consecutive", "kron", "addr",
              "einsum", "linalg_cholesky", "linalg_qr", "gru_cell", "group_norm", "adaptive_max_pool1d", "adaptive_max_pool2d",
              "max_pool3d", "grad"}


# Ops whose results lie as their operands, where PyTorch's are contiguous.
AS_OPERANDS = {"conv1d", "conv_transpose1d", "scaled_dot_product_attention"}


@wanted("results of other strides", "Results of these operations are contiguous, where PyTorch leaves them as its kernels made them; "
        "their views show that, and whether one can be taken. Convolutions of one dimension and attention keep the operands' format")
def _(difference, steps, ours, theirs):
    def other_strides(name):
        a, b = ours["values"].get(name), theirs["values"][name]
        return isinstance(a, list) and isinstance(b, list) and b[2] != (a[2] or contiguous_strides(b[1]))

    if difference.kind == "strides" and op_of(difference, steps) in AS_OPERANDS:
        return True
    seen = ("strides", "storage", "same", "flags") + ("values", "finite") * (op_of(difference, steps) == "as_strided")
    refused = difference.kind == "does not throw" and "view size is not compatible" in theirs["errors"][difference.step]
    return (difference.kind in seen or refused) and any(
        other_strides(name) for at in sources(difference.step, steps) - {difference.step}
        if steps[at][0].removeprefix(NO_GRAD).split("/")[0] in CONTIGUOUS | AS_OPERANDS for name in results_of(at, theirs))


@wanted("checks of nothing", "Tandem checks dtypes, sizes and indices however few elements there are; PyTorch takes some that do not "
        "fit where there is nothing to compute, and oneDNN's transposed convolutions of no pixels, which its own refuse")
def _(difference, steps, ours, theirs):
    made = results_of(difference.step, theirs) or [""]
    value = theirs["values"].get(made[0])
    return (difference.kind == "throws" and "accepted: " in ours["errors"][difference.step] and isinstance(value, list)
            and 0 in value[1])


@wanted("sources of scatter that are too large", "PyTorch scatters a source that is larger than its index, and fails in backward; "
        "Tandem gives the rest of the source zeros")
def _(difference, steps, ours, theirs):
    if difference.kind != "does not throw":
        return False
    sizes = [[t[1] for t in inputs_of(steps[at], theirs["values"])[1:]] for at in made_by(steps, "scatter_reduce")]
    text = theirs["errors"][difference.step]
    return "Function Scatter" in text or "The size of tensor a" in text and op_of(difference, steps) in ("backward", "grad") and any(
        len({str(size) for size in each}) > 1 for each in sizes)  # of the index and the source


@wanted("layers of integers", "Pools and losses exist for floating-point dtypes; PyTorch has some of integers, for CPUs alone or without "
        "a derivative")
def _(difference, steps, ours, theirs):
    return difference.kind == "throws" and bool(
        re.match(r".*(pool2d|_loss)\S*: dtype is \w+; accepted: floating point", ours["errors"][difference.step]))


@wanted("losses of unlike sizes", "A loss of two tensors of different sizes is a mistake, which Tandem refuses; PyTorch warns and broadcasts")
def _(difference, steps, ours, theirs):
    return difference.kind == "throws" and bool(re.match(r"\w+_loss: x is .* and target is .*; both must have the same shape",
                                                         ours["errors"][difference.step]))


@wanted("elu of NaN", "The gradient of elu, and of celu, which has its kernel, is NaN at a NaN; PyTorch's is 1 or NaN, by the place "
        "of the element in its vectors")
def _(difference, steps, ours, theirs):
    drawn = any(s and s[0].removeprefix(NO_GRAD).startswith(("elu", "celu")) for s in steps)
    return drawn and difference.kind.endswith(("finite", "hook values")) and "nan" in difference.detail.partition(", PyTorch")[0]


@wanted("NaNs of hard activations", "A NaN gets no gradient through hardshrink and hardtanh; PyTorch's gets none or all of it, by the place "
        "of the element in its vectors")
def _(difference, steps, ours, theirs):
    def takes_nan(step):
        given = [theirs["values"].get(name) for name in names_in(step[1:])]
        return step[0].removeprefix(NO_GRAD) in ("hardshrink", "hardtanh") and any(isinstance(t, list) and "nan" in map(str, t[6]) for t in given)

    return difference.kind in ("values", "grad values", "hook values") and any(s and takes_nan(s) for s in steps) and (
        difference.kind != "values" or op_of(difference, steps) == "grad")


@wanted("medians of nothing", "No integers have no median, and Tandem says so; PyTorch converts a NaN to one")
def _(difference, steps, ours, theirs):
    return difference.kind == "throws" and "has no elements to choose from" in ours["errors"][difference.step] and (
        op_of(difference, steps) == "median")


@wanted("memory that overlaps", "Tandem reads all that a step needs before it writes; PyTorch refuses what overlaps in part")
def _(difference, steps, ours, theirs):
    return (difference.kind == "does not throw"
            and "some elements of the input tensor and the written-to tensor refer" in theirs["errors"][difference.step])


@wanted("batch norms of strided parameters", "PyTorch reads a strided weight or bias as if its elements lay side by side")
def _(difference, steps, ours, theirs):
    def strided(name):
        value = theirs["values"].get(name)
        return isinstance(value, list) and len(value[1]) == 1 and value[2][0] > 1

    return difference.kind.endswith("values") and any(
        s and s[0].removeprefix(NO_GRAD) == "batch_norm" and any(strided(name) for name in names_in(s[1:])) for s in steps)


@wanted("NaNs in convolutions", "A NaN or an infinity in the weight reaches the pixels it is multiplied with; in PyTorch, by its algorithm, others too")
def _(difference, steps, ours, theirs):
    drawn = any(s and s[0].removeprefix(NO_GRAD) in CONVOLUTIONS for s in steps)
    return drawn and difference.kind.endswith("finite") and "nan" in difference.detail.partition(", PyTorch")[2]


@wanted("losses of nothing", "A row of no classes, or whose target is ignored, has no loss and no gradient; PyTorch multiplies or divides by 0")
def _(difference, steps, ours, theirs):
    drawn = any(s and s[0].removeprefix(NO_GRAD) in ("cross_entropy", "nll_loss") for s in steps)
    return drawn and difference.kind.endswith("finite") and "nan" in difference.detail.partition(", PyTorch")[2]


@wanted("variances over no dimensions", "An empty list of dimensions stands for all of them; PyTorch's gradient then divides by another "
        "number of elements than its value")
def _(difference, steps, ours, theirs):
    drawn = any(s and s[0].removeprefix(NO_GRAD).split("/")[0] in ("std", "var") and [] in s[2:] for s in steps)
    return drawn and difference.kind in ("values", "finite", "grad values", "grad finite", "hook values", "flags", "grad flags")


@wanted("windows of padding alone", "A window that holds padding alone has no largest element, and its index is -1; PyTorch's is one that "
        "may lie outside")
def _(difference, steps, ours, theirs):
    made = str(difference.step) + ".1"
    return (op_of(difference, steps).startswith("max_pool2d") and difference.detail.startswith("t" + made)
            and -1 in ours["values"][made][6])


@wanted("what is left by what throws", "PyTorch writes elements before it meets an index out of range, running statistics before it meets a parameter "
        "of another dtype, and gives an output its sizes before it meets a dtype that it refuses; Tandem checks first. Which leaves have got their "
        "gradient when a backward fails is not said")
def _(difference, steps, ours, theirs):
    def holders(name):  # of the memory of a value
        value = theirs["values"].get(name)
        of = value[4] if isinstance(value, list) else name
        return {int(each.split(".")[0]) for each, t in theirs["values"].items() if each == name or isinstance(t, list) and t[4] == of}

    written = {at: set().union(*(holders(name) for name in names_in(steps[at][1:]))) for at, error in enumerate(ours["errors"])
               if error and steps[at][0].endswith(("_", "_/scalar", "/out", "batch_norm"))}
    failed = any(error and steps[at][0] in ("backward", "grad") for at, error in enumerate(ours["errors"]))
    if failed and difference.kind == "grad undefined":
        return True
    return difference.kind in ("values", "finite", "sizes", "throws", "does not throw") and any(
        sources(difference.step, steps) & some for some in written.values())


@wanted("softsign far out", "PyTorch composes softsign: its gradient is NaN at an infinity, and |x| of the smallest integer is that itself")
def _(difference, steps, ours, theirs):
    return difference.kind.endswith(("values", "finite")) and any(
        steps[at][0].removeprefix(NO_GRAD).startswith("softsign") for at in range(len(steps)) if steps[at])


@wanted("attention to nothing", "PyTorch gives zeros where all scores are -inf; in Tandem that is so where a mask says that a "
        "query may look nowhere, and NaN where infinite keys or queries do. PyTorch takes values of other sizes where there are "
        "none, and what has no elements has no history")
def _(difference, steps, ours, theirs):
    attention = any(steps[at] and steps[at][0].removeprefix(NO_GRAD) == "scaled_dot_product_attention"
                    for at in sources(difference.step, steps))
    refused = difference.kind == "throws" and "scaled_dot_product_attention" in ours["errors"][difference.step]
    empty = difference.kind == "flags" and 0 in theirs["values"][difference.detail[1:].split(":")[0]][1]
    return attention and (difference.kind.endswith("finite") or empty or refused and ", 0" in difference.detail.replace("(0", "(, 0"))


@wanted("parameters of another dtype", "Tandem converts a layer's parameters, and the second operand of a loss or a comparison, to the "
        "dtype of its input, or promotes; PyTorch refuses some of the pairs")
def _(difference, steps, ours, theirs):
    if op_of(difference, steps) == "binary_cross_entropy_with_logits" and difference.kind in ("dtype", "values", "does not throw"):
        inputs = [ours["values"][name] for a in steps[difference.step][1:] for name in names_in(a)]
        return len({t[0] for t in inputs}) > 1  # PyTorch's losses are of the dtype of the target
    return difference.kind == "does not throw" and any(
        text in theirs["errors"][difference.step] for text in
        ("mixed dtype", "did not match", "expected scalar type", "Found dtype", "to have the same dtype", "must have the same dtype",
         "same type as"))


@wanted("ties of kthvalue and mode", "Which of several equal elements kthvalue and mode take, and so which gets the gradient, is not said; "
        "Tandem takes one by their order, PyTorch by how its sort moved them")
def _(difference, steps, ours, theirs):
    def has_ties(at):
        return any(len(set(map(str, t[6]))) < len(t[6]) for t in inputs_of(steps[at], theirs["values"]))

    gradient = difference.kind.startswith(("grad", "hook")) or bool(made_by(steps[difference.step:difference.step + 1], "grad"))
    return gradient and difference.kind.endswith(("values", "finite")) and any(map(has_ties, made_by(steps, "kthvalue", "mode")))


@wanted("the order of NaNs", "PyTorch compares by < where it looks for modes and for slices that are alike: NaNs then lie anywhere, and "
        "what is equal need not lie together. Tandem's sort puts NaNs last")
def _(difference, steps, ours, theirs):
    upstream = sources(difference.step, steps) if not difference.kind.startswith(("grad", "hook")) else range(len(steps))
    return difference.kind.endswith(("values", "finite", "sizes")) and any(
        at in upstream and any("nan" in map(str, t[6]) for t in inputs_of(steps[at], theirs["values"]))
        for at in made_by(steps, "mode", "unique", "unique_dim"))


@wanted("ties of topk", "Which of several equal elements topk takes is not said; Tandem takes the first")
def _(difference, steps, ours, theirs):
    def takes_others(at):
        made = [(ours["values"].get(name), theirs["values"].get(name)) for name in (str(at), f"{at}.1")]
        if not all(isinstance(t, list) for two in made for t in two):
            return False
        return [values_differ(b[0], a[6], b[6]) is None for a, b in made] == [True, False]

    drawn = [at for at, step in enumerate(steps) if step and step[0].removeprefix(NO_GRAD) == "topk" and takes_others(at)]
    return difference.kind in ("values", "grad values") and bool(drawn)


@wanted("PyTorch's own failures", "Kernels that others of PyTorch did not prepare for: volumes that lie channels-last by their four "
        "dimensions, an output of gelu with gaps, which stays as it was")
def _(difference, steps, ours, theirs):
    def has_gaps(at):
        value = theirs["values"].get(next(iter(names_in(steps[at][1:2])), None))
        return steps[at][0].endswith("gelu/out") and isinstance(value, list) and value[2] != contiguous_strides(value[1])

    if difference.kind in ("values", "finite"):
        return any(has_gaps(at) for at in made_by(steps, "gelu"))
    return difference.kind == "does not throw" and (
        "Unsupported memory format. Supports only ChannelsLast3d" in theirs["errors"][difference.step])


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


@wanted("divisors and multiples that do not fit", "The smallest integer has no absolute value; which sign gcd and lcm then give, and where a "
        "multiple is too large, PyTorch's integers decide")
def _(difference, steps, ours, theirs):
    return difference.kind == "values" and calls(steps, "gcd", "lcm")


@wanted("poles of digamma's derivative", "It is infinite at the integers from 0 down, and at -inf; PyTorch's is what sin(pi x) leaves there")
def _(difference, steps, ours, theirs):
    tandem, pytorch = both_sides(difference)
    at_infinity = "nan" in pytorch and any("-inf" in map(str, t[6]) for at in made_by(steps, "digamma", "lgamma")
                                           for t in inputs_of(steps[at], theirs["values"]))
    return "finite" in difference.kind and calls(steps, "digamma", "lgamma") and "inf" in tandem and (
        at_infinity or re.search(r"\d{8}\.|e\+[1-9]", pytorch))


@wanted("tails of gelu", "Below -4 PyTorch's gelu is what rounding leaves of x (1 + erf(x / sqrt 2)) / 2; Tandem's is right to the last places")
def _(difference, steps, ours, theirs):
    return difference.kind.endswith(("values", "finite")) and any(
        s and s[0] == "make" and any(v < -4 for v in s[4] if not isinstance(v, str)) for s in steps) and bool(made_by(steps, "gelu")) and (
            calls(steps, "digamma", "lgamma", "reciprocal", "div", "log", "log2", "log10", "rsqrt"))


def nearly_equal(name, difference, ours, theirs):
    """Whether values of float64 are apart by what some of PyTorch's series are off, less than 1e-8 of the largest among them."""
    table = "grads" if difference.kind.startswith("grad") else "values"
    a, b = ours[table].get(name), theirs[table].get(name)
    if not isinstance(a, list) or not isinstance(b, list) or b[0] != "float64" or len(a[6]) != len(b[6]):
        return False
    pairs = [(x, y) for x, y in zip(a[6], b[6]) if all(not isinstance(v, str) and math.isfinite(v) for v in (x, y))]
    return bool(pairs) and max(abs(x - y) for x, y in pairs) <= 1e-8 * max(1, *(abs(y) for _, y in pairs))


def wanted_of_series(name, reason, *ops):
    """Adds a class: these operations, or their gradients, come from a series that is less exact in PyTorch."""
    @wanted(name, reason + ". Tandem's is right to the last places")
    def _(difference, steps, ours, theirs):
        of = difference.detail[1:].split(":")[0]
        return difference.kind in ("values", "grad values") and calls(steps, *ops) and nearly_equal(of, difference, ours, theirs)


wanted_of_series("trigamma of float64", "PyTorch's is a series that is right to 5e-10 only: the gradient of digamma, and the second "
                 "one of lgamma", "digamma", "lgamma")
wanted_of_series("incomplete gamma functions of float64", "PyTorch's series where both arguments are large and alike is right to "
                 "1e-9 only, and so is what is made of it", "igamma", "igammac")


@wanted("gelu of infinity", "It is infinity; PyTorch's is that or NaN, by the place of the element in its vectors")
def _(difference, steps, ours, theirs):
    tandem, _, pytorch = difference.detail.partition(", PyTorch ")
    name = "$" + difference.detail[1:].split(":")[0]
    gelus = [(at, step) for at, step in enumerate(steps) if step and step[0].removeprefix(NO_GRAD).split("/")[0].rstrip("_") == "gelu"]
    return difference.kind == "finite" and "inf" in tandem and "nan" in pytorch and any(
        at == difference.step or name in step[1:] for at, step in gelus)  # in place, or with an output, it wrote to its argument


@wanted("norms of nothing", "Of no channels nothing is left to do; PyTorch's instance_norm fails there in some cases, and its im2col refuses")
def _(difference, steps, ours, theirs):
    return (difference.kind == "does not throw" and op_of(difference, steps) in ("instance_norm", "im2col")
            and any(text in theirs["errors"][difference.step] for text in ("select(): index 0 out of range", "possibly 0 batch size")))


@wanted("zero weights of resampling", "A pixel that has no weight does not count; PyTorch multiplies it by 0, which gives NaN for infinities")
def _(difference, steps, ours, theirs):
    tandem, _, pytorch = difference.detail.partition(", PyTorch ")
    return calls(steps, "upsample_bilinear2d", "upsample_bicubic2d", "grid_sampler") and "finite" in difference.kind and "nan" in pytorch


@wanted("means beside infinities", "The mean of elements one of which is infinite is infinite, as mean says in both; PyTorch's var_mean gives NaN, "
        "if the infinity is not the last element")
def _(difference, steps, ours, theirs):
    tandem, pytorch = both_sides(difference)
    means = [(ours["values"].get(f"{at}.1"), theirs["values"].get(f"{at}.1")) for at in made_by(steps, "var_mean")
             if at in sources(difference.step, steps) or difference.kind.startswith(("grad", "hook"))]
    return difference.kind.endswith("finite") and "nan" in pytorch and any(
        isinstance(a, list) and isinstance(b, list) and any(str(x) in ("inf", "-inf") and str(y) == "nan" for x, y in zip(a[6], b[6]))
        for a, b in means)


@wanted("distances of NaN", "PyTorch's cdist drops a NaN where it looks for the largest difference, and its gradient with p = 1 is NaN beside one, that of the "
        "largest beside an infinity; "
        "Tandem's distances are the norms of the differences")
def _(difference, steps, ours, theirs):
    return difference.kind.endswith("finite") and any(
        steps[at][-1] in (1, "inf") and any(set(map(str, t[6])) & {"nan", "inf", "-inf"} for t in inputs_of(steps[at], theirs["values"]))
        for at in made_by(steps, "cdist"))


def creates_second_derivative(steps):
    return any(creates_graph(step) for step in steps)


@wanted("second derivatives where the first has a corner", "The determinant of a singular matrix has all derivatives, which Tandem gives; where a norm "
        "or a distance is 0, its gradient is 0 and stays so; far apart, one of two numbers has no part in their logaddexp. PyTorch divides by 0 or by e^(b - a), which gives NaN")
def _(difference, steps, ours, theirs):
    _, pytorch = both_sides(difference)
    corners = made_by(steps, "linalg_det", "dist", "norm", "linalg_vector_norm", "cdist", "cosine_similarity")
    return difference.kind.endswith(("finite", "hook values")) and "nan" in pytorch and creates_second_derivative(steps) and (
        calls(steps, "logaddexp") or any(is_corner(at, steps, theirs) for at in corners))


def is_corner(at, steps, theirs):
    """Whether some determinant or norm is 0, up to rounding: a determinant next to the product of its rows' lengths."""
    made = theirs["values"].get(str(at))
    if not isinstance(made, list):
        return False
    scale = max([abs(v) for t in inputs_of(steps[at], theirs["values"]) for v in t[6] if isinstance(v, (int, float))], default=1)
    power = inputs_of(steps[at], theirs["values"])[0][1][-1] if op_name(steps[at]) == "linalg_det" else 1
    return any(isinstance(v, (int, float)) and abs(v) <= 1e-5 * scale ** power for v in made[6])


@wanted("products beside NaN and 0", "The gradient of a product along a dimension is the product over the element, which is NaN for a NaN; PyTorch's is that of "
        "the other elements if there is a 0 anywhere")
def _(difference, steps, ours, theirs):
    def has_both(at):
        given = {str(v) for t in inputs_of(steps[at], theirs["values"]) for v in t[6]}
        return "nan" in given and given & {"0.0", "-0.0"}

    return difference.kind in ("finite", "grad finite", "hook values") and "nan" in both_sides(difference)[0] and any(map(has_both, made_by(steps, "prod")))


@wanted("cuts of circular pads", "PyTorch goes round what a negative pad leaves by copies within the result, which it has not written yet where the pad is "
        "longer; Tandem refuses these pads")
def _(difference, steps, ours, theirs):
    step = steps[difference.step]
    return difference.kind == "throws" and op_of(difference, steps) == "pad" and "circular" in step and any(
        isinstance(pads, list) and min(pads, default=0) < 0 for pads in step[2:])


@wanted("losses of NaN and of large numbers", "multi_margin_loss of NaN is NaN, where PyTorch's comparison drops it; soft_margin_loss does not overflow")
def _(difference, steps, ours, theirs):
    return "finite" in difference.kind and (
        calls(steps, "multi_margin_loss") and "nan" in difference.detail.partition(", PyTorch")[0]
        or calls(steps, "soft_margin_loss") and re.search("inf|nan", difference.detail.partition(", PyTorch")[2]))


@wanted("products with a factor of 0", "With alpha 0 the product has no part in the result, with beta 0 the other operand, nor have their gradients; "
        "PyTorch multiplies by 0, the product in addr and baddbmm, and gradients, which gives NaN for infinities")
def _(difference, steps, ours, theirs):
    ops = ("addr", "baddbmm", "addbmm", "addmv", "addmm")
    without_product = any(s and op_name(s) in ops and 0 in s[-2:] for s in steps)
    return "finite" in difference.kind and without_product and "nan" in difference.detail.partition(", PyTorch")[2]


@wanted("operands of two dtypes", "The operands of a product, a solver and a layer must be of one dtype; PyTorch computes some mixed ones, by one "
        "dtype or the other")
def _(difference, steps, ours, theirs):
    return difference.kind == "throws" and any(
        text in ours["errors"][difference.step] for text in ("accepted: one dtype of numbers for both", "both must be of one dtype",
                                                             "accepted: float32 and float64", "bool tensors cannot be subtracted"))


@wanted("integers that overflow in a gradient", "PyTorch multiplies integers in their dtype, where the product may wrap: those of addcmul and addcdiv by "
        "value, those of atan2 by themselves")
def _(difference, steps, ours, theirs):
    return difference.kind in ("grad values", "hook values", "values") and calls(steps, "addcmul", "addcdiv", "atan2") and any(
        s and s[0] == "make" and s[1] in ("int64", "int32", "int16", "int8", "uint8") for s in steps)


@wanted("inputs without a batch", "A recurrent cell takes (features) too, as LSTMCell does; PyTorch's lstm_cell does not")
def _(difference, steps, ours, theirs):
    return difference.kind == "does not throw" and bool(re.search("Expected 2D (input|hidden)", theirs["errors"][difference.step]))


@wanted("positions in int32", "Tandem takes indices of any integer dtype where PyTorch takes int64 alone, and an index of no dimension where it has one")
def _(difference, steps, ours, theirs):
    return difference.kind == "does not throw" and re.search("should be Long but got|Expected dtype int64 for index", theirs["errors"][difference.step])


@wanted("which of several NaNs", "Tandem's adaptive max pools name the first of several NaNs in a window, PyTorch's the last")
def _(difference, steps, ours, theirs):
    return difference.kind == "values" and op_of(difference, steps).startswith("adaptive_max_pool") and ".1:" in difference.detail and (
        "nan" in map(str, theirs["values"][str(difference.step)][6]))


@wanted("windows that are larger than the image", "With padding, a window of avg_pool3d may be larger than the image, as those of avg_pool2d")
def _(difference, steps, ours, theirs):
    return difference.kind == "does not throw" and "smaller than kernel size" in theirs["errors"][difference.step]


@wanted("factors of Poisson's loss", "The approximation of ln(target!) does not count where target is 1 or less; PyTorch's gradient is NaN there")
def _(difference, steps, ours, theirs):
    return calls(steps, "poisson_nll_loss") and "finite" in difference.kind and "nan" in difference.detail.partition(", PyTorch")[2]


@wanted("ties of quantiles", "Which of several equal elements a quantile is, and so which gets the gradient, is not said; Tandem takes the first")
def _(difference, steps, ours, theirs):
    return difference.kind in ("values", "grad values", "hook values") and calls(steps, "quantile", "nanquantile") and (
        difference.kind != "values" or op_of(difference, steps) == "grad")


@wanted("cosines of parallel vectors", "Their gradient is what rounding leaves of zero")
def _(difference, steps, ours, theirs):
    return calls(steps, "cosine_similarity", "cosine_embedding_loss") and difference.kind.endswith("values") and (
        difference.kind != "values" or op_of(difference, steps) == "grad") and all(
            abs(float(number)) < 0.01 for number in re.findall(r"-?\d[\d.e+-]*", difference.detail.partition("Tandem ")[2].partition(" (element")[0]))


@wanted("gradients that Tandem hands on", "An operation that changes nothing gives the gradient above it back as its own, as sums do in both")
def _(difference, steps, ours, theirs):
    name = difference.detail[1:].split(":")[0]
    value = ours["values"].get(name)
    handed_on = isinstance(value, list) and value[5] != name  # another value of the program
    is_leaf_too = difference.kind == "flags" and (difference.detail.endswith("Tandem r, PyTorch rl") or handed_on)
    accumulates = difference.kind == "grad undefined" and handed_on  # a later backward, into the program's own tensor
    return op_of(difference, steps) == "grad" and (difference.kind in ("same", "storage") or is_leaf_too or accumulates)


@wanted("shifts by negative numbers", "They are not defined; Tandem's are 0, or -1 to the right of negative numbers")
def _(difference, steps, ours, theirs):
    return difference.kind == "values" and calls(steps, "bitwise_left_shift", "bitwise_right_shift")


@wanted("products that overflow", "Where two products overflow, their difference is NaN or infinite, by whether it is rounded once or twice")
def _(difference, steps, ours, theirs):
    return "finite" in difference.kind and calls(steps, "linalg_cross") and re.search("nan|inf", difference.detail)


def reason_of(difference, steps, ours, theirs):
    """The name of the class that a difference belongs to, or None."""
    return next((name for name, _, matches in WANTED if matches(difference, steps, ours, theirs)), None)
