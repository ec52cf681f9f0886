// Uniform numbers: uniform, uniform_.
#include "tandem/ops/random/uniform.h"

#include "tandem/kernels/fill.h"
#include "tandem/ops/random/fill_random.h"

namespace tandem {

Tensor& Tensor::uniform_(double low, double high) const {
  check_random_dtype("uniform_", self());
  TANDEM_CHECK(low <= high, "uniform_ expects to return a [from, to) range, but found from=", low, " > to=", high);
  return fill_random("uniform_", self(), [&](const RandomReservation& d, Tensor& y) {
    TANDEM_DISPATCH(y.device(), uniform, low, high, d.state, d.offset, y);
  });
}
Tensor uniform(const Tensor& x, double from, double to) { return empty_like(x).uniform_(from, to); }

}  // namespace tandem
