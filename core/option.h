// Macros for the fields of option structs, as in LibTorch.
#pragma once

/// A field with a chainable setter and a getter: `TANDEM_ARG(double, lr) = 0.1;`
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
/// TANDEM_ARG for a type whose copies take long to compile: TANDEM_ARG_SETTER defines the setter in a .cpp.
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
/// TANDEM_ARG in a base class of several option structs: the setter returns the derived struct, of type Self.
#define TANDEM_INHERITED_ARG(Self, T, name) \
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
