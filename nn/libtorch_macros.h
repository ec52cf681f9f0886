// LibTorch's macros under their own names: a program that comes from LibTorch changes its include and its namespace,
// and macros have none.
#pragma once
#include "tandem/nn/module.h"

#ifndef TORCH_MODULE
#define TORCH_MODULE(Name) TANDEM_MODULE(Name)
#endif
#ifndef TORCH_CHECK
#define TORCH_CHECK(condition, ...) TANDEM_CHECK(condition, "'" #condition "' is false" __VA_OPT__(": ", ) __VA_ARGS__)
#endif
#ifndef AT_ASSERT
#define AT_ASSERT(condition) TORCH_CHECK(condition)
#endif
// In the place of LibTorch's list of default arguments: AnyModule finds those of forward by itself.
#ifndef FORWARD_HAS_DEFAULT_ARGS
#define FORWARD_HAS_DEFAULT_ARGS(...)
#endif
