#include "tandem/data/data_loader.h"

#include <sstream>

namespace tandem::data::detail {

void check_options(const DataLoaderOptions& options) {
  TANDEM_CHECK(options.batch_size() > 0, "DataLoader: batch_size is 0; it must be positive");
  TANDEM_CHECK(options.max_jobs().value_or(1) > 0, "DataLoader: max_jobs is 0; it must be positive");
}

std::string describe(ArrayRef<size_t> indices) {
  constexpr size_t kShown = 4;
  std::ostringstream out;
  out << " of examples ";
  for (size_t i = 0; i < indices.size() && i < kShown; ++i) out << (i ? ", " : "") << indices[i];
  if (indices.size() > kShown) out << ", ... (" << indices.size() << ")";
  return out.str();
}

void rethrow_from_worker(const std::exception_ptr& error, const std::string& request) {
  std::string what = "an exception that is not a std::exception";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {}
  throw WorkerException("DataLoader: a worker failed to make the batch" + request + ": " + what, error);
}

}  // namespace tandem::data::detail
