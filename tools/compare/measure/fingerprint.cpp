// Implements hash_tensor, FingerprintObserver and first_difference: record hashes of operations' results, and compare
// two lists of such hashes.
#include "tandem/tools/compare/measure/fingerprint.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "tandem/core/tensor.h"

namespace tandem::tools::compare {
namespace {

constexpr uint64_t kFnvOffsetBasis = 14695981039346656037U;  // initial value of FNV-1a
constexpr const char* kRankSumOp = "combine";  // operation in which a rank sums its chunk of an all-reduce

uint64_t add_to_hash(uint64_t hash, const Tensor& t) {
  constexpr uint64_t kPrime = 1099511628211U;
  const auto* const bytes = static_cast<const unsigned char*>(t.raw_data());
  const auto count = static_cast<size_t>(t.nbytes());
  for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min(sizeof word, count - at));
    hash = (hash ^ word) * kPrime;
  }
  return hash;
}

/// Returns whether first_difference ignores an operation: data movement, selection of a batch's rows, and losses.
/// DataParallel's first device runs these on the whole batch, but the reference runs them shard by shard, so their
/// results differ.
bool is_ignored_op(const std::string& op) {
  for (const char* const name : {"copy", "transfer", "fill", "arange", "remainder", "index_select", "store_words"})
    if (op == name) return true;
  return op.starts_with("cross_entropy") || op.starts_with("nll");
}

}  // namespace

uint64_t hash_tensor(const Tensor& t) { return add_to_hash(kFnvOffsetBasis, t); }

void FingerprintObserver::on_kernel_call(const KernelCall& call) {
  if (!(call.device == device_) || !call.device.is_cpu()) return pass_to_outer(call);
  Fingerprint fingerprint{step_, call.op, kFnvOffsetBasis, kFnvOffsetBasis};
  for (const Tensor* t : call.reads)
    if (t->is_cpu() && t->is_contiguous()) fingerprint.inputs = add_to_hash(fingerprint.inputs, *t);
  pass_to_outer(call);
  int64_t numbers = 0;
  for (const Tensor* t : call.writes) {
    numbers += t->numel();
    if (t->is_contiguous()) fingerprint.hash = add_to_hash(fingerprint.hash, *t);
  }
  if (numbers <= 1) return;  // a single number is usually a loss, which is_ignored_op() ignores too
  const std::lock_guard lock(mutex_);
  fingerprints_.push_back(std::move(fingerprint));
}
std::vector<Fingerprint> FingerprintObserver::take() {
  const std::lock_guard lock(mutex_);
  return std::move(fingerprints_);
}

std::string first_difference(const std::vector<Fingerprint>& mode, const std::vector<Fingerprint>& reference) {
  std::set<std::tuple<int, std::string, uint64_t>> results, inputs;
  std::set<std::pair<int, std::string>> ops;
  for (const Fingerprint& f : reference) {
    results.insert({f.step, f.op, f.hash});
    inputs.insert({f.step, f.op, f.inputs});
    ops.insert({f.step, f.op});
  }
  for (size_t i = 0; i < mode.size(); ++i) {
    const Fingerprint& f = mode[i];
    if (is_ignored_op(f.op) || ops.count({f.step, f.op}) == 0 || results.count({f.step, f.op, f.hash}) != 0) continue;
    const auto is_rank_sum = [&](const Fingerprint& each) { return each.step == f.step && each.op == kRankSumOp; };
    const auto at = mode.begin() + static_cast<std::ptrdiff_t>(i);
    const bool after_sums = std::any_of(mode.begin(), at, is_rank_sum) && std::none_of(at, mode.end(), is_rank_sum);
    const bool has_new_inputs = inputs.count({f.step, f.op, f.inputs}) == 0;
    return (after_sums && has_new_inputs ? "all_reduce" : f.op) + ", step " + std::to_string(f.step + 1);
  }
  return "";
}

}  // namespace tandem::tools::compare
