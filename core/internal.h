// Lets the library's own files use the names of the detail namespaces without that prefix. This header is not
// installed, so `using namespace tandem` in a program does not bring these names. It includes nothing that generates
// code, because the loops, which are compiled once per instruction set, include it.
#pragma once
#include "tandem/core/cast_policy.h"

namespace tandem {
namespace detail {}
using namespace detail;
namespace autograd {
namespace detail {}
using namespace detail;
}  // namespace autograd
namespace cuda {
namespace detail {}
using namespace detail;
}  // namespace cuda
namespace nn::parallel {
namespace detail {}
using namespace detail;
}  // namespace nn::parallel
namespace data {
namespace detail {}
using namespace detail;
}  // namespace data
namespace data::datasets {
namespace detail {}
using namespace detail;
}  // namespace data::datasets
namespace data::samplers {
namespace detail {}
using namespace detail;
}  // namespace data::samplers
namespace optim {
namespace detail {}
using namespace detail;
}  // namespace optim
namespace text {
namespace detail {}
using namespace detail;
}  // namespace text
}  // namespace tandem
