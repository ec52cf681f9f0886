"""How often programs have what: everything that the generator draws from. Frozen while a search is measured."""

# Of a program.
INPUTS = {1: 3, 2: 5, 3: 2}  # number: weight
STEPS = {1: 2, 2: 4, 3: 5, 4: 5, 5: 4, 6: 3, 7: 2, 8: 1}
INVALID = 0.12  # has one argument that should be refused
BACKWARD = 0.75  # ends with gradients, if anything requires one
CREATE_GRAPH = 0.3  # of those: with a second derivative
RETAINED = 0.2  # of those: the graph is kept, and gone through again
SCALED = 0.05  # all its floating-point tensors are scaled by one of these powers of ten
SCALES = (-30, -20, -8, 8, 20, 30)

# Of a step.
REUSE = 0.75  # a tensor argument is an earlier result, if one fits
NO_GRAD = 0.04
HOOK = 0.06
RETAIN_GRAD = 0.04
ON_ANYTHING = 0.03  # these three may be on what requires no gradient
REQUIRES_GRAD = 0.02  # requires_grad_ on something
FRESH_LEAF_IN_PLACE = 0.1  # an in-place op may hit a leaf that requires a gradient

# Of a new tensor.
DTYPES = {
    "float32": 50, "float64": 12, "float16": 6, "bfloat16": 6,
    "int64": 11, "int32": 3, "int16": 2, "int8": 3, "uint8": 4, "bool": 7,
}
RANKS = {0: 8, 1: 22, 2: 38, 3: 20, 4: 14, 5: 2}
SIZES = {0: 3, 1: 18, 2: 27, 3: 25, 4: 12, 5: 8, 7: 3, 17: 2, 40: 2}
MOST_ELEMENTS = 400
NEEDS_GRAD = 0.6  # of floating-point tensors
LAYOUTS = {"contiguous": 65, "transposed": 15, "stepped": 10, "expanded": 5, "channels_last": 5}
# The values of floating-point tensors. "plain" are multiples of a quarter, so that ties are frequent and sums exact.
STYLES = {"plain": 50, "unit": 10, "positive": 10, "kinks": 8, "constant": 6, "wide": 8, "special": 5, "large": 3}
INTEGER_STYLES = {"small": 60, "natural": 25, "extremes": 15}

# Of a number beside a tensor.
NUMBERS = {"small": 50, "fraction": 30, "bool": 4, "zero": 6, "range": 6, "special": 4}

# How often an op is drawn, where that is not 1.
WEIGHTS = {}
