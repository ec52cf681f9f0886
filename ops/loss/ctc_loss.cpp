// Connectionist temporal classification, computed by the forward recursion over the input's steps: ctc_loss.
#include "tandem/ops/loss/ctc_loss.h"

#include <limits>

#include "tandem/ops/loss/loss_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, ctc_loss);

namespace {

/// Stands for the logarithm of probability 0. -infinity would give NaN derivatives. This finite number is so large that
/// numbers added to it are lost in rounding.
constexpr double kLogZero = -1e30;

/// Returns rows (N, 2 S + 1), one for each sample: the classes of the target, with a blank before, between and after
/// them. Positions after the end of a target are blanks too.
Tensor insert_blanks(const Tensor& targets, IntArrayRef lengths, int64_t classes, int64_t blank) {
  const int64_t samples = static_cast<int64_t>(lengths.size());
  int64_t longest = 0, total = 0;
  for (const int64_t n : lengths) {
    longest = std::max(longest, n);
    total += n;
  }
  const bool joined = targets.dim() == 1;
  TANDEM_CHECK(joined || targets.dim() == 2, "ctc_loss: targets is ", targets.sizes(),
               "; accepted: (N, S), or one dimension that holds all targets");
  TANDEM_CHECK(targets.size(0) == (joined ? total : samples), "ctc_loss: Expected tensor to have size ",
               joined ? total : samples, " at dimension 0, but got size ", targets.size(0),
               " for argument #2 'targets'; target_lengths is ", lengths);
  TANDEM_CHECK(joined || targets.size(1) >= longest, "ctc_loss: Expected tensor to have size at least ", longest,
               " at dimension 1, but got size ", targets.size(1), " for argument #2 'targets'; target_lengths is ",
               lengths);
  const Tensor from = targets.to(Device(kCPU)).to(kInt64).contiguous();
  const int64_t* classes_of = from.data<int64_t>();
  std::vector<int64_t> rows(static_cast<size_t>(samples * (2 * longest + 1)), blank);
  int64_t before = 0;
  for (int64_t n = 0; n < samples; ++n) {
    const int64_t length = lengths[static_cast<size_t>(n)], start = joined ? before : n * targets.size(1);
    for (int64_t s = 0; s < length; ++s) {
      const int64_t c = classes_of[start + s];
      TANDEM_CHECK(c >= 0 && c < classes && c != blank, "ctc_loss: a target is ", c, "; accepted: 0 to ", classes - 1,
                   " except the blank, ", blank);
      rows[static_cast<size_t>(n * (2 * longest + 1) + 2 * s + 1)] = c;
    }
    before += length;
  }
  return tensor(rows, TensorOptions(kInt64).device(targets.device())).view({samples, 2 * longest + 1});
}
/// Shifts the columns of x (N, L) to the right by `steps`, and fills the front with kLogZero.
Tensor shift_right(const Tensor& x, int64_t steps) {
  const Tensor front = full({x.size(0), std::min(steps, x.size(1))}, kLogZero, x.options());
  return x.size(1) <= steps ? front : cat({front, x.narrow(1, 0, x.size(1) - steps)}, 1);
}
std::vector<int64_t> lengths_to_vector(const char* name, const Tensor& lengths) {
  TANDEM_CHECK(lengths.dtype() == kInt64 || lengths.dtype() == kInt32, "ctc_loss: ", name, " must be integral, but is ",
               lengths.dtype(), "; accepted: int64 and int32");
  const Tensor flat = lengths.to(Device(kCPU)).to(kInt64).contiguous();
  return {flat.data<int64_t>(), flat.data<int64_t>() + flat.numel()};
}
Tensor make_length_column(IntArrayRef lengths, const Tensor& like) {
  return tensor(std::vector<int64_t>(lengths.begin(), lengths.end()), TensorOptions(kInt64).device(like.device()))
      .unsqueeze(1);
}

}  // namespace

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths,
                int64_t blank, LossReduction reduction, Flag zero_infinity) {
  if (const Autocast cast{cast_policy::ctc_loss, log_probs, targets})
    return ctc_loss(cast(log_probs), cast(targets), input_lengths, target_lengths, blank, reduction, zero_infinity);
  check_floating_point("ctc_loss", log_probs);
  TANDEM_CHECK(log_probs.dim() == 2 || log_probs.dim() == 3, "ctc_loss: log_probs is ", log_probs.sizes(),
               "; accepted: (T, N, C) or (T, C)");
  TANDEM_CHECK(log_probs.numel() > 0, "ctc_loss: log_probs tensor must not be empty, but is ", log_probs.sizes());
  TANDEM_CHECK(targets.dtype() == kInt64 || targets.dtype() == kInt32, "ctc_loss: targets is ", targets.dtype(),
               "; accepted: int64 and int32");
  const bool batched = log_probs.dim() == 3;
  const Tensor given = batched ? log_probs : log_probs.unsqueeze(1),
               x = given.to(detail::accumulate_type(given.dtype()));
  const int64_t steps = x.size(0), samples = x.size(1), classes = x.size(2);
  const auto check_lengths = [&](const char* name, IntArrayRef lengths, int64_t most) {
    TANDEM_CHECK(static_cast<int64_t>(lengths.size()) == samples, "ctc_loss: ", name, " must be of size batch_size, ",
                 samples, ", but is ", lengths);
    for (const int64_t n : lengths) {
      TANDEM_CHECK(n >= 0, "ctc_loss: Expected ", name, " to have value at least 0, but got value ", n);
      TANDEM_CHECK(n <= most, "ctc_loss: Expected ", name, " to have value at most ", most, ", but got value ", n);
    }
  };
  check_lengths("input_lengths", input_lengths, steps);
  check_lengths("target_lengths", target_lengths, targets.numel());
  TANDEM_CHECK(blank >= 0 && blank < classes, "ctc_loss: blank must be in label range, 0 to ", classes - 1, ", but is ",
               blank);

  const Tensor labels = insert_blanks(targets, target_lengths, classes, blank);
  const int64_t width = labels.size(1);
  const Tensor given_steps = make_length_column(input_lengths, x), ends = make_length_column(target_lengths, x) * 2;
  const Tensor positions = arange(width, TensorOptions(kInt64).device(x.device()));
  // A path may go from a class to the next one without a blank between them if the two classes differ.
  Tensor skips = zeros_like(labels).to(kBool);
  if (width > 2) {
    const Tensor later = labels.narrow(1, 2, width - 2);
    skips = cat({skips.narrow(1, 0, 2), (later != blank) & (later != labels.narrow(1, 0, width - 2))}, 1);
  }
  // alpha[n, s] is the logarithm of the probability that the steps so far spell labels[n, :s+1]. The first step can
  // only reach the first blank and the first class.
  const Tensor log_zero = full({samples, width}, kLogZero, x.options());
  Tensor alpha = log_zero;
  for (int64_t t = 0; t < steps; ++t) {
    const Tensor now = x[t].gather(1, labels);
    const Tensor next =
        t == 0 ? where(positions < 2, now, Scalar(kLogZero))
               : stack({alpha, shift_right(alpha, 1), where(skips, shift_right(alpha, 2), Scalar(kLogZero))})
                         .logsumexp({0}) +
                     now;
    alpha = where(given_steps > t, next, alpha);
  }
  const Tensor last = alpha.gather(1, ends), before = alpha.gather(1, (ends - 1).clamp_min(0));
  Tensor log_prob = last.logaddexp(where(ends > 0, before, Scalar(kLogZero)));
  log_prob = where((ends == 0) & (given_steps == 0), Scalar(0), log_prob).squeeze(1);
  const Tensor none = log_prob < kLogZero / 2;
  const Tensor losses =
      where(none, Scalar(zero_infinity ? 0.0 : std::numeric_limits<double>::infinity()), log_prob.neg());
  const auto result = [&](const Tensor& y) { return y.to(log_probs.dtype()); };
  if (reduction == Reduction::mean) return result((losses / (ends.squeeze(1) / 2).clamp_min(1).to(x.dtype())).mean());
  return result(reduction == Reduction::none && !batched ? losses.squeeze(0) : apply_loss_reduction(losses, reduction));
}
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank, LossReduction reduction, Flag zero_infinity) {
  return ctc_loss(log_probs, targets, lengths_to_vector("input_lengths", input_lengths),
                  lengths_to_vector("target_lengths", target_lengths), blank, reduction, zero_infinity);
}

}  // namespace tandem
