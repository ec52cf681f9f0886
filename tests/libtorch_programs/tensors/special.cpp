// Special functions, at ordinary and at extreme arguments.
#include <torch/torch.h>

#include <cmath>
#include <iomanip>
#include <iostream>

namespace sp = torch::special;

void show(const char* name, const torch::Tensor& y) {
  std::cout << std::setw(16) << name;
  const torch::Tensor flat = y.flatten().to(torch::kDouble);
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const double value = flat[i].item<double>();
    if (std::isnan(value))
      std::cout << " nan";
    else
      std::cout << " " << (std::abs(value) < 1e-9 ? 0 : value);  // hides rounding errors
  }
  std::cout << "\n";
}

int main() {
  const torch::Tensor x =
      torch::tensor({-2.5, -1.0, -0.25, 0.0, 0.5, 1.0, 3.75, 40.0, double(INFINITY), double(NAN)}, torch::kDouble);
  const torch::Tensor p = torch::tensor({0.0, 1e-10, 0.2, 0.5, 0.9, 1.0, 1.5}, torch::kDouble);
  show("erf", sp::erf(x));
  show("erfc", sp::erfc(x));
  show("erfcx", sp::erfcx(x));
  show("erfinv", sp::erfinv(p));
  show("ndtr", sp::ndtr(x));
  show("ndtri", sp::ndtri(p));
  show("log_ndtr", sp::log_ndtr(x));
  show("gammaln", sp::gammaln(x));
  show("digamma", sp::digamma(x));
  show("polygamma", sp::polygamma(1, x.narrow(0, 2, 8)));
  show("polygamma 2", torch::polygamma(2, x.narrow(0, 2, 6)));
  show("mvlgamma", torch::mvlgamma(torch::tensor({1.5, 3.0, 10.0}, torch::kDouble), 2));
  show("gammainc",
       sp::gammainc(torch::tensor({0.5, 2.0, 10.0}, torch::kDouble), torch::tensor({1.0, 1.0, 12.0}, torch::kDouble)));
  show("gammaincc",
       sp::gammaincc(torch::tensor({0.5, 2.0, 10.0}, torch::kDouble), torch::tensor({1.0, 1.0, 12.0}, torch::kDouble)));
  show("zeta", sp::zeta(torch::tensor({2.0, 3.0, 1.0, 4.5}, torch::kDouble),
                        torch::tensor({1.0, 0.5, 2.0, 10.0}, torch::kDouble)));
  show("i0", sp::i0(x));
  show("i0e", sp::i0e(x));
  show("i1", sp::i1(x));
  show("i1e", sp::i1e(x));
  show("bessel_j0", sp::bessel_j0(x.narrow(0, 0, 8)));
  show("bessel_j1", sp::bessel_j1(x.narrow(0, 0, 8)));
  show("bessel_y0", sp::bessel_y0(p));
  show("modified k0", sp::modified_bessel_k0(p));
  show("airy", sp::airy_ai(torch::tensor({-2.0, 0.0, 1.5}, torch::kDouble)));
  show("entr", sp::entr(x));
  show("expit", sp::expit(x));
  show("logit", sp::logit(p));
  show("logit eps", torch::logit(p, 0.1));
  show("expm1", sp::expm1(x));
  show("log1p", sp::log1p(x));
  show("exp2", sp::exp2(x));
  show("sinc", sp::sinc(x.narrow(0, 0, 8)));
  show("xlogy", sp::xlogy(x, x.abs()));
  show("xlog1py", sp::xlog1py(x, x.abs()));
  show("logsumexp", sp::logsumexp(x.narrow(0, 0, 8), 0, false));
  show("psi", sp::psi(x));
  show("multigammaln", sp::multigammaln(torch::tensor({2.0, 5.5}, torch::kDouble), 3));
  show("logaddexp", torch::logaddexp(x, x.flip(0)));
  show("logaddexp2", torch::logaddexp2(x.narrow(0, 0, 8), torch::zeros({1}, torch::kDouble)));
  show("hypot", torch::hypot(x, torch::full({1}, 3.0, torch::kDouble)));
  show("atan2", torch::atan2(x, x.flip(0)));
  show("copysign", torch::copysign(x, -x));
  show("nextafter", (torch::nextafter(x, torch::zeros_like(x)) - x) * 1e15);
  show("ldexp", torch::ldexp(x, torch::tensor({3})));
  show("frexp", std::get<0>(torch::frexp(x.narrow(0, 0, 8))));
  show("exponent", std::get<1>(torch::frexp(x.narrow(0, 0, 8))));
  show("fmod", torch::fmod(x, 0.75));
  show("remainder", torch::remainder(x, -0.75));
  show("float_power", torch::float_power(torch::tensor({-2, 2, 3}), 3));
  show("gcd", torch::gcd(torch::tensor({12, -18, 0}), torch::tensor({18, 12, 5})));
  show("lcm", torch::lcm(torch::tensor({12, -18, 0}), torch::tensor({18, 12, 5})));
  show("signbit", torch::signbit(x));
  show("round", torch::round(torch::tensor({0.5, 1.5, 2.5, -0.5, 2.345}, torch::kDouble)));
  show("round 2", torch::round(torch::tensor({0.125, 2.345, -1.005}, torch::kDouble), 2));
  show("trunc, frac", torch::trunc(x) + torch::frac(x) - x);
  show("heaviside", torch::heaviside(x, torch::full({1}, 0.5, torch::kDouble)));
  show("nan_to_num", torch::nan_to_num(x / 0));
  show("chebyshev", sp::chebyshev_polynomial_t(x.narrow(0, 0, 7), 4));
  show("hermite", sp::hermite_polynomial_h(x.narrow(0, 0, 7), 3));
  show("legendre", sp::legendre_polynomial_p(p, 3));
  show("laguerre", sp::laguerre_polynomial_l(x.narrow(0, 0, 7), 2));
  show("deg2rad", torch::rad2deg(torch::deg2rad(x)) - x);
  show("softmax", sp::softmax(x.narrow(0, 0, 8), 0, {}));
  show("log_softmax", sp::log_softmax(x.narrow(0, 0, 8), 0, {}));
  return 0;
}
