// Types in which kernels compute. This file does not use std, because the loops, which are compiled once per
// instruction set, include it.
#pragma once
#include <stdint.h>

#include "tandem/core/half.h"

namespace tandem::kernels {

/// Type in which elements of T are compared, and in which they are held while they are combined: float for half types,
/// otherwise T.
template <class T> struct OpMathOf { using type = T; };
template <> struct OpMathOf<Half> { using type = float; };
template <> struct OpMathOf<BFloat16> { using type = float; };
template <class T> using OpMath = typename OpMathOf<T>::type;

/// Type in which sums of T and elementwise results are computed: float for half types, and int64 for integers and bool.
/// Integer results wrap when they are stored.
template <class T> struct AccumulateOf { using type = int64_t; };
template <> struct AccumulateOf<float> { using type = float; };
template <> struct AccumulateOf<double> { using type = double; };
template <> struct AccumulateOf<Half> { using type = float; };
template <> struct AccumulateOf<BFloat16> { using type = float; };
template <class T> using Accumulate = typename AccumulateOf<T>::type;

}  // namespace tandem::kernels
