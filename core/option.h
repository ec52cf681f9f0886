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
/// The same of a type whose copies take long to compile: the setter is defined in a .cpp, by TANDEM_ARG_SETTER.
#define TANDEM_ARG_DECLARED(T, name)           \
 public:                                       \
  auto name(const T& value)->decltype(*this)&; \
  const T& name() const { return name##_; }    \
  T& name() { return name##_; }                \
                                               \
 private:                                      \
  T name##_
#define TANDEM_ARG_SETTER(Options, T, name) \
  Options& Options::name(const T& value) {  \
    name##_ = value;                        \
    return *this;                           \
  }                                         \
  static_assert(true)
/// The same in a base of several option structs: the setter gives the struct of type Self.
#define TANDEM_ARG_OF(Self, T, name)        \
 public:                                    \
  Self& name(const T& value) {              \
    name##_ = value;                        \
    return static_cast<Self&>(*this);       \
  }                                         \
  const T& name() const { return name##_; } \
  T& name() { return name##_; }             \
                                            \
 private:                                   \
  T name##_
