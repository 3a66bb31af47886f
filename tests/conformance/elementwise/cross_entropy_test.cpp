#include "named_cases.hpp"

#include <troupe/elementwise.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

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

TEST(ElementwiseCrossEntropy, AndItsGradientAreThoseOfTheDefinition) {
  for (const dtype type : norm_types) {
    for (const dtype target_type : {dtype::i32, dtype::i64}) {
      for (const loss_case& c : loss_cases()) {
        for (const bool in_place : {false, true}) {
          scene s;
          name_case(s, type, c.logits, in_place ? 1 : 0);
          const extents batch(c.logits.begin(), c.logits.end() - 1);
          const std::int64_t classes = c.logits.back();
          auto& logits = s.tensor(type, c.logits, c.strides);
          auto& targets = s.tensor(target_type, batch, packed_strides(batch));
          draw_targets(s, targets, c);
          auto& loss = s.tensor(wide_type(type), batch, packed_strides(batch));
          auto& dloss = s.tensor(wide_type(type), batch, packed_strides(batch));
          const reals x = content(logits);
          reals losses;
          reals gradient(x.size());
          for (std::size_t r = 0; r < targets.values.size(); ++r) {
            const auto first = r * static_cast<std::size_t>(classes);
            const reals log_p = log_softmax(x.data() + first, classes);
            const double target = content(targets)[r];
            const bool ignored = target == static_cast<double>(c.ignored);
            const bool outside = target < 0 || target >= static_cast<double>(classes);
            double mean = 0;
            for (const double one : log_p)
              mean += one / static_cast<double>(classes);
            const double chosen = outside ? NAN : log_p[static_cast<std::size_t>(target)];
            losses.push_back(ignored ? 0 : -(1 - c.smoothing) * chosen - c.smoothing * mean);
            for (std::size_t k = 0; k < log_p.size(); ++k) {
              const double hit = target == static_cast<double>(k) ? 1 - c.smoothing : 0;
              const double slope =
                  std::exp(log_p[k]) - hit - c.smoothing / static_cast<double>(classes);
              gradient[first + k] = ignored ? 0 : outside ? NAN : content(dloss)[r] * slope;
            }
          }
          if (!in_place) {
            s.run(elementwise::cross_entropy{.logits = logits.view,
                                             .targets = targets.view,
                                             .loss = loss.view,
                                             .label_smoothing = c.smoothing,
                                             .ignore_index = c.ignored});
            expect_reals(s, loss, losses);
          }
          auto& dlogits =
              in_place ? s.again(logits, logits.view) : s.tensor(type, c.logits, c.strides);
          s.run(elementwise::cross_entropy_backward{.logits = logits.view,
                                                    .targets = targets.view,
                                                    .dloss = dloss.view,
                                                    .dlogits = dlogits.view,
                                                    .label_smoothing = c.smoothing,
                                                    .ignore_index = c.ignored});
          expect_reals(s, dlogits, gradient);
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
}

}  // namespace
}  // namespace troupe::conformance
