#include "tandem/data/data_loader.h"

#include <sstream>

#include "tandem/core/internal.h"

namespace tandem::data {
namespace {

std::string worker_message(const std::exception_ptr& error, const std::string& batch) {
  std::string what = "Caught exception in DataLoader worker thread. Original message: ";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    what += e.what();
  } catch (...) {
    what += "an exception that is not a std::exception";
  }
  if (!batch.empty()) {
    what += " [for ";
    what += batch;
    what += "]";
  }
  return what;
}

}  // namespace

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
  TANDEM_CHECK(max_jobs > 0 || !options.max_jobs(), "DataLoader: max_jobs is 0; it must be positive");
}

WorkerException::WorkerException(const std::exception_ptr& original, const std::string& batch)
    : Error(worker_message(original, batch)), original_exception(original), message(what()) {}

std::string detail::describe(ArrayRef<size_t> indices) {
  constexpr size_t kShown = 4;
  std::ostringstream out;
  out << "the batch of examples ";
  for (size_t i = 0; i < indices.size() && i < kShown; ++i) out << (i ? ", " : "") << indices[i];
  if (indices.size() > kShown) out << ", ... (" << indices.size() << ")";
  return out.str();
}

}  // namespace tandem::data
