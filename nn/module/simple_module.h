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
