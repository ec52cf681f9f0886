"""Intended differences (wanted.py) of numbers: NaNs and infinities, ties, and results that PyTorch computes
differently."""

import math
import re

from compare import values_differ
from machine import NO_GRAD
from wanted import both_sides, calls, CONVOLUTIONS, creates_graph, inputs_of, made_by, names_in, op_name, op_of, sources, wanted


@wanted("elu of NaN",
        "The gradients of elu and celu, which share a kernel, are NaN at a NaN; PyTorch's are 1 or NaN, depending on the "
        "element's position in its vectors")
def _(difference, steps, ours, theirs):
    drawn = any(s and s[0].removeprefix(NO_GRAD).startswith(("elu", "celu")) for s in steps)
    return drawn and difference.kind.endswith(("finite", "hook values")) and "nan" in difference.detail.partition(", PyTorch")[0]


@wanted("NaNs of hard activations",
        "hardshrink and hardtanh give a NaN no gradient; PyTorch's give none or all of it, depending on the element's "
        "position in its vectors")
def _(difference, steps, ours, theirs):
    def takes_nan(step):
        given = [theirs["values"].get(name) for name in names_in(step[1:])]
        return step[0].removeprefix(NO_GRAD) in ("hardshrink", "hardtanh") and any(isinstance(t, list) and "nan" in map(str, t[6]) for t in given)

    return difference.kind in ("values", "grad values", "hook values") and any(s and takes_nan(s) for s in steps) and (
        difference.kind != "values" or op_of(difference, steps) == "grad")


@wanted("batch norms of strided parameters", "PyTorch reads a strided weight or bias as if it were contiguous")
def _(difference, steps, ours, theirs):
    def strided(name):
        value = theirs["values"].get(name)
        return isinstance(value, list) and len(value[1]) == 1 and value[2][0] > 1

    return difference.kind.endswith("values") and any(
        s and s[0].removeprefix(NO_GRAD) == "batch_norm" and any(strided(name) for name in names_in(s[1:])) for s in steps)


@wanted("NaNs in convolutions",
        "A NaN or an infinity in the weight reaches only the pixels that it is multiplied with; in PyTorch it reaches "
        "others too, depending on the algorithm")
def _(difference, steps, ours, theirs):
    drawn = any(s and s[0].removeprefix(NO_GRAD) in CONVOLUTIONS for s in steps)
    return drawn and difference.kind.endswith("finite") and "nan" in difference.detail.partition(", PyTorch")[2]


@wanted("losses of nothing",
        "A row without classes, or with an ignored target, has no loss and no gradient; PyTorch multiplies or divides by "
        "0")
def _(difference, steps, ours, theirs):
    drawn = any(s and s[0].removeprefix(NO_GRAD) in ("cross_entropy", "nll_loss") for s in steps)
    return drawn and difference.kind.endswith("finite") and "nan" in difference.detail.partition(", PyTorch")[2]


@wanted("variances over no dimensions",
        "An empty list of dimensions means all dimensions; PyTorch's gradient then divides by another number of elements "
        "than its value")
def _(difference, steps, ours, theirs):
    drawn = any(s and s[0].removeprefix(NO_GRAD).split("/")[0] in ("std", "var", "std_mean", "var_mean") and [] in s[2:] for s in steps)
    return drawn and difference.kind in ("values", "finite", "grad values", "grad finite", "hook values", "flags", "grad flags")


@wanted("windows of padding alone",
        "A window with only padding has no largest element, and its index is -1; PyTorch's index may lie outside of the "
        "image")
def _(difference, steps, ours, theirs):
    made = str(difference.step) + ".1"
    return (op_of(difference, steps).startswith("max_pool2d") and difference.detail.startswith("t" + made)
            and -1 in ours["values"][made][6])


@wanted("softsign far out",
        "PyTorch composes softsign of other operations: its gradient is NaN at an infinity, and |x| of the smallest "
        "integer overflows to itself")
def _(difference, steps, ours, theirs):
    return difference.kind.endswith(("values", "finite")) and any(
        steps[at][0].removeprefix(NO_GRAD).startswith("softsign") for at in range(len(steps)) if steps[at])


@wanted("attention to nothing",
        "PyTorch returns zeros if all scores of a query are -inf; Tandem does so if a mask excludes all keys, and returns "
        "NaN if infinite keys or queries are the cause. Without keys PyTorch accepts values of other sizes, and tensors "
        "without elements have no history")
def _(difference, steps, ours, theirs):
    attention = any(steps[at] and steps[at][0].removeprefix(NO_GRAD) == "scaled_dot_product_attention"
                    for at in sources(difference.step, steps))
    refused = difference.kind == "throws" and "scaled_dot_product_attention" in ours["errors"][difference.step]
    empty = difference.kind == "flags" and 0 in theirs["values"][difference.detail[1:].split(":")[0]][1]
    return attention and (difference.kind.endswith("finite") or empty or refused and ", 0" in difference.detail.replace("(0", "(, 0"))


@wanted("ties of kthvalue and mode",
        "It is undefined which of several equal elements kthvalue and mode return, and so which one gets the gradient; "
        "Tandem decides by the order of elements, PyTorch by how its sort moved them")
def _(difference, steps, ours, theirs):
    def has_ties(at):
        return any(len(set(map(str, t[6]))) < len(t[6]) for t in inputs_of(steps[at], theirs["values"]))

    gradient = difference.kind.startswith(("grad", "hook")) or bool(made_by(steps[difference.step:difference.step + 1], "grad"))
    return gradient and difference.kind.endswith(("values", "finite")) and any(map(has_ties, made_by(steps, "kthvalue", "mode")))


@wanted("the order of NaNs",
        "PyTorch compares with < to find modes and equal slices, so NaNs may be anywhere and equal elements need not be "
        "adjacent. Tandem's sort puts NaNs last")
def _(difference, steps, ours, theirs):
    upstream = sources(difference.step, steps) if not difference.kind.startswith(("grad", "hook")) else range(len(steps))
    return difference.kind.endswith(("values", "finite", "sizes")) and any(
        at in upstream and any("nan" in map(str, t[6]) for t in inputs_of(steps[at], theirs["values"]))
        for at in made_by(steps, "mode", "unique", "unique_dim"))


@wanted("ties of topk", "It is undefined which of several equal elements topk returns; Tandem returns the first")
def _(difference, steps, ours, theirs):
    def takes_others(at):
        made = [(ours["values"].get(name), theirs["values"].get(name)) for name in (str(at), f"{at}.1")]
        if not all(isinstance(t, list) for two in made for t in two):
            return False
        return [values_differ(b[0], a[6], b[6]) is None for a, b in made] == [True, False]

    drawn = [at for at, step in enumerate(steps) if step and step[0].removeprefix(NO_GRAD) == "topk" and takes_others(at)]
    return difference.kind in ("values", "grad values") and bool(drawn)


@wanted("divisors and multiples that do not fit",
        "The smallest integer has no absolute value. The signs of gcd and lcm then, and an lcm that overflows, follow "
        "from the integer arithmetic of PyTorch")
def _(difference, steps, ours, theirs):
    return difference.kind == "values" and calls(steps, "gcd", "lcm")


@wanted("poles of digamma's derivative",
        "The derivative is infinite at the integers up to 0 and at -inf; PyTorch's is a finite number there, from the "
        "rounding error of sin(pi x)")
def _(difference, steps, ours, theirs):
    tandem, pytorch = both_sides(difference)
    at_infinity = "nan" in pytorch and any("-inf" in map(str, t[6]) for at in made_by(steps, "digamma", "lgamma")
                                           for t in inputs_of(steps[at], theirs["values"]))
    return "finite" in difference.kind and calls(steps, "digamma", "lgamma") and "inf" in tandem and (
        at_infinity or re.search(r"\d{8}\.|e\+[1-9]", pytorch))


def nearly_equal(name, difference, ours, theirs):
    """Returns whether float64 values differ by less than 1e-8 of the largest value, the error of some of PyTorch's
    series."""
    table = "grads" if difference.kind.startswith("grad") else "values"
    a, b = ours[table].get(name), theirs[table].get(name)
    if not isinstance(a, list) or not isinstance(b, list) or b[0] != "float64" or len(a[6]) != len(b[6]):
        return False
    pairs = [(x, y) for x, y in zip(a[6], b[6]) if all(not isinstance(v, str) and math.isfinite(v) for v in (x, y))]
    return bool(pairs) and max(abs(x - y) for x, y in pairs) <= 1e-8 * max(1, *(abs(y) for _, y in pairs))


def wanted_of_series(name, reason, *ops):
    """Adds a class: these operations, or their gradients, use a series that is less exact in PyTorch."""
    @wanted(name, reason + ". Tandem's values are exact to the last digits")
    def _(difference, steps, ours, theirs):
        of = difference.detail[1:].split(":")[0]
        return difference.kind in ("values", "grad values") and calls(steps, *ops) and nearly_equal(of, difference, ours, theirs)


wanted_of_series("trigamma of float64", "PyTorch uses a series with errors of up to 5e-10 for the gradient of digamma and the "
                 "second derivative of lgamma", "digamma", "lgamma")
wanted_of_series("incomplete gamma functions of float64", "PyTorch's series for two large and similar arguments has "
                 "errors of up to 1e-9, and so have results computed from it", "igamma", "igammac")


@wanted("gelu of infinity",
        "The result is infinity; PyTorch's is infinity or NaN, depending on the element's position in its vectors")
def _(difference, steps, ours, theirs):
    tandem, _, pytorch = difference.detail.partition(", PyTorch ")
    name = "$" + difference.detail[1:].split(":")[0]
    gelus = [(at, step) for at, step in enumerate(steps) if step and step[0].removeprefix(NO_GRAD).split("/")[0].rstrip("_") == "gelu"]
    return difference.kind == "finite" and "inf" in tandem and "nan" in pytorch and any(
        # in-place and output variants wrote to their argument
        at == difference.step or name in step[1:] for at, step in gelus)


@wanted("zero weights of resampling",
        "A pixel of weight 0 does not count; PyTorch multiplies it by 0, which gives NaN for infinities")
def _(difference, steps, ours, theirs):
    tandem, _, pytorch = difference.detail.partition(", PyTorch ")
    return calls(steps, "upsample_bilinear2d", "upsample_bicubic2d", "grid_sampler") and "finite" in difference.kind and "nan" in pytorch


@wanted("means beside infinities",
        "The mean of elements of which one is infinite is infinite, as mean() returns in both; PyTorch's var_mean returns "
        "NaN, unless the infinity is the last element")
def _(difference, steps, ours, theirs):
    tandem, pytorch = both_sides(difference)
    means = [(ours["values"].get(f"{at}.1"), theirs["values"].get(f"{at}.1")) for at in made_by(steps, "var_mean")
             if at in sources(difference.step, steps) or difference.kind.startswith(("grad", "hook"))]
    return difference.kind.endswith("finite") and "nan" in pytorch and any(
        isinstance(a, list) and isinstance(b, list) and any(str(x) in ("inf", "-inf") and str(y) == "nan" for x, y in zip(a[6], b[6]))
        for a, b in means)


@wanted("distances of NaN",
        "PyTorch's cdist ignores a NaN when it searches for the largest difference. With p = 1 its gradient is NaN next "
        "to a NaN; with p = infinity it is NaN next to an infinity. Tandem's distances are the norms of the differences")
def _(difference, steps, ours, theirs):
    return difference.kind.endswith("finite") and any(
        steps[at][-1] in (1, "inf") and any(set(map(str, t[6])) & {"nan", "inf", "-inf"} for t in inputs_of(steps[at], theirs["values"]))
        for at in made_by(steps, "cdist"))


def creates_second_derivative(steps):
    return any(creates_graph(step) for step in steps)


@wanted("second derivatives where the first has a corner",
        "Tandem returns all derivatives of the determinant of a singular matrix, keeps the gradient of a norm or a "
        "distance 0 where it is 0, and ignores the smaller of two distant numbers in logaddexp. PyTorch divides by 0 or "
        "by e^(b - a), which gives NaN")
def _(difference, steps, ours, theirs):
    _, pytorch = both_sides(difference)
    corners = made_by(steps, "linalg_det", "dist", "norm", "linalg_vector_norm", "cdist", "cosine_similarity", "renorm")
    return difference.kind.endswith(("finite", "hook values")) and "nan" in pytorch and creates_second_derivative(steps) and (
        calls(steps, "logaddexp") or any(is_corner(at, steps, theirs) for at in corners))


def is_corner(at, steps, theirs):
    """Returns whether a determinant or norm is 0 up to rounding, relative to the largest input element (to the power n for
    the determinant of an n x n matrix)."""
    made = theirs["values"].get(str(at))
    if not isinstance(made, list):
        return False
    scale = max([abs(v) for t in inputs_of(steps[at], theirs["values"]) for v in t[6] if isinstance(v, (int, float))], default=1)
    power = inputs_of(steps[at], theirs["values"])[0][1][-1] if op_name(steps[at]) == "linalg_det" else 1
    return any(isinstance(v, (int, float)) and abs(v) <= 1e-5 * scale ** power for v in made[6])


@wanted("products beside NaN and 0",
        "The gradient of a product along a dimension is the product divided by the element, which is NaN for a NaN; "
        "PyTorch's is the product of the other elements if there is a 0 anywhere")
def _(difference, steps, ours, theirs):
    def has_both(at):
        given = {str(v) for t in inputs_of(steps[at], theirs["values"]) for v in t[6]}
        return "nan" in given and given & {"0.0", "-0.0"}

    return difference.kind in ("finite", "grad finite", "hook values") and "nan" in both_sides(difference)[0] and any(map(has_both, made_by(steps, "prod")))


@wanted("losses of NaN and of large numbers",
        "multi_margin_loss of NaN is NaN, while PyTorch's comparison drops the NaN; soft_margin_loss does not overflow")
def _(difference, steps, ours, theirs):
    return "finite" in difference.kind and (
        calls(steps, "multi_margin_loss") and "nan" in difference.detail.partition(", PyTorch")[0]
        or calls(steps, "soft_margin_loss") and re.search("inf|nan", difference.detail.partition(", PyTorch")[2]))


@wanted("products with a factor of 0",
        "With alpha 0 the product does not contribute to the result, with beta 0 the other operand does not, and neither "
        "do their gradients; PyTorch multiplies by 0 (the product in addr and baddbmm, and gradients), which gives NaN "
        "for infinities")
def _(difference, steps, ours, theirs):
    ops = ("addr", "baddbmm", "addbmm", "addmv", "addmm")
    without_product = any(s and op_name(s) in ops and 0 in s[-2:] for s in steps)
    return "finite" in difference.kind and without_product and "nan" in difference.detail.partition(", PyTorch")[2]


@wanted("integers that overflow in a gradient",
        "PyTorch multiplies integers in their own dtype, where the product may wrap: in addcmul and addcdiv the operands "
        "by value, in atan2 the operands by themselves")
def _(difference, steps, ours, theirs):
    return difference.kind in ("grad values", "hook values", "values") and calls(steps, "addcmul", "addcdiv", "atan2") and any(
        s and s[0] == "make" and s[1] in ("int64", "int32", "int16", "int8", "uint8") for s in steps)


@wanted("which of several NaNs",
        "For a window with several NaNs, Tandem's adaptive max pools return the index of the first, PyTorch's the index "
        "of the last")
def _(difference, steps, ours, theirs):
    def takes_nan(at):
        return any("nan" in map(str, t[6]) for t in inputs_of(steps[at], theirs["values"]))

    pools = [at for at in made_by(steps, *(f"adaptive_max_pool{rank}d" for rank in (1, 2, 3))) if takes_nan(at)]
    gradient = difference.kind in ("grad values", "hook values") or op_of(difference, steps) == "grad"
    return difference.kind.endswith("values") and bool(pools) and (gradient or difference.step in pools and ".1:" in difference.detail)


@wanted("factors of Poisson's loss",
        "The approximation of ln(target!) is not used where target is 1 or less; PyTorch's gradient is NaN there")
def _(difference, steps, ours, theirs):
    return calls(steps, "poisson_nll_loss") and "finite" in difference.kind and "nan" in difference.detail.partition(", PyTorch")[2]


@wanted("ties of quantiles",
        "It is undefined which of several equal elements a quantile returns, and so which one gets the gradient; Tandem "
        "returns the first")
def _(difference, steps, ours, theirs):
    return difference.kind in ("values", "grad values", "hook values") and calls(steps, "quantile", "nanquantile") and (
        difference.kind != "values" or op_of(difference, steps) == "grad")


@wanted("cosines of parallel vectors", "Their gradient is zero except for rounding errors")
def _(difference, steps, ours, theirs):
    return calls(steps, "cosine_similarity", "cosine_embedding_loss") and difference.kind.endswith("values") and (
        difference.kind != "values" or op_of(difference, steps) == "grad") and all(
            abs(float(number)) < 0.01 for number in re.findall(r"-?\d[\d.e+-]*", difference.detail.partition("Tandem ")[2].partition(" (element")[0]))


@wanted("shifts by negative numbers", "They are undefined; Tandem's result is 0, or -1 for right shifts of negative numbers")
def _(difference, steps, ours, theirs):
    return difference.kind == "values" and calls(steps, "bitwise_left_shift", "bitwise_right_shift")


SUMS_OF_PRODUCTS = CONVOLUTIONS | {
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "cov", "dot", "einsum", "gru_cell", "inner", "linalg_cross", "linear",
    "lstm_cell", "matmul", "mm", "mv", "rnn_relu_cell", "rnn_tanh_cell", "scaled_dot_product_attention", "tensordot"}


@wanted("products that overflow",
        "If products leave the range of the dtype, their sum is an infinity or a NaN, depending on the order of addition")
def _(difference, steps, ours, theirs):
    table = "grads" if difference.kind.startswith("grad") else "values"
    a, b = (side[table].get(difference.detail[1:].split(":")[0]) for side in (ours, theirs))
    if not difference.kind.endswith("finite") or not calls(steps, *SUMS_OF_PRODUCTS) or not isinstance(a, list) or not isinstance(b, list):
        return False
    pairs = [(x, y) for x, y in zip(a[6], b[6]) if isinstance(x, str) or isinstance(y, str)]
    return all(isinstance(x, str) and not math.isfinite(y if not isinstance(y, str) else math.inf) for x, y in pairs)
