// Fuzz target for load(): PyTorch's zip files, the pickles in them, and safetensors. For any bytes, load() returns
// values or throws tandem::Error.
#include <cstdint>

#include "tandem/serialize/archive.h"

namespace {

void look_at(const tandem::IValue& value) {
  if (value.isTensor() && value.toTensor().defined())
    value.toTensor().to(tandem::kFloat64).sum();  // reads every element
  else if (value.isList() || value.isTuple())
    for (const tandem::IValue& element : value.elements()) look_at(element);
  else if (value.isGenericDict())
    for (const auto& entry : value.entries()) look_at(entry.value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    tandem::serialize::InputArchive archive;
    archive.load_from(reinterpret_cast<const char*>(data), size);
    look_at(archive.value());
  } catch (const tandem::Error&) {}
  return 0;
}
