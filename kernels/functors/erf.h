// Error function, normal distribution, and gelu. The coefficients were fitted as in exp.h.
#pragma once
#include "tandem/kernels/functors/exp.h"

namespace tandem::math {

TANDEM_HD double erf(double x) { return ::erf(x); }
TANDEM_HD double erfc(double x) { return ::erfc(x); }

/// Error function: an odd polynomial if |x| < 0.9, otherwise 1 - e^-q(|x|), where the polynomial q approximates -ln
/// erfc on [0.9, 4]. Error within 1.3 ulp.
TANDEM_HD float erf(float x) {
  const float a = abs(x), z = x * x, c = a > 4.0f ? 4.0f : a;
  const float p = polynomial(z, 8.513087232e-5f, -8.175635012e-4f, 5.203858484e-3f, -2.686050907e-2f, 1.128371507e-1f,
                             -3.761263490e-1f, 1.283791661e-1f);
  const float q = polynomial(c, -1.971818128e-4f, 3.055608366e-3f, -2.227708884e-2f, 1.040373668e-1f, 6.370597482e-1f,
                             1.127749562f, 1.774942939e-4f);
  const ExpArgument e = exp_argument(-q);
  const float t = 1.0f - (exp_fraction(e.r) + 1.0f) * power_of_two(e.k);
  return a < 0.9f ? x + x * p : copysign(t, x);
}

/// Returns e^(-c a^2) for a power of two c. The square is computed in two parts, the first of them exact, and the
/// result is scaled as in exp_of_negative. The result for NaN is unspecified.
TANDEM_HD float exp_of_square(float a, float c) {
  const float high = __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, a) & 0xfffff000u);
  const float square = -c * (high * high), rest = -c * ((a - high) * (a + high));
  const float shifted = (square + rest) * 1.44269504f + 12582976.0f;
  const float n = shifted - 12582976.0f;
  const float r = ((square - n * 0.693359375f) + n * 2.12194440e-4f) + rest;
  return scale_below_one(exp_fraction(r) + 1.0f, shifted);
}
/// Returns e^(t^2) erfc(t) for 0.49 <= t <= 10.26, as a polynomial of u = (t - 3) / (t + 3).
TANDEM_HD float scaled_erfc(float u) {
  return polynomial(u, -5.443412811e-04f, 7.357558352e-04f, 4.251979757e-03f, -2.439857274e-02f, 7.166833431e-02f,
                    -1.501154900e-01f, 2.456036657e-01f, -3.262335658e-01f, 1.790011525e-01f);
}

/// Complementary error function. Error within 5 ulp, also for results below 2^-126.
TANDEM_HD float erfc(float x) {
  const float a = abs(x), t = a > 10.25f ? 10.25f : a, z = x * x;
  // p approximates erf: erf(x) = x + x p for |x| < 0.5.
  const float p = polynomial(z, 4.703023471e-3f, -2.675137669e-2f, 1.128276438e-1f, -3.761260808e-1f, 1.283791661e-1f);
  const float tail = exp_of_square(t, 1.0f) * scaled_erfc((t - 3.0f) / (t + 3.0f));
  return a < 0.5f ? (1.0f - x) - x * p : x < 0.0f ? 2.0f - tail : tail;
}

/// Normal distribution function (phi) and density at x. The error of phi is within 5.5 ulp.
struct Normal {
  float phi, density;
};
TANDEM_HD Normal normal(float x) {
  const float a = abs(x), t = a > 14.5f ? 14.5f : a, z = x * x, pole = 4.24264069f;  // 3 sqrt(2)
  // p approximates Phi, the distribution function: Phi(x) = 1/2 + 3/8 x + x p for |x| < 0.75.
  const float p = polynomial(z, 1.015936941e-4f, -1.179860323e-3f, 9.971885942e-3f, -6.649024785e-2f, 2.394227870e-2f);
  const float e = exp_of_square(t, 0.5f), tail = 0.5f * (e * scaled_erfc((t - pole) / (t + pole)));
  return {a < 0.75f ? (0.5f + 0.375f * x) + x * p : x < 0.0f ? tail : 1.0f - tail, e * 0.398942280f};
}
/// fast_gelu() computes gelu(x) = x Phi(x) for x >= -5.5 or NaN, without a division: Phi(-t) = e^(-t^2 / 2 + t q) / 2,
/// where q is a polynomial in t - 2.75. Error within 6.5 ulp. The polynomials are evaluated in pairs of terms, because
/// latency bounds this function.
TANDEM_HD bool has_fast_gelu(float x) { return !(x < -5.5f); }
TANDEM_HD float fast_gelu(float x) {
  const float a = abs(x), t = a > 5.5f ? 5.5f : a, u = t - 2.75f, u2 = u * u, u4 = u2 * u2;
  const float low = (6.765449047e-2f * u - 4.878233671e-1f) + (1.497637131e-3f * u - 1.022795215e-2f) * u2;
  const float middle = (2.296142520e-5f * u - 2.008365700e-4f) + (-2.407377186e-9f * u - 1.886461860e-6f) * u2;
  const float top = (-1.728039756e-8f * u + 5.821292604e-8f) + 1.930559934e-9f * u2;
  const float q = low + (middle + top * u4) * u4;
  const float high = __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, t) & 0xfffff000u);  // its square is exact
  const float square = -0.5f * (high * high), rest = t * q - 0.5f * ((t - high) * (t + high));
  const float shifted = (square + rest) * 1.44269504f + 12582911.0f;  // as in exp_argument, but with k - 1 for k
  const float n = shifted - 12582911.0f;
  const float r = ((square - n * 0.693359375f) + rest) + n * 2.12194440e-4f, r2 = r * r;
  const float p = (1.666654199e-1f * r + 0.5f) + ((8.366691880e-3f * r + 4.166720435e-2f) + 1.388248987e-3f * r2) * r2;
  const uint32_t power = __builtin_bit_cast(uint32_t, (p * r2 + r) + 1.0f);
  const float tail = __builtin_bit_cast(float, power + (__builtin_bit_cast(uint32_t, shifted) << 23));
  return (x < 0.0f ? 0.0f : x) - t * tail;
}
/// Gelu, x Phi(x), and its derivative.
TANDEM_HD float gelu(float x) { return has_fast_gelu(x) ? fast_gelu(x) : x * normal(x).phi; }
TANDEM_HD float gelu_derivative(float x) {
  const Normal n = normal(x);
  return n.phi + x * n.density;
}
/// The tanh form of gelu and its derivative. The form is 0.5 x (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3),
/// computed as x sigmoid(2 u).
template <class T> TANDEM_HD T gelu_tanh(T x) {
  return x * sigmoid(x * (T(1.5957691216057308) + T(0.071354816272600254) * (x * x)));
}
template <class T> TANDEM_HD T gelu_tanh_derivative(T x) {
  const T square = x * x, s = sigmoid(x * (T(1.5957691216057308) + T(0.071354816272600254) * square));
  return s + x * s * (T(1) - s) * (T(1.5957691216057308) + T(0.21406444881780076) * square);
}
TANDEM_HD double gelu(double x) { return 0.5 * x * ::erfc(x * -0.70710678118654752440); }
TANDEM_HD double gelu_derivative(double x) {
  return 0.5 * ::erfc(x * -0.70710678118654752440) + x * (::exp(-0.5 * x * x) * 0.39894228040143267794);
}

}  // namespace tandem::math
