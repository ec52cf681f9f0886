// Mean and variance of a sequence of numbers, accumulated block by block.
#pragma once
#include "tandem/core/half.h"

namespace tandem::math {

/// Combines the statistics of blocks into count, mean and sum of squared deviations. Each block is read from memory
/// once, and there is no cancellation. Method: Chan, Golub and LeVeque, Updating Formulae and a Pairwise Algorithm for
/// Computing Sample Variances, 1979.
struct BlockStats {
  // Number of elements, mean, and sum of squared deviations from the mean, of all numbers added so far.
  double count = 0, mean = 0, squares = 0;
  /// Adds a block: the number of its elements, their sum, and their sum of squared deviations from the block's mean.
  /// The result has the same bits in every translation unit.
  TANDEM_HD void add(double n, double sum, double within) {
    const double all = count + n, off = sum / n - mean;
    const double step = prevent_fma(off * (n / all)), between = prevent_fma(off * off * (n / all) * count);
    count = all;
    mean += step;
    squares += within + between;
  }

 private:
  /// Returns `product`; prevents the compiler from fusing it with a following addition.
  static TANDEM_HD double prevent_fma(double product) {
#if defined(__x86_64__)
    asm("" : "+x"(product));
#endif
    return product;
  }
};

}  // namespace tandem::math
