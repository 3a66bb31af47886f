#include "named_cases.hpp"

#include <troupe/elementwise.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace troupe::conformance {
namespace {

using namespace elementwise_reference;

struct loss_case {
  extents logits;
  extents strides;
  double smoothing;
  std::int64_t ignored;
};
const std::vector<loss_case>& loss_cases() {
  static const std::vector<loss_case> all = {{{1}, {1}, 0, -100},
                                             {{3, 1025}, {1025, 1}, 0, -100},
                                             {{2, 5, 17}, {200, 40, 2}, 0.125, 3},
                                             {{7, 6}, {1, 8}, 0, 0},
                                             {{33, 10}, {10, 1}, 0.1, -1},
                                             {{4, 3}, {3, 1}, 1, -100},
                                             {{0, 4}, {4, 1}, 0, -100}};
  return all;
}

/// The logarithms of a row's probabilities.
reals log_softmax(const double* row, std::int64_t c) {
  const double most = *std::max_element(row, row + c);
  double sum = 0;
  for (std::int64_t k = 0; k < c; ++k)
    sum += std::exp(row[k] - most);
  reals all;
  for (std::int64_t k = 0; k < c; ++k)
    all.push_back(row[k] - most - std::log(sum));
  return all;
}

/// Targets, some of which are ignored or out of range.
void draw_targets(scene& s, test_tensor& targets, const loss_case& c) {
  const std::int64_t classes = c.logits.back();
  std::vector<number> values;
  for (std::size_t i = 0; i < targets.values.size(); ++i) {
    const std::int64_t drawn =
        static_cast<std::int64_t>(s.generator()() % static_cast<std::uint64_t>(classes));
    values.emplace_back(static_cast<double>(i % 5 == 3   ? c.ignored
                                            : i % 5 == 4 ? (i % 2 == 0 ? classes : -7)
                                                         : drawn));
  }
  s.fill(targets, values);
}

/// PyTorch's documented losses of rows with these targets, and their derivatives.
struct reference_losses {
  reals losses;
  reals slopes;
  double total = 0;

  [[nodiscard]] double mean() const {
    return std::accumulate(losses.begin(), losses.end(), 0.0) / total;
  }
  void add_row(const reals& log_p, double target, const loss_case& c, const reals& weights,
               bool of_logits) {
    const auto classes = static_cast<double>(log_p.size());
    const bool ignored = target == static_cast<double>(c.ignored);
    const bool outside = target < 0 || target >= classes;
    const double own = outside ? NAN : weights[static_cast<std::size_t>(target)];
    if (!ignored && !outside) total += own;
    double sum = 0;
    for (std::size_t k = 0; k < log_p.size(); ++k)
      sum -= weights[k] * log_p[k];
    const double chosen = outside ? NAN : -log_p[static_cast<std::size_t>(target)];
    const double loss = (1 - c.smoothing) * own * chosen + c.smoothing / classes * sum;
    losses.push_back(ignored ? 0 : loss);
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t k = 0; k < log_p.size(); ++k) {
      const double p = of_logits ? std::exp(log_p[k]) : 0;
      const double hit = target == static_cast<double>(k) ? 1 : 0;
      const double slope =
          (1 - c.smoothing) * own * (p - hit) + c.smoothing / classes * (p * all - weights[k]);
      slopes.push_back(ignored ? 0 : outside ? NAN : slope);
    }
  }
  /// The gradient for dloss, a number for each row, by `divisor`.
  [[nodiscard]] reals gradient(const reals& dloss, double divisor) const {
    reals made;
    const std::size_t classes = losses.empty() ? 1 : slopes.size() / losses.size();
    for (std::size_t i = 0; i < slopes.size(); ++i)
      made.push_back(slopes[i] == 0 ? 0 : dloss[i / classes] * slopes[i] / divisor);
    return made;
  }
};

extents batch_of(const loss_case& c) { return {c.logits.begin(), c.logits.end() - 1}; }

TEST(ElementwiseCrossEntropy, AndItsGradientAreThoseOfTheDefinition) {
  for (const dtype type : norm_types) {
    for (const dtype target_type : {dtype::i32, dtype::i64}) {
      for (const loss_case& c : loss_cases()) {
        for (const bool in_place : {false, true}) {
          scene s;
          name_case(s, type, c.logits, in_place ? 1 : 0);
          const extents batch = batch_of(c);
          const std::int64_t classes = c.logits.back();
          auto& logits = s.tensor(type, c.logits, c.strides);
          auto& targets = s.tensor(target_type, batch, packed_strides(batch));
          draw_targets(s, targets, c);
          auto& loss = s.tensor(wide_type(type), batch, packed_strides(batch));
          auto& dloss = s.tensor(wide_type(type), batch, packed_strides(batch));
          const reals x = content(logits);
          reference_losses expected;
          for (std::size_t r = 0; r < targets.values.size(); ++r) {
            const auto first = r * static_cast<std::size_t>(classes);
            expected.add_row(log_softmax(x.data() + first, classes), content(targets)[r], c,
                             reals(static_cast<std::size_t>(classes), 1), true);
          }
          if (!in_place) {
            s.run(elementwise::cross_entropy{.logits = logits.view,
                                             .targets = targets.view,
                                             .loss = loss.view,
                                             .label_smoothing = c.smoothing,
                                             .ignore_index = c.ignored});
            expect_reals(s, loss, expected.losses);
          }
          auto& dlogits =
              in_place ? s.again(logits, logits.view) : s.tensor(type, c.logits, c.strides);
          s.run(elementwise::cross_entropy_backward{.logits = logits.view,
                                                    .targets = targets.view,
                                                    .dloss = dloss.view,
                                                    .dlogits = dlogits.view,
                                                    .label_smoothing = c.smoothing,
                                                    .ignore_index = c.ignored});
          expect_reals(s, dlogits, expected.gradient(content(dloss), 1));
        }
      }
    }
  }
}

/// With class 0 for targets that are no class.
std::vector<number> within(std::vector<number> targets, const loss_case& c) {
  for (number& one : targets) {
    const double t = one.real();
    const bool outside = t < 0 || t >= static_cast<double>(c.logits.back());
    if (outside && t != static_cast<double>(c.ignored)) one = 0;
  }
  return targets;
}
/// So that a total is far from 0.
std::vector<number> positive(std::vector<number> weights) {
  for (number& one : weights)
    one = 0.25 + std::abs(one.real());
  return weights;
}

/// Runs a loss and its gradient, with its total and its mean. `outside`: some targets are no class.
template <class Loss, class Backward>
void run_averaged(dtype type, const loss_case& c, bool weighted, bool outside) {
  constexpr bool of_logits = requires(Loss r) { r.logits; };
  scene s;
  name_case(s, type, c.logits, (weighted ? 1 : 0) + (of_logits ? 2 : 0) + (outside ? 4 : 0));
  const extents batch = batch_of(c);
  const std::int64_t classes = c.logits.back();
  const dtype wide = wide_type(type);
  auto& x = s.tensor(type, c.logits, c.strides);
  auto& targets = s.tensor(weighted ? dtype::i32 : dtype::i64, batch, packed_strides(batch));
  draw_targets(s, targets, c);
  if (!outside) s.fill(targets, within(targets.values, c));
  auto& weights = s.vector(wide, classes);
  s.fill(weights, positive(weights.values));
  auto& loss = s.tensor(wide, batch, packed_strides(batch));
  auto& total = s.vector(wide, 1);
  auto& mean = s.vector(wide, 1);
  const reals elements = content(x);
  const reals all_weights =
      weighted ? content(weights) : reals(static_cast<std::size_t>(classes), 1);
  reference_losses expected;
  double magnitude = 1;
  for (std::size_t r = 0; r < targets.values.size(); ++r) {
    const double* const row = elements.data() + r * static_cast<std::size_t>(classes);
    expected.add_row(of_logits ? log_softmax(row, classes) : reals(row, row + classes),
                     content(targets)[r], c, all_weights, of_logits);
    magnitude += std::abs(std::isnan(expected.losses.back()) ? 0 : expected.losses.back());
  }
  Loss r{.targets = targets.view,
         .loss = loss.view,
         .ignore_index = c.ignored,
         .total = total.view,
         .mean = mean.view};
  Backward b{.targets = targets.view, .ignore_index = c.ignored, .total = total.view};
  if (weighted) r.weights = b.weights = weights.view;
  auto& dmean = s.vector(wide, 1);
  const extents none(batch.size(), 0);
  b.dloss = s.again(dmean, dmean.view.as_strided(shape(batch), none).value()).view;
  auto& dx = s.tensor(type, c.logits, c.strides);
  if constexpr (of_logits) {
    r.logits = b.logits = x.view;
    r.label_smoothing = b.label_smoothing = c.smoothing;
    b.dlogits = dx.view;
  } else {
    r.x = x.view;
    b.dx = dx.view;
  }
  s.run(r);
  expect_reals(s, loss, expected.losses, magnitude);
  if (!outside)
    expect_reals(s, total, {expected.total}, static_cast<double>(expected.losses.size()));
  expect_reals(s, mean, {expected.mean()}, magnitude / std::abs(expected.total));
  s.fill(total, number(expected.total));
  s.run(b);
  const reals upstream(expected.losses.size(), content(dmean)[0]);
  expect_reals(s, dx, expected.gradient(upstream, expected.total), 1 / std::abs(expected.total));
}

TEST(ElementwiseCrossEntropy, WeighsClassesAndAveragesOverTargetsThatCount) {
  for (const dtype type : norm_types) {
    for (loss_case c : loss_cases()) {
      for (const bool weighted : {false, true}) {
        for (const bool outside : {false, true}) {
          run_averaged<elementwise::cross_entropy, elementwise::cross_entropy_backward>(
              type, c, weighted, outside);
          if (c.smoothing != 0) continue;
          run_averaged<elementwise::nll_loss, elementwise::nll_loss_backward>(type, c, weighted,
                                                                              outside);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(ElementwiseCrossEntropy, TakesLogitsThatAreExcluded) {
  scene s;
  auto& logits = s.tensor(dtype::f32, {1, 3}, {3, 1});
  s.fill(logits, {1, -std::numeric_limits<double>::infinity(), 1});
  auto& targets = s.vector(dtype::i32, 1);
  s.fill(targets, number(2));
  auto& loss = s.vector(dtype::f32, 1);
  s.run(elementwise::cross_entropy{
      .logits = logits.view, .targets = targets.view, .loss = loss.view});
  expect_reals(s, loss, {std::log(2.0)});
}

TEST(ElementwiseCrossEntropy, RefusesWhatDoesNotFit) {
  scene s;
  auto& logits = s.tensor(dtype::f16, {2, 3}, {3, 1});
  auto& targets = s.vector(dtype::i32, 2);
  auto& loss = s.vector(dtype::f16, 2);
  s.refuse(
      elementwise::cross_entropy{.logits = logits.view, .targets = targets.view, .loss = loss.view},
      errc::type_mismatch);
  auto& wide = s.vector(dtype::f32, 2);
  s.refuse(elementwise::cross_entropy{.logits = logits.view,
                                      .targets = targets.view,
                                      .loss = wide.view,
                                      .label_smoothing = 1.5},
           errc::invalid_argument, "label_smoothing");
  auto& one = s.vector(dtype::f32, 1);
  s.refuse(
      elementwise::cross_entropy{
          .logits = logits.view, .targets = targets.view, .loss = wide.view, .mean = one.view},
      errc::invalid_argument, "mean");
  s.refuse(
      elementwise::nll_loss{
          .x = logits.view, .targets = targets.view, .loss = wide.view, .weights = wide.view},
      errc::shape_mismatch, "weights");
}

}  // namespace
}  // namespace troupe::conformance
