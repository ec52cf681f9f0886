// Compares parameters between ranks by hashes of their values, and names those that differ.
#include "tandem/parallel/parameter_checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tandem/ops/factory/empty.h"
#include "tandem/ops/factory/tensor.h"

namespace tandem::nn::parallel {
namespace {

constexpr uint64_t kHashMultiplier =
    0x9e3779b97f4a7c15;  // an odd factor, so that multiplication modulo 2^64 is invertible

uint64_t mix_hash(uint64_t hash, uint64_t word) { return std::rotl((hash ^ word) * kHashMultiplier, 29); }

/// Gathers the values of all ranks: element [r][i] of the result is values[i] of rank r.
[[gnu::cold]] std::vector<std::vector<int64_t>> all_gather_values(const std::vector<int64_t>& values,
                                                                  distributed::ProcessGroup& group,
                                                                  const std::string& about) {
  const auto n = static_cast<int64_t>(values.size());
  const Tensor mine = tensor(values, kInt64).to(group.device());
  const Tensor all = empty({group.size() * n}, TensorOptions(kInt64).device(group.device()));
  group.all_gather_into_tensor(all, mine, about)->synchronize();
  const Tensor here = all.cpu();
  const int64_t* const at = here.data_ptr<int64_t>();
  std::vector<std::vector<int64_t>> out;
  for (int64_t r = 0; r < group.size(); ++r) out.emplace_back(at + r * n, at + (r + 1) * n);
  return out;
}

}  // namespace

uint64_t detail::checksum(const Tensor& x) {
  const Tensor here = x.detach().cpu().contiguous();
  const char* const bytes = static_cast<const char*>(here.raw_data());
  const auto n = static_cast<size_t>(here.nbytes());
  constexpr size_t kLanes = 4;  // number of independent hashes, so that their multiplications overlap
  uint64_t lanes[kLanes] = {1, 2, 3, 4};
  size_t at = 0;
  for (; at + sizeof lanes <= n; at += sizeof lanes) {
    uint64_t words[kLanes];
    std::memcpy(words, bytes + at, sizeof words);
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = mix_hash(lanes[i], words[i]);
  }
  uint64_t hash = n;
  for (const uint64_t lane : lanes) hash = mix_hash(hash, lane);
  for (; at < n; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min(n - at, sizeof word));
    hash = mix_hash(hash, word);
  }
  return hash;
}

void detail::check_same_values(const std::string& caller, const NamedParameters& tensors,
                               distributed::ProcessGroup& group) {
  std::vector<int64_t> mine;
  uint64_t combined_hash = 0;
  for (const auto& item : tensors) {
    mine.push_back(static_cast<int64_t>(checksum(item.value())));
    combined_hash = mix_hash(combined_hash, static_cast<uint64_t>(mine.back()));
  }
  const auto sums =
      all_gather_values({static_cast<int64_t>(combined_hash)}, group, caller + ": the checksum of the parameters");
  if (std::all_of(sums.begin(), sums.end(), [&](const auto& sum) { return sum == sums[0]; })) return;
  const auto all = all_gather_values(mine, group, caller + ": the checksums of the parameters");
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::map<int64_t, int> ranks_with;
    for (const auto& values : all) ++ranks_with[values[i]];
    if (ranks_with.size() == 1) continue;
    int64_t reference = all[0][i];
    for (const auto& [value, ranks] : ranks_with)
      if (ranks > ranks_with[reference]) reference = value;
    std::string differing_ranks;
    for (size_t r = 0; r < all.size(); ++r)
      if (all[r][i] != reference) differing_ranks.append(differing_ranks.empty() ? "" : ", ").append(std::to_string(r));
    const int count = ranks_with[reference];
    TANDEM_FAIL(caller, ": the ranks' models have diverged: ", tensors[i].key(), " of rank ", differing_ranks,
                " differs from that of ", 2 * count > group.size() ? "most ranks" : "rank 0",
                "; change parameters only through optimizers with the same gradients and settings on all ranks");
  }
}

}  // namespace tandem::nn::parallel
