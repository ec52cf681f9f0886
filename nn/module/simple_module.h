// How modules without parameters are declared.
#pragma once
#include "tandem/nn/module.h"

/// A module that is its options and a function of them. Its source file says how it prints itself.
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
#define TANDEM_PLAIN_MODULE(Name, call)                  \
  class Name##Impl : public Cloneable<Name##Impl> {      \
   public:                                               \
    void reset() override;                               \
    void pretty_print(std::ostream& out) const override; \
    Tensor forward(const Tensor& x) { return call; }     \
  };                                                     \
  TANDEM_LIBRARY_MODULE(Name)
/// A module that is a function of two tensors and its options.
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
/// A module whose first two options can stand in its constructor without names.
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
