// Indices drawn with given probabilities: multinomial.
#include "tandem/ops/random/multinomial.h"

#include <limits>

#include "tandem/ops/random/fill_random.h"
#include "tandem/ops/reduce/searchsorted.h"

namespace tandem {

Tensor Tensor::multinomial(int64_t num_samples, Flag replacement) const {
  check_random_dtype("multinomial", *this);
  TANDEM_CHECK(dim() == 1 || dim() == 2, "multinomial: prob_dist must be 1 or 2 dim, but is ", sizes());
  TANDEM_CHECK(num_samples > 0, "multinomial: cannot sample n_sample <= 0 samples, got num_samples=", num_samples);
  const int64_t n = size(-1);
  TANDEM_CHECK(replacement || num_samples <= n,
               "multinomial: cannot sample n_sample > prob_dist.size(-1) samples without replacement, got num_samples=",
               num_samples, " for ", n, " categories");
  const NoGradGuard guard;
  const double most = std::numeric_limits<double>::max();
  check_each_in_range("multinomial", "probability tensor contains either `inf`, `nan` or element < 0", *this, 0, most);
  const Tensor p = detach().to(kFloat64).reshape({-1, n});
  check_each_in_range("multinomial", "invalid multinomial distribution (sum of probabilities <= 0)", p.sum(1),
                      std::numeric_limits<double>::min(), most);
  const TensorOptions wide = p.options();
  Tensor y;
  if (replacement) {
    const Tensor sums = p.cumsum(1), total = sums.narrow(1, n - 1, 1);
    const Tensor last = (sums < total).sum(1, true);  // index of the last element with a probability above 0
    y = searchsorted(sums, rand({p.size(0), num_samples}, wide) * total, false, /*right=*/true).minimum(last);
  } else {
    // Without replacement: gives each index i a random exponential time with rate p[i], and takes the indices with the
    // earliest times.
    const Tensor times =
        tandem::where(p > 0, (-rand(p.sizes(), wide)).log1p() * -1.0 / p, std::numeric_limits<double>::infinity());
    y = std::get<1>(times.topk(num_samples, 1, /*largest=*/false));
  }
  return dim() == 1 ? y.reshape({num_samples}) : y;
}

}  // namespace tandem
