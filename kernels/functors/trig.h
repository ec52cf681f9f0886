// Sine, cosine and tangent. The coefficients were fitted as in exp.h.
#pragma once
#include "tandem/kernels/functors/base.h"

namespace tandem::math {

TANDEM_HD double sin(double x) { return ::sin(x); }
TANDEM_HD double cos(double x) { return ::cos(x); }
TANDEM_HD double tan(double x) { return ::tan(x); }

/// Sine and cosine of r, where x = k pi/2 + r and |r| <= 0.79, for |x| <= kMaxFastAngle. The argument is reduced in
/// double, with pi/2 in two parts. The first part has few bits, so its product with k is exact and r is accurate even
/// near multiples of pi/2.
constexpr float kMaxFastAngle = 100000.0f;
struct Angle {
  float sine, cosine;
  uint32_t k;
};
TANDEM_HD Angle reduced_angle(float x) {
  const float shifted = x * 0.636619772f + 12582912.0f;  // adding 1.5 * 2^23 rounds to an integer
  const double n = double(shifted - 12582912.0f);
  const float r = float((double(x) - n * 1.57079632673412561417) - n * 6.07710050650619224932e-11);
  const float z = r * r;
  const float s = polynomial(z, -1.951682643e-4f, 8.332182653e-3f, -1.666665524e-1f);
  const float c = polynomial(z, 2.443120138e-5f, -1.388730365e-3f, 4.166664556e-2f);
  return {r + r * (z * s), (1.0f - 0.5f * z) + z * z * c, __builtin_bit_cast(uint32_t, shifted)};
}
/// Returns x, with its sign changed if bit `bit` of k is set.
TANDEM_HD float with_sign_of_bit(float x, uint32_t k, int bit) {
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, x) ^ (k >> bit << 31));
}

/// Sine and cosine for |x| <= kMaxFastAngle. Error within 1.6 ulp.
TANDEM_HD float fast_sin(float x) {
  const Angle a = reduced_angle(x);
  return x == 0.0f ? x : with_sign_of_bit(a.k & 1 ? a.cosine : a.sine, a.k, 1);
}
TANDEM_HD float fast_cos(float x) {
  const Angle a = reduced_angle(x);
  return with_sign_of_bit(a.k & 1 ? a.sine : a.cosine, a.k + 1, 1);
}
/// Tangent for |x| <= kMaxFastAngle. Error within 3.7 ulp.
TANDEM_HD float fast_tan(float x) {
  const Angle a = reduced_angle(x);
  const bool odd = a.k & 1;
  return x == 0.0f ? x : with_sign_of_bit((odd ? a.cosine : a.sine) / (odd ? a.sine : a.cosine), a.k, 0);
}
TANDEM_HD bool is_fast_angle(float x) { return abs(x) <= kMaxFastAngle; }
/// Sine, cosine and tangent. Angles above kMaxFastAngle are left to the C library.
TANDEM_HD float sin(float x) { return is_fast_angle(x) ? fast_sin(x) : ::sinf(x); }
TANDEM_HD float cos(float x) { return is_fast_angle(x) ? fast_cos(x) : ::cosf(x); }
TANDEM_HD float tan(float x) { return is_fast_angle(x) ? fast_tan(x) : ::tanf(x); }

TANDEM_HD double atan2(double y, double x) { return ::atan2(y, x); }
/// Angle of the point (x, y). atan t is computed as t + t z p(z) with z = t^2 for |t| <= tan(pi/8). The ratio of the
/// smaller to the larger of |y| and |x| is reduced to this range. The polynomial was fitted for this file. Error within
/// 3 ulp.
TANDEM_HD float atan2(float y, float x) {
  const float a = abs(y), b = abs(x), larger = a > b ? a : b, smaller = a > b ? b : a;
  // For 0 / 0, takes the angle of the point (x, y) = (1, 0), and for infinity / infinity the angle of (1, 1).
  const float ratio = larger == 0.0f ? 0.0f : smaller == __builtin_inff() ? 1.0f : smaller / larger;
  const bool steep = ratio > 0.414213562f;
  const float t = steep ? (ratio - 1.0f) / (ratio + 1.0f) : ratio, z = t * t;
  const float p = polynomial(z, -6.077757105e-2f, 1.059363931e-1f, -1.424351037e-1f, 1.999846995e-1f, -3.333331645e-1f);
  const float base = t + t * (z * p), octant = steep ? 0.785398185f + (base - 2.18556941e-8f) : base;
  const float quadrant = a > b ? 1.57079637f - (octant + 4.37113883e-8f) : octant;
  const float half = copysign(1.0f, x) < 0.0f ? 3.14159274f - (quadrant + 8.74227766e-8f) : quadrant;
  return x != x || y != y ? x + y : copysign(half, y);
}

/// Returns cos(2 pi v) for v in [-1/2, 1/2]. It is computed as sin(2 pi (1/4 - |v|)), by an odd polynomial fitted for
/// this file. Absolute error within 2e-7.
TANDEM_HD float cos_of_turns(float v) {
  const float b = 0.25f - (v < 0.0f ? -v : v), z = b * b;
  const float p = polynomial(z, 39.536705017f, -76.549781799f, 81.601005554f, -41.341655731f, 6.283185005f);
  return p * b;
}

}  // namespace tandem::math
