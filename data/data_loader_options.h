// Options of a DataLoader.
#pragma once
#include <cstddef>

#include "tandem/core/durations.h"
#include "tandem/core/option.h"
#include "tandem/core/tensor.h"

namespace tandem::data {

/// Options of a DataLoader. A size_t converts implicitly to options with this batch size.
class DataLoaderOptions {
 public:
  DataLoaderOptions() = default;
  DataLoaderOptions(size_t batch_size) : batch_size_(batch_size) {}
  TANDEM_ARG(size_t, batch_size) = 1;  // examples in a batch
  /// Number of threads that make batches. With 0, the thread that iterates makes each batch when it needs it.
  TANDEM_ARG(size_t, workers) = 0;
  /// Number of batches requested in advance; by default, twice the number of workers.
  TANDEM_ARG(std::optional<size_t>, max_jobs) = {};
  /// Time to wait for a batch before an Error is thrown; by default, unlimited.
  TANDEM_ARG(std::optional<std::chrono::milliseconds>, timeout) = {};
  /// If true, the loader returns batches in the sampler's order, else as soon as they are ready.
  TANDEM_ARG(bool, enforce_ordering) = true;
  /// If true, a last batch smaller than batch_size is left out.
  TANDEM_ARG(bool, drop_last) = false;
  /// If true, batches are put into page-locked memory, from which `to(device, /*non_blocking=*/true)` copies
  /// asynchronously. Without a GPU, the option has no effect, as in PyTorch.
  TANDEM_ARG(bool, pin_memory) = false;
  /// Device to which batches are moved as soon as they are made. Copies to a GPU run on the loader's own stream, so
  /// that one batch is copied while the model computes another. The current stream of the iterating thread waits for
  /// the copy. All batches that are made in advance take memory of the device.
  TANDEM_ARG(std::optional<Device>, device) = {};
};

/// Options of a loader, with the default of max_jobs filled in.
struct FullDataLoaderOptions {
  /// @throws Error if batch_size or max_jobs is 0
  explicit FullDataLoaderOptions(const DataLoaderOptions& options);
  /// Values of the options of the same names in DataLoaderOptions. If max_jobs was nullopt there, it has its default
  /// here.
  size_t batch_size, workers, max_jobs;
  /// Time to wait for a batch; nullopt means unlimited.
  std::optional<std::chrono::milliseconds> timeout;
  /// Values of the options of the same names in DataLoaderOptions.
  bool enforce_ordering, drop_last, pin_memory;
  /// Device to which batches are moved; if nullopt, batches are not moved.
  std::optional<Device> device;
};

}  // namespace tandem::data
