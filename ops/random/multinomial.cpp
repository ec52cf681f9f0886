// Indices drawn with given probabilities: multinomial.
#include "tandem/ops/random/multinomial.h"

#include <limits>

#include "tandem/ops/random/fill_random.h"
#include "tandem/ops/reduce/searchsorted.h"

namespace tandem {

Tensor Tensor::multinomial(int64_t num_samples, Flag replacement) const {
  check_floating("multinomial", *this);
  TANDEM_CHECK((dim() == 1 || dim() == 2) && num_samples > 0, "multinomial: x is ", sizes(), " and num_samples ",
               num_samples, "; accepted: (n) or (rows, n), and one sample or more");
  const int64_t n = size(-1);
  TANDEM_CHECK(replacement || num_samples <= n, "multinomial: num_samples is ", num_samples, " of ", n,
               "; accepted: at most as many, or with replacement");
  const NoGradGuard guard;
  const double most = std::numeric_limits<double>::max();
  check_each_in_range("multinomial", "a probability", *this, 0, most);
  const Tensor p = detach().to(kFloat64).reshape({-1, n});
  check_each_in_range("multinomial", "the sum of the probabilities", p.sum(1), std::numeric_limits<double>::min(),
                      most);
  const TensorOptions wide = p.options();
  Tensor y;
  if (replacement) {
    const Tensor sums = p.cumsum(1), total = sums.narrow(1, n - 1, 1);
    const Tensor last = (sums < total).sum(1, true);  // last index with a probability above 0
    y = searchsorted(sums, rand({p.size(0), num_samples}, wide) * total, false, /*right=*/true).minimum(last);
  } else {  // without replacement: event i happens at a random time, with rate p[i]; takes the earliest events
    const Tensor times =
        tandem::where(p > 0, (-rand(p.sizes(), wide)).log1p() * -1.0 / p, std::numeric_limits<double>::infinity());
    y = std::get<1>(times.topk(num_samples, 1, /*largest=*/false));
  }
  return dim() == 1 ? y.reshape({num_samples}) : y;
}

}  // namespace tandem
