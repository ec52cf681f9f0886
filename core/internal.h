// The library's own files use the names of namespace detail without that prefix. This header is not installed, so a
// program that says `using namespace tandem` sees none of them. It includes nothing that generates code: the loops,
// which are compiled once per instruction set, include it.
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
}  // namespace tandem
