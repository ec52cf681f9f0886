// Samplers: which examples, in which order.
#pragma once
#include "tandem/core/tensor.h"
#include "tandem/data/example_streams.h"

namespace tandem::data::samplers {

/// Hands out requests, lists of indices as a rule, until an epoch is over.
template <class BatchRequest = std::vector<size_t>> class Sampler {
 public:
  using BatchRequestType = BatchRequest;
  virtual ~Sampler() = default;
  /// Begins an epoch, of a dataset that now has `new_size` examples if that is given.
  virtual void reset(std::optional<size_t> new_size = {}) = 0;
  /// The next request, of `batch_size` indices or of what is left; nothing when the epoch is over.
  virtual std::optional<BatchRequest> next(size_t batch_size) = 0;
  /// Writes where in its epoch the sampler is, under LibTorch's keys; load brings one there.
  /// load @throws Error when a key is missing or its value makes no sense; then the sampler is what it was
  virtual void save(serialize::OutputArchive& archive) const = 0;
  /// Reads what save() wrote: next() goes on from there. @throws Error where it does not fit this sampler
  virtual void load(serialize::InputArchive& archive) = 0;
};

/// sampler.save(archive): so torch::save takes samplers
template <class BatchRequest>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Sampler<BatchRequest>& sampler) {
  sampler.save(archive);
  return archive;
}
/// sampler.load(archive): so torch::load takes samplers
template <class BatchRequest>
serialize::InputArchive& operator>>(serialize::InputArchive& archive, Sampler<BatchRequest>& sampler) {
  sampler.load(archive);
  return archive;
}

/// 0, 1, 2, ...
class SequentialSampler : public Sampler<> {
 public:
  explicit SequentialSampler(size_t size) : size_(size) {}
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  /// How many indices of this epoch were handed out.
  size_t index() const noexcept { return index_; }
  /// How many indices an epoch has.
  size_t epoch_size() const noexcept { return size_; }

 private:
  size_t size_, index_ = 0;
};

/// A new permutation each epoch, drawn from the CPU generator of this rank (`manual_seed`).
class RandomSampler : public Sampler<> {
 public:
  /// @param index_dtype   of the kept permutation, which is what save writes: a small one takes less memory
  /// @throws Error  when size is negative, or index_dtype is no dtype of integers that holds size - 1
  explicit RandomSampler(int64_t size, Dtype index_dtype = kInt64);
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  /// How many indices of this epoch were handed out.
  size_t index() const noexcept { return static_cast<size_t>(index_); }
  /// How many indices an epoch has.
  size_t epoch_size() const noexcept { return static_cast<size_t>(indices_.numel()); }

 private:
  void draw(int64_t size, Dtype dtype);
  Tensor indices_;  // (size) of index_dtype, never written to: copies of the sampler share it
  int64_t index_ = 0;
};

/// A request that is no list of indices. A loader asks its size for drop_last.
struct CustomBatchRequest {
  CustomBatchRequest() = default;
  CustomBatchRequest(const CustomBatchRequest&) = default;
  CustomBatchRequest& operator=(const CustomBatchRequest&) = default;
  virtual ~CustomBatchRequest() = default;
  /// How many examples are asked for.
  virtual size_t size() const = 0;
};

/// A request that says only how many examples are wanted: StreamDataset's.
struct BatchSize : public CustomBatchRequest {
  explicit BatchSize(size_t size) : size_(size) {}
  size_t size() const noexcept override { return size_; }
  /// The number.
  operator size_t() const noexcept { return size_; }
  /// How many examples the batch is to have.
  size_t size_;
};

/// For datasets that hand out what comes next: batch sizes, until they sum to `epoch_size`.
class StreamSampler : public Sampler<BatchSize> {
 public:
  explicit StreamSampler(size_t epoch_size) : epoch_size_(epoch_size) {}
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<BatchSize> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  /// How many examples an epoch has.
  size_t epoch_size() const noexcept { return epoch_size_; }

 private:
  size_t examples_retrieved_so_far_ = 0, epoch_size_;
};

namespace detail {
/// Numbers of a sampler's or a loader's position in an archive. @throws Error for one not in [least, most]
void write_number(serialize::OutputArchive& archive, const char* key, size_t value);
size_t read_number(const serialize::InputArchive& archive, const char* key, size_t least, size_t most);
/// @throws Error when a position that `replicas` ranks saved is not one of a block of this many ranks
void check_same_replicas(const serialize::InputArchive& archive, const char* sampler, size_t num_replicas);
/// Up to batch_size indices of `indices` from `index` to `end`; index moves on.
std::optional<std::vector<size_t>> take(const std::vector<size_t>& indices, size_t& index, size_t end,
                                        size_t batch_size);
/// @throws Error naming `sampler` when rank is not one of num_replicas
void check_rank(const char* sampler, size_t num_replicas, size_t rank);
}  // namespace detail

}  // namespace tandem::data::samplers
