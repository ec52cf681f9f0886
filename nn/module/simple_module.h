// Macros that declare modules without parameters.
#pragma once
#include "tandem/nn/module.h"

/// Declares a module that applies a function with options to one tensor. Its source file defines how it prints.
#define TANDEM_OPTION_MODULE(Name, Options, default_options, call)                  \
  class Name##Impl : public Cloneable<Name##Impl> {                                 \
   public:                                                                          \
    explicit Name##Impl(const Options& o default_options) : options(o) { reset(); } \
    void reset() override;                                                          \
    void pretty_print(std::ostream& out) const override;                            \
    Tensor forward(const Tensor& x) { return call; }                                \
    Options options;                                                                \
  };                                                                                \
  TANDEM_LIBRARY_MODULE(Name)
#define TANDEM_MODULE_WITHOUT_OPTIONS(Name, call)        \
  class Name##Impl : public Cloneable<Name##Impl> {      \
   public:                                               \
    void reset() override;                               \
    void pretty_print(std::ostream& out) const override; \
    Tensor forward(const Tensor& x) { return call; }     \
  };                                                     \
  TANDEM_LIBRARY_MODULE(Name)
/// Declares a module that applies a function with options to two tensors.
#define TANDEM_TWO_INPUT_MODULE(Name, function)                                                      \
  class Name##Impl : public Cloneable<Name##Impl> {                                                  \
   public:                                                                                           \
    explicit Name##Impl(const Name##Options& o = {}) : options(o) {}                                 \
    void reset() override;                                                                           \
    void pretty_print(std::ostream& out) const override;                                             \
    Tensor forward(const Tensor& a, const Tensor& b) { return functional::function(a, b, options); } \
    Name##Options options;                                                                           \
  };                                                                                                 \
  TANDEM_LIBRARY_MODULE(Name)
/// Declares a module whose constructor also takes its first two options as plain arguments.
#define TANDEM_TWO_OPTION_MODULE(Name, First, Second, call)                                            \
  class Name##Impl : public Cloneable<Name##Impl> {                                                    \
   public:                                                                                             \
    Name##Impl(const First& first, const Second& second) : Name##Impl(Name##Options(first, second)) {} \
    explicit Name##Impl(const Name##Options& o) : options(o) {}                                        \
    void reset() override;                                                                             \
    void pretty_print(std::ostream& out) const override;                                               \
    Tensor forward(const Tensor& x) { return call; }                                                   \
    Name##Options options;                                                                             \
  };                                                                                                   \
  TANDEM_LIBRARY_MODULE(Name)
