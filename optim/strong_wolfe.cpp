// strong_wolfe: brackets a point that satisfies the Wolfe conditions, and narrows the bracket by cubic interpolation.
#include "tandem/optim/strong_wolfe.h"

#include <algorithm>
#include <cmath>

namespace tandem::optim::detail {
namespace {

constexpr double kSufficientDecrease = 1e-4, kCurvatureTolerance = 0.9, kMinBracketLength = 1e-9;

/// Returns the minimum, clamped to [low, high], of the cubic through two points with their losses and slopes; the
/// middle of the interval if the cubic has no minimum.
double cubic_minimum(const LinePoint& p1, const LinePoint& p2, double low, double high) {
  const double d1 = p1.directional_derivative + p2.directional_derivative - 3 * (p1.loss - p2.loss) / (p1.t - p2.t);
  const double square = d1 * d1 - p1.directional_derivative * p2.directional_derivative;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const auto& [left, right] = p1.t <= p2.t ? std::pair(p1, p2) : std::pair(p2, p1);
  const double at =
      right.t - (right.t - left.t) * ((right.directional_derivative + d2 - d1) /
                                      (right.directional_derivative - left.directional_derivative + 2 * d2));
  return std::min(std::max(at, low), high);
}

}  // namespace

LinePoint strong_wolfe(const std::function<LinePoint(double)>& evaluate, const LinePoint& start, double t,
                       double largest, int64_t max_rounds, int64_t& evaluations) {
  const auto point_at = [&](double at) {
    ++evaluations;
    return evaluate(at);
  };
  const auto fails_sufficient_decrease = [&](const LinePoint& p) {
    return p.loss > start.loss + kSufficientDecrease * p.t * start.directional_derivative;
  };
  const auto satisfies_curvature = [&](const LinePoint& p) {
    return std::abs(p.directional_derivative) <= -kCurvatureTolerance * start.directional_derivative;
  };

  // First phase: lengthens the step until a minimum lies between two points.
  LinePoint previous = start, now = point_at(t);
  int64_t round = 0;
  bool bracketed = false;
  for (; round < max_rounds; ++round) {
    if (fails_sufficient_decrease(now) || (round > 1 && now.loss >= previous.loss)) {
      bracketed = true;
      break;
    }
    if (satisfies_curvature(now)) return now;
    if (now.directional_derivative >= 0) {
      bracketed = true;
      break;
    }
    const double next = cubic_minimum(previous, now, now.t + 0.01 * (now.t - previous.t), now.t * 10);
    previous = std::exchange(now, point_at(next));
  }
  LinePoint ends[2] = {bracketed ? previous : start, now};
  int low = ends[0].loss <= ends[1].loss ? 0 : 1;

  // Second phase: divides the bracket. ends[low] is the best point so far.
  bool little_progress = false;
  for (; bracketed && round < max_rounds; ++round) {
    if (std::abs(ends[1].t - ends[0].t) * largest < kMinBracketLength) break;
    const double left = std::min(ends[0].t, ends[1].t), right = std::max(ends[0].t, ends[1].t);
    double at = cubic_minimum(ends[0], ends[1], left, right);
    // If the new point is at an end of the bracket, or close to an end for the second time in succession, moves the
    // point inwards by a tenth of the bracket.
    const double margin = 0.1 * (right - left);
    if (std::min(right - at, at - left) < margin) {
      const bool move = little_progress || at >= right || at <= left;
      if (move) at = std::abs(at - right) < std::abs(at - left) ? right - margin : left + margin;
      little_progress = !move;
    } else {
      little_progress = false;
    }
    const LinePoint found = point_at(at);
    if (fails_sufficient_decrease(found) || found.loss >= ends[low].loss) {
      ends[1 - low] = found;
      low = ends[0].loss <= ends[1].loss ? 0 : 1;
      continue;
    }
    const bool done = satisfies_curvature(found);
    if (!done && found.directional_derivative * (ends[1 - low].t - ends[low].t) >= 0) ends[1 - low] = ends[low];
    ends[low] = found;
    if (done) break;
  }
  return ends[low];
}

}  // namespace tandem::optim::detail
