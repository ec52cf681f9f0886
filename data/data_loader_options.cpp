// Implements FullDataLoaderOptions, which checks the options and computes the default of max_jobs.
#include "tandem/data/data_loader_options.h"

#include "tandem/core/internal.h"

namespace tandem::data {

FullDataLoaderOptions::FullDataLoaderOptions(const DataLoaderOptions& options)
    : batch_size(options.batch_size()),
      workers(options.workers()),
      max_jobs(options.max_jobs().value_or(2 * workers)),
      timeout(options.timeout()),
      enforce_ordering(options.enforce_ordering()),
      drop_last(options.drop_last()),
      pin_memory(options.pin_memory()),
      device(options.device()) {
  TANDEM_CHECK(batch_size > 0, "DataLoader: batch_size is 0; it must be positive");
  TANDEM_CHECK(max_jobs > 0 || !options.max_jobs(), "DataLoader: max_jobs is 0; accepted: 1 or more, or unset");
}

}  // namespace tandem::data
