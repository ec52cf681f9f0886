// Samplers: which examples are loaded, and in which order.
#pragma once
#include "tandem/core/tensor.h"
#include "tandem/data/example_streams.h"

namespace tandem::data::samplers {

/// Returns requests, usually lists of indices, until an epoch is over.
template <class BatchRequest = std::vector<size_t>> class Sampler {
 public:
  using BatchRequestType = BatchRequest;
  virtual ~Sampler() = default;
  /// Begins an epoch; `new_size` is the new number of examples of the dataset, if it has changed.
  virtual void reset(std::optional<size_t> new_size = {}) = 0;
  /// Returns the next request, for `batch_size` indices or for those that are left; nullopt when the epoch is over.
  virtual std::optional<BatchRequest> next(size_t batch_size) = 0;
  /// Writes the sampler's position in its epoch, under LibTorch's keys.
  virtual void save(serialize::OutputArchive& archive) const = 0;
  /// Reads a position that save() wrote, and continues there. @throws Error if a key is missing or its value does not
  /// fit this sampler, which then stays as it was
  virtual void load(serialize::InputArchive& archive) = 0;
};

/// Calls sampler.save(archive), so that torch::save takes samplers.
template <class BatchRequest>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Sampler<BatchRequest>& sampler) {
  sampler.save(archive);
  return archive;
}
/// Calls sampler.load(archive), so that torch::load takes samplers.
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
  /// Returns how many indices of this epoch next() has returned.
  size_t index() const noexcept { return index_; }
  /// Returns the number of indices in an epoch.
  size_t epoch_size() const noexcept { return size_; }

 private:
  size_t size_, index_ = 0;
};

/// A new permutation each epoch, drawn from the CPU generator of this rank (`manual_seed`).
class RandomSampler : public Sampler<> {
 public:
  /// @param index_dtype   dtype in which the permutation is kept and saved; a smaller one takes less memory
  /// @throws Error  if size is negative, or index_dtype is not a dtype of integers that holds size - 1
  explicit RandomSampler(int64_t size, Dtype index_dtype = kInt64);
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  /// Returns how many indices of this epoch next() has returned.
  size_t index() const noexcept { return static_cast<size_t>(index_); }
  /// Returns the number of indices in an epoch.
  size_t epoch_size() const noexcept { return static_cast<size_t>(indices_.numel()); }

 private:
  void draw(int64_t size, Dtype dtype);
  Tensor indices_;  // (size) of index_dtype; never written to, because copies of the sampler share it
  int64_t index_ = 0;
};

/// Base class of requests other than lists of indices. A loader calls size() for drop_last.
struct CustomBatchRequest {
  CustomBatchRequest() = default;
  CustomBatchRequest(const CustomBatchRequest&) = default;
  CustomBatchRequest& operator=(const CustomBatchRequest&) = default;
  virtual ~CustomBatchRequest() = default;
  /// Returns the number of examples that are requested.
  virtual size_t size() const = 0;
};

/// A request that holds only the number of examples, for a StreamDataset.
struct BatchSize : public CustomBatchRequest {
  explicit BatchSize(size_t size) : size_(size) {}
  size_t size() const noexcept override { return size_; }
  /// Returns the number of examples.
  operator size_t() const noexcept { return size_; }
  /// Number of examples that the batch should have.
  size_t size_;
};

/// For datasets with an order of their own: returns batch sizes that add up to `epoch_size`.
class StreamSampler : public Sampler<BatchSize> {
 public:
  explicit StreamSampler(size_t epoch_size) : epoch_size_(epoch_size) {}
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<BatchSize> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  /// Returns the number of examples in an epoch.
  size_t epoch_size() const noexcept { return epoch_size_; }

 private:
  size_t examples_retrieved_so_far_ = 0, epoch_size_;
};

namespace detail {
/// Write and read the numbers of a sampler's or loader's position. @throws Error if a number is not in [least, most]
void write_number(serialize::OutputArchive& archive, const char* key, size_t value);
size_t read_number(const serialize::InputArchive& archive, const char* key, size_t least, size_t most);
/// @throws Error if a position was saved with a number of replicas other than num_replicas
void check_same_replicas(const serialize::InputArchive& archive, const char* sampler, size_t num_replicas);
/// Returns up to batch_size of `indices`, from `index` to `end`, and advances index. nullopt if none are left.
std::optional<std::vector<size_t>> take(const std::vector<size_t>& indices, size_t& index, size_t end,
                                        size_t batch_size);
/// @throws Error that names `sampler` if rank is not less than num_replicas
void check_rank(const char* sampler, size_t num_replicas, size_t rank);
}  // namespace detail

}  // namespace tandem::data::samplers
