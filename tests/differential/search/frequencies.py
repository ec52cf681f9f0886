"""Probabilities and weights for everything that the generator draws. They stay fixed while a search is measured."""

# Probabilities for a program.
INPUTS = {1: 3, 2: 5, 3: 2}  # number of input tensors: weight
STEPS = {1: 2, 2: 4, 3: 5, 4: 5, 5: 4, 6: 3, 7: 2, 8: 1}
INVALID = 0.12  # has one argument that should be rejected
BACKWARD = 0.75  # ends with backward() or grad(), if any tensor requires a gradient
CREATE_GRAPH = 0.3  # probability of a second derivative in a program with gradients
RETAINED = 0.2  # probability that such a program keeps the graph and runs backward again
SCALED = 0.05  # probability that all floating-point tensors are scaled by a power of ten from SCALES
SCALES = (-30, -20, -8, 8, 20, 30)

# Probabilities for a step.
REUSE = 0.75  # uses an earlier result as tensor argument, if one fits
NO_GRAD = 0.04
HOOK = 0.06
RETAIN_GRAD = 0.04
ON_ANYTHING = 0.03  # applies HOOK, RETAIN_GRAD or REQUIRES_GRAD to a tensor that requires no gradient
REQUIRES_GRAD = 0.02  # calls requires_grad_ on a tensor
FRESH_LEAF_IN_PLACE = 0.1  # lets an in-place op change a leaf that requires a gradient

# Weights for a new tensor.
DTYPES = {
    "float32": 50, "float64": 12, "float16": 6, "bfloat16": 6,
    "int64": 11, "int32": 3, "int16": 2, "int8": 3, "uint8": 4, "bool": 7,
}
RANKS = {0: 8, 1: 22, 2: 38, 3: 20, 4: 14, 5: 2}
SIZES = {0: 3, 1: 18, 2: 27, 3: 25, 4: 12, 5: 8, 7: 3, 17: 2, 40: 2}
MOST_ELEMENTS = 400
NEEDS_GRAD = 0.6  # probability for a floating-point tensor
LAYOUTS = {"contiguous": 65, "transposed": 15, "stepped": 10, "expanded": 5, "channels_last": 5}
# Values of floating-point tensors. "plain" are multiples of a quarter, so that ties are frequent and sums exact.
STYLES = {"plain": 50, "unit": 10, "positive": 10, "kinks": 8, "constant": 6, "wide": 8, "special": 5, "large": 3}
INTEGER_STYLES = {"small": 60, "natural": 25, "extremes": 15}

# Weights for a number argument.
NUMBERS = {"small": 50, "fraction": 30, "bool": 4, "zero": 6, "range": 6, "special": 4}

# Weights of ops, if other than 1.
WEIGHTS = {}
