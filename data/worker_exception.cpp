// Constructor of WorkerException, which builds the message from the original exception's message.
#include "tandem/data/worker_exception.h"

namespace tandem::data {
namespace {

std::string format_worker_message(const std::exception_ptr& error, const std::string& batch) {
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

WorkerException::WorkerException(const std::exception_ptr& original, const std::string& batch)
    : Error(format_worker_message(original, batch)), original_exception(original), message(what()) {}

}  // namespace tandem::data
