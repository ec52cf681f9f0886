"""Intended differences (wanted.py) in which one side throws and the other does not."""

import re

from machine import NO_GRAD, has_no_answer
from wanted import contiguous_strides, inputs_of, made_by, names_in, op_of, results_of, sources, wanted


@wanted("derivatives that PyTorch does not have",
        "Tandem has derivatives that PyTorch lacks: of dist with p = 0 (the gradient is 0), of addcdiv with integers, of "
        "atan2, pow, logaddexp and igamma with a bool operand, and the second derivative of layer_norm without a weight")
def _(difference, steps, ours, theirs):
    if difference.kind != "does not throw":
        return False
    texts = []
    called = {s[0].removeprefix(NO_GRAD).split("/")[0] for s in steps if s}
    if op_of(difference, steps) in ("backward", "grad"):  # PyTorch lacks formulas for some derivatives
        if any(s and s[0].removeprefix(NO_GRAD) == "dist" and s[-1] == 0 for s in steps):
            texts.append("Expected a proper Tensor but got None")
        if "addcdiv" in called:
            texts.append("can't be cast to the desired output type")
        if called & {"atan2", "logaddexp", "pow"}:
            texts += ["with a bool tensor is not supported", "on a bool tensor is not supported"]
        if "layer_norm" in called:  # layer_norm without a weight, whose second derivative PyTorch needs
            texts.append("Expected a proper Tensor but got None")
        if called & {"igamma", "igammac"}:
            texts.append("Subtraction, the `-` operator, with a bool tensor")
    return any(text in theirs["errors"][difference.step] for text in texts)


@wanted("no answer of PyTorch",
        "PyTorch has no kernel for the dtype, has no derivative, or fails because of a bug. The generator leaves out such "
        "steps, but a shortened program may have one")
def _(difference, steps, ours, theirs):
    return difference.kind == "does not throw" and has_no_answer(theirs["errors"][difference.step])


@wanted("views that PyTorch cannot take",
        "kron and isin accept any strides; PyTorch's take views of their operands, which fails if the operands are not "
        "contiguous")
def _(difference, steps, ours, theirs):
    return (difference.kind == "does not throw" and op_of(difference, steps) in ("kron", "isin")
            and "view size is not compatible" in theirs["errors"][difference.step])


@wanted("checks of nothing",
        "Tandem checks dtypes, sizes and indices even if there are no elements; PyTorch accepts some mismatches then, and "
        "accepts transposed convolutions of no pixels in oneDNN but not in its own kernels")
def _(difference, steps, ours, theirs):
    made = results_of(difference.step, theirs) or [""]
    value = theirs["values"].get(made[0])
    if difference.kind != "throws":
        return False
    is_check = re.search("accepted: |expected|must |should |cannot |only |invalid |too small", ours["errors"][difference.step], re.IGNORECASE)
    return bool(is_check) and isinstance(value, list) and 0 in value[1]


@wanted("sources of scatter that are too large",
        "PyTorch scatters a source that is larger than its index, and then fails in backward; Tandem gives the unused "
        "part of the source a gradient of zeros")
def _(difference, steps, ours, theirs):
    if difference.kind != "does not throw":
        return False
    sizes = [[t[1] for t in inputs_of(steps[at], theirs["values"])[1:]] for at in made_by(steps, "scatter_reduce")]
    text = theirs["errors"][difference.step]
    return "Function Scatter" in text or "The size of tensor a" in text and op_of(difference, steps) in ("backward", "grad") and any(
        len({str(size) for size in each}) > 1 for each in sizes)  # sizes of index and source


@wanted("layers of integers",
        "Pools and losses accept floating-point dtypes only; PyTorch has some for integers, but only on the CPU or "
        "without a derivative")
def _(difference, steps, ours, theirs):
    return difference.kind == "throws" and bool(
        re.match(r".*(pool2d|_loss)\S*: (dtype is \w+|not implemented for '\w+'); accepted: floating point", ours["errors"][difference.step]))


@wanted("losses of unlike sizes",
        "Tandem refuses a loss of two tensors of different sizes as a mistake; PyTorch warns and broadcasts")
def _(difference, steps, ours, theirs):
    return difference.kind == "throws" and bool(
        re.match(r"\w+_loss: (x is .* and target is .*; both must have the same shape|Target size .* must be the same as input size|"
                 "inconsistent target size: )", ours["errors"][difference.step]))


@wanted("medians of nothing",
        "Tandem refuses the median of an empty integer tensor; PyTorch returns a NaN converted to an integer")
def _(difference, steps, ours, theirs):
    return difference.kind == "throws" and "to have non-zero size" in ours["errors"][difference.step] and (
        op_of(difference, steps) == "median")


@wanted("memory that overlaps",
        "Tandem reads all inputs of a step before it writes; PyTorch refuses tensors that overlap partially")
def _(difference, steps, ours, theirs):
    return (difference.kind == "does not throw"
            and "some elements of the input tensor and the written-to tensor refer" in theirs["errors"][difference.step])


@wanted("what is left by what throws",
        "PyTorch writes elements before it finds an index out of range, writes running statistics before it finds a "
        "parameter of another dtype, and resizes an output before it finds a dtype that it refuses; Tandem checks first. "
        "Which leaves have a gradient after a failed backward is undefined")
def _(difference, steps, ours, theirs):
    def holders(name):  # steps that share the memory of a value
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


@wanted("parameters of another dtype",
        "Tandem converts a layer's parameters, and the second operand of a loss or a comparison, to the dtype of the "
        "input, or promotes both; PyTorch refuses some combinations")
def _(difference, steps, ours, theirs):
    if op_of(difference, steps) == "binary_cross_entropy_with_logits" and difference.kind in ("dtype", "values", "does not throw"):
        inputs = [ours["values"][name] for a in steps[difference.step][1:] for name in names_in(a)]
        return len({t[0] for t in inputs}) > 1  # PyTorch's losses have the dtype of the target
    return difference.kind == "does not throw" and any(
        text in theirs["errors"][difference.step] for text in
        ("mixed dtype", "did not match", "expected scalar type", "Found dtype", "to have the same dtype", "must have the same dtype",
         "same type as"))


@wanted("PyTorch's own failures",
        "Some of PyTorch's kernels do not support what other parts of PyTorch produce: channels-last volumes with four "
        "dimensions, and a gelu output with gaps, which is left unchanged")
def _(difference, steps, ours, theirs):
    def has_gaps(at):
        value = theirs["values"].get(next(iter(names_in(steps[at][1:2])), None))
        return steps[at][0].endswith("gelu/out") and isinstance(value, list) and value[2] != contiguous_strides(value[1])

    if difference.kind in ("values", "finite"):
        return any(has_gaps(at) for at in made_by(steps, "gelu"))
    return difference.kind == "does not throw" and (
        "Unsupported memory format. Supports only ChannelsLast3d" in theirs["errors"][difference.step])


@wanted("what backward saves",
        "PyTorch saved the result or the input that a later in-place step changed; Tandem saved the other one, and need "
        "not throw")
def _(difference, steps, ours, theirs):
    return difference.kind == "does not throw" and "modified by an inplace operation" in theirs["errors"][difference.step]


@wanted("norms of nothing",
        "With no channels there is nothing to compute; in some of these cases PyTorch's instance_norm fails and its "
        "im2col refuses")
def _(difference, steps, ours, theirs):
    return (difference.kind == "does not throw" and op_of(difference, steps) in ("instance_norm", "im2col")
            and any(text in theirs["errors"][difference.step] for text in ("select(): index 0 out of range", "possibly 0 batch size")))


@wanted("cuts of circular pads",
        "For a circular pad with a negative side, PyTorch copies within the result, from parts that are not written yet "
        "if the other side is longer; Tandem refuses these pads")
def _(difference, steps, ours, theirs):
    step = steps[difference.step]
    return difference.kind == "throws" and op_of(difference, steps) == "pad" and "circular" in step and any(
        isinstance(pads, list) and min(pads, default=0) < 0 for pads in step[2:])


@wanted("operands of two dtypes",
        "The operands of a product, a solver or a layer must have one dtype; PyTorch computes some mixed ones in one of "
        "the two dtypes")
def _(difference, steps, ours, theirs):
    return difference.kind == "throws" and any(
        text in ours["errors"][difference.step] for text in (
            "accepted: one dtype of numbers for both", "accepted: numbers", "to have the same dtype", "both must be of one dtype",
            "Expected out tensor to have dtype", "accepted: float32 and float64", "Subtraction, the `-` operator, with"))


@wanted("inputs without a batch",
        "A recurrent cell also accepts an input of shape (features), as LSTMCell does; PyTorch's lstm_cell does not")
def _(difference, steps, ours, theirs):
    return difference.kind == "does not throw" and bool(re.search("Expected 2D (input|hidden)", theirs["errors"][difference.step]))


@wanted("positions in int32",
        "Tandem accepts indices of any integer dtype where PyTorch accepts only int64, and an index without dimensions "
        "where PyTorch requires one dimension")
def _(difference, steps, ours, theirs):
    return difference.kind == "does not throw" and re.search("should be Long but got|Expected dtype int64 for index", theirs["errors"][difference.step])


@wanted("windows that are larger than the image",
        "With padding, a window of avg_pool3d may be larger than the image, as in avg_pool2d")
def _(difference, steps, ours, theirs):
    return difference.kind == "does not throw" and "smaller than kernel size" in theirs["errors"][difference.step]
