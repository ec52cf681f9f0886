// Implements rethrow_named(): throws a copy of an exception with a name in front of the message.
#include "tandem/parallel/rethrow.h"

namespace tandem::detail {

std::string exception_message(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

void rethrow_named(const std::exception_ptr& exception, const std::string& who) {
  const std::string text = (who.empty() ? "" : who + ": ") + exception_message(exception);
  try {
    std::rethrow_exception(exception);
  } catch (const IndexError&) {
    throw IndexError(text);
  } catch (const NotImplementedError&) {
    throw NotImplementedError(text);
  } catch (const OutOfMemoryError&) {
    throw OutOfMemoryError(text);
  } catch (const distributed::DistributedError&) {
    throw distributed::DistributedError(text);
  } catch (const std::exception&) {
    throw Error(text);
  } catch (...) {
    throw;
  }
}

}  // namespace tandem::detail
