// Samplers, which choose the examples that a loader loads, and their order.
#pragma once
#include "tandem/core/tensor.h"
#include "tandem/data/example_random_streams.h"

namespace tandem::data::samplers {

/// Base class of samplers. A sampler returns requests for batches, usually lists of indices, until an epoch is over.
template <class BatchRequest = std::vector<size_t>> class Sampler {
 public:
  using BatchRequestType = BatchRequest;
  virtual ~Sampler() = default;
  /// Begins an epoch. If the number of examples in the dataset has changed, `new_size` is the new number.
  virtual void reset(std::optional<size_t> new_size = {}) = 0;
  /// Returns a request for the next `batch_size` examples, or for fewer at the end of the epoch; nullopt when the epoch
  /// is over.
  virtual std::optional<BatchRequest> next(size_t batch_size) = 0;
  /// Writes the sampler's position in its epoch, with the keys that LibTorch uses.
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
  /// Returns the number of indices that next() has returned in this epoch.
  size_t index() const noexcept { return index_; }
  /// Returns the number of indices in an epoch.
  size_t epoch_size() const noexcept { return size_; }

 private:
  size_t size_, index_ = 0;
};

/// Returns the indices in a new random order each epoch. The order is drawn from the CPU generator of this rank, which
/// manual_seed() seeds.
class RandomSampler : public Sampler<> {
 public:
  /// @param index_dtype   dtype in which the permutation is kept and saved; a smaller dtype takes less memory
  /// @throws Error  if size is negative, or index_dtype is not an integer dtype that can represent size - 1
  explicit RandomSampler(int64_t size, Dtype index_dtype = kInt64);
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  /// Returns the number of indices that next() has returned in this epoch.
  size_t index() const noexcept { return static_cast<size_t>(index_); }
  /// Returns the number of indices in an epoch.
  size_t epoch_size() const noexcept { return static_cast<size_t>(indices_.numel()); }

 private:
  void draw_permutation(int64_t size, Dtype dtype);
  Tensor indices_;  // shape (size), dtype index_dtype; copies of the sampler share it, so it is never changed in place
  int64_t index_ = 0;
};

/// Base class of requests other than lists of indices. If the option drop_last is set, a loader compares size() with
/// the batch size.
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

/// Sampler for datasets that choose the order of their examples themselves (StreamDataset). Returns batch sizes that
/// add up to `epoch_size`.
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
/// Write and read a number that is a part of a sampler's or loader's saved position. @throws Error if the number that
/// was read is not in [min_value, max_value]
void write_number(serialize::OutputArchive& archive, const char* key, size_t value);
size_t read_number(const serialize::InputArchive& archive, const char* key, size_t min_value, size_t max_value);
/// Checks the number of replicas with which a position was saved.
/// @throws Error if it is not num_replicas
void check_same_replicas(const serialize::InputArchive& archive, const char* sampler, size_t num_replicas);
/// Returns up to batch_size elements of `indices`, starting at position `index` and ending before `end`, and advances
/// `index`. Returns nullopt if `index` has reached `end`.
std::optional<std::vector<size_t>> take_indices(const std::vector<size_t>& indices, size_t& index, size_t end,
                                                size_t batch_size);
/// @throws Error that names `sampler` if rank is not less than num_replicas
void check_rank(const char* sampler, size_t num_replicas, size_t rank);
}  // namespace detail

}  // namespace tandem::data::samplers
