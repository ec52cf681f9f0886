// Fields of option structs, as LibTorch has them.
#pragma once

/// A field with a setter that can be chained and a getter: `TANDEM_ARG(double, lr) = 0.1;`
#define TANDEM_ARG(T, name)                     \
 public:                                        \
  auto name(const T& value)->decltype(*this)& { \
    name##_ = value;                            \
    return *this;                               \
  }                                             \
  const T& name() const { return name##_; }     \
  T& name() { return name##_; }                 \
                                                \
 private:                                       \
  T name##_
