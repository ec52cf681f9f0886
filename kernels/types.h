// The types that kernels compute in. Without std: the loops, which are compiled once per instruction set, include it.
#pragma once
#include <stdint.h>

#include "tandem/core/half.h"

namespace tandem::kernels {

/// In which elements of T are compared and kept while they are combined: float for the half types, else T.
template <class T> struct UpcastOf { using type = T; };
template <> struct UpcastOf<Half> { using type = float; };
template <> struct UpcastOf<BFloat16> { using type = float; };
template <class T> using Upcast = typename UpcastOf<T>::type;

/// In which sums of T are kept, and elementwise results computed: float for the half types, int64 for integers and
/// bool, whose results wrap when they are stored.
template <class T> struct AccumulateOf { using type = int64_t; };
template <> struct AccumulateOf<float> { using type = float; };
template <> struct AccumulateOf<double> { using type = double; };
template <> struct AccumulateOf<Half> { using type = float; };
template <> struct AccumulateOf<BFloat16> { using type = float; };
template <class T> using Accumulate = typename AccumulateOf<T>::type;

}  // namespace tandem::kernels
