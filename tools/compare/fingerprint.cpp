#include "tandem/tools/compare/fingerprint.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::tools::compare {
namespace {

constexpr uint64_t kStart = 14695981039346656037U;  // of FNV-1a

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

/// Calls that move data, that choose a batch's rows, and losses: of these DataParallel's first device does what its
/// reference does shard by shard.
bool is_passed_over(const std::string& op) {
  for (const char* const name : {"copy", "transfer", "fill", "arange", "remainder", "index_select", "store_words"})
    if (op == name) return true;
  return op.starts_with("cross_entropy") || op.starts_with("nll");
}

}  // namespace

uint64_t hash_of(const Tensor& t) { return add_to_hash(kStart, t); }

void Fingerprints::on_call(const KernelCall& call) {
  pass(call);
  if (!(call.device == device_) || !call.device.is_cpu()) return;
  Fingerprint made{step_, call.op, kStart};
  int64_t numbers = 0;
  for (const Tensor* t : call.writes) {
    numbers += t->numel();
    if (t->is_contiguous()) made.hash = add_to_hash(made.hash, *t);
  }
  if (numbers <= 1) return;  // of a loss, as a rule: see is_passed_over()
  const std::lock_guard lock(mutex_);
  all_.push_back(std::move(made));
}
std::vector<Fingerprint> Fingerprints::take() {
  const std::lock_guard lock(mutex_);
  return std::move(all_);
}

std::string first_difference(const std::vector<Fingerprint>& mode, const std::vector<Fingerprint>& reference) {
  std::set<std::tuple<int, std::string, uint64_t>> results;
  std::set<std::pair<int, std::string>> ops;
  for (const Fingerprint& f : reference) {
    results.insert({f.step, f.op, f.hash});
    ops.insert({f.step, f.op});
  }
  for (const Fingerprint& f : mode)
    if (!is_passed_over(f.op) && ops.count({f.step, f.op}) != 0 && results.count({f.step, f.op, f.hash}) == 0)
      return f.op + ", step " + std::to_string(f.step + 1);
  return "";
}

}  // namespace tandem::tools::compare
