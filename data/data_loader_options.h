// How a DataLoader works.
#pragma once
#include <cstddef>

#include "tandem/core/durations.h"
#include "tandem/core/option.h"
#include "tandem/core/tensor.h"

namespace tandem::data {

/// How a DataLoader works. A number alone converts to one, as the batch size.
class DataLoaderOptions {
 public:
  DataLoaderOptions() = default;
  DataLoaderOptions(size_t batch_size) : batch_size_(batch_size) {}
  TANDEM_ARG(size_t, batch_size) = 1;  // examples in a batch
  /// Threads that make batches; 0: the caller does, when it asks for one.
  TANDEM_ARG(size_t, workers) = 0;
  /// How many batches are asked for in advance; twice the workers unless given.
  TANDEM_ARG(std::optional<size_t>, max_jobs) = {};
  /// How long to wait for a batch before it is an error; for ever unless given.
  TANDEM_ARG(std::optional<std::chrono::milliseconds>, timeout) = {};
  /// Whether batches come in the sampler's order, or as soon as they are there.
  TANDEM_ARG(bool, enforce_ordering) = true;
  /// Whether a last batch smaller than batch_size is left out.
  TANDEM_ARG(bool, drop_last) = false;
  /// Whether batches are put in page-locked memory, from which `to(device, /*non_blocking=*/true)` copies while the
  /// host goes on. Without a GPU it changes nothing, as in PyTorch.
  TANDEM_ARG(bool, pin_memory) = false;
  /// Where batches are put as soon as they are made. On a GPU by a stream of the loader's own, so that one is copied
  /// while another is computed; the consumer's current stream waits for it. All batches made in advance lie there.
  TANDEM_ARG(std::optional<Device>, device) = {};
};

/// The options of a loader, with max_jobs decided.
struct FullDataLoaderOptions {
  /// @throws Error when batch_size is 0, or max_jobs is
  explicit FullDataLoaderOptions(const DataLoaderOptions& options);
  /// As DataLoaderOptions has them, max_jobs with its default decided.
  size_t batch_size, workers, max_jobs;
  /// How long to wait for a batch; for ever where nothing is set.
  std::optional<std::chrono::milliseconds> timeout;
  /// As DataLoaderOptions has them.
  bool enforce_ordering, drop_last, pin_memory;
  /// Where batches are put; where they are made unless set.
  std::optional<Device> device;
};

}  // namespace tandem::data
