// Variances of numbers that come in blocks.
#pragma once
#include "tandem/core/half.h"

namespace tandem::math {

/// How far numbers are from their mean, from their blocks' (Chan, Golub and LeVeque, Updating Formulae and a Pairwise
/// Algorithm for Computing Sample Variances, 1979): each block is read from memory once, and nothing cancels.
struct BlockStats {
  double count = 0, mean = 0, squares = 0;  // of those that were added; squares: of what they differ from the mean
  /// A block's: how many, their sum, and the sum of the squares of what they differ from their own mean. It has the
  /// same bits wherever it is compiled.
  TANDEM_HD void add(double n, double sum, double within) {
    const double all = count + n, off = sum / n - mean;
    const double step = unfused(off * (n / all)), between = unfused(off * off * (n / all) * count);
    count = all;
    mean += step;
    squares += within + between;
  }

 private:
  /// A product that the compiler does not join with the addition that follows.
  static TANDEM_HD double unfused(double product) {
#if defined(__x86_64__)
    asm("" : "+x"(product));
#endif
    return product;
  }
};

}  // namespace tandem::math
