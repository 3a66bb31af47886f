#include "conformance/dnn/attention/attention_reference.hpp"
#include "conformance/scene.hpp"

#include <troupe/dnn/sampling.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace troupe::conformance {
namespace {

using reals = std::vector<double>;

/// The parameters of one row.
struct draw_of {
  double temperature = 1;
  double top_k = 0;
  double top_p = 1;
  double min_p = 0;
  double seed = 0;
  double position = 0;
};

/// The tokens that a row may draw, in f64. Numbers that decide may be a little to either side.
class reference_draw {
 public:
  reference_draw(reals x, const draw_of& p)
      : x_(std::move(x)), p_(p), largest_(*std::ranges::max_element(x_)) {}

  /// Expects that `token` is one that may be drawn, and that no better one surely may.
  void expect(std::int64_t token, const std::string& note) const {
    ASSERT_GE(token, 0) << note;
    ASSERT_LT(token, std::ssize(x_)) << note;
    const auto at = static_cast<std::size_t>(token);
    if (p_.temperature == 0) {
      const auto first = std::ranges::find(x_, largest_) - x_.begin();
      EXPECT_EQ(token, first) << note;
      return;
    }
    EXPECT_GE(x_[at], least(1 + margin)) << note << " token " << token << " was filtered out";
    double best = score(at);
    std::size_t better = at;
    const double surely = least(1 - margin);
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (x_[i] < surely || score(i) <= best) continue;
      best = score(i);
      better = i;
    }
    const double allowed = 1e-4 + 1e-6 * std::abs((x_[at] - largest_) / p_.temperature);
    EXPECT_LE(best - score(at), allowed) << note << " token " << token << ", " << better;
  }

  [[nodiscard]] double logprob(std::int64_t token) const {
    double sum = 0;
    for (const double x : x_)
      sum += std::exp(x - largest_);
    return x_[static_cast<std::size_t>(token)] - largest_ - std::log(sum);
  }

 private:
  static constexpr double margin = 1e-5;

  [[nodiscard]] double weight(double x) const { return std::exp((x - largest_) / p_.temperature); }
  [[nodiscard]] double score(std::size_t i) const {
    const std::uint32_t word = attention_reference::philox_word(
        static_cast<std::uint64_t>(p_.seed), i, static_cast<std::uint64_t>(p_.position));
    const double u = (std::floor(word / 512.0) + 0.5) / 8388608;
    return (x_[i] - largest_) / p_.temperature - std::log(-std::log(u));
  }

  /// The smallest logit that the filters leave, with their shares larger or smaller by a factor.
  [[nodiscard]] double least(double factor) const {
    reals sorted = x_;
    std::ranges::sort(sorted, std::greater());
    if (p_.top_k > 0 && p_.top_k < static_cast<double>(sorted.size())) {
      const double kth = sorted[static_cast<std::size_t>(p_.top_k) - 1];
      std::erase_if(sorted, [&](double x) { return x < kth; });
    }
    double last = sorted.back();
    if (p_.top_p < 1) {
      double sum = 0;
      for (const double x : sorted)
        sum += weight(x);
      double left = sum * std::min(1.0, p_.top_p * factor);
      for (const double x : sorted) {
        last = x;
        left -= weight(x);
        if (left <= 0) break;
      }
    }
    if (p_.min_p > 0) {
      for (const double x : sorted) {
        if (x < last) break;
        if (weight(x) < p_.min_p / factor) return std::nextafter(x, largest_);
      }
    }
    return last;
  }

  reals x_;
  draw_of p_;
  double largest_;
};

/// The operands of a request with all parameters.
struct sampled {
  sampled(scene& s, dtype type, std::int64_t n, const std::vector<draw_of>& of)
      : rows(std::ssize(of)),
        x(s.tensor(type, {rows, n}, strides_of(type, rows, n))),
        tokens(s.vector(dtype::i32, rows)),
        logprobs(s.vector(dtype::f32, rows)),
        r{.x = x.view, .tokens = tokens.view, .logprobs = logprobs.view} {
    const auto column = [&](dtype t, double draw_of::* field) {
      auto& made = s.vector(t, rows);
      std::vector<number> values;
      for (const draw_of& one : of)
        values.emplace_back(one.*field);
      s.fill(made, values);
      return made.view;
    };
    r.temperature = column(dtype::f32, &draw_of::temperature);
    r.top_k = column(dtype::i32, &draw_of::top_k);
    r.top_p = column(dtype::f32, &draw_of::top_p);
    r.min_p = column(dtype::f32, &draw_of::min_p);
    r.seeds = column(dtype::u64, &draw_of::seed);
    r.positions = column(dtype::i64, &draw_of::position);
  }

  /// A layout for each type: packed, with gaps, by columns.
  [[nodiscard]] static std::vector<std::int64_t> strides_of(dtype type, std::int64_t rows,
                                                            std::int64_t n) {
    if (type == dtype::f32) return {n, 1};
    if (type == dtype::f16) return {2 * n + 1, 2};
    return {1, rows};
  }

  [[nodiscard]] reals row(std::int64_t i) const {
    const std::int64_t n = x.view.extent(1);
    reals made;
    for (std::int64_t j = i * n; j < (i + 1) * n; ++j)
      made.push_back(x.values[static_cast<std::size_t>(j)].real());
    return made;
  }

  std::int64_t rows;
  test_tensor& x;
  test_tensor& tokens;
  test_tensor& logprobs;
  dnn::sample_rows r;
};

double real_at(const std::vector<number>& all, std::int64_t i) {
  return all[static_cast<std::size_t>(i)].real();
}

constexpr dtype logit_types[] = {dtype::f32, dtype::f16, dtype::bf16};

// Parameters that f32 has exactly, so that both sides compute with the same ones.
draw_of random_draw(std::mt19937_64& random) {
  const auto one_of = [&](auto... values) {
    const std::array all{static_cast<double>(values)...};
    return all[random() % all.size()];
  };
  return {.temperature = one_of(0, 0.5, 1, 1.5),
          .top_k = one_of(0, 0, 1, 3, 40, 5000),
          .top_p = one_of(1, 1, 0.25, 0.5, 0.9375),
          .min_p = one_of(0, 0, 0.03125, 0.5, 1),
          .seed = static_cast<double>(random() >> 12),
          .position = static_cast<double>(random() % 10000)};
}

TEST(DnnSampleRows, DrawsWhatTheDefinitionDraws) {
  std::mt19937_64 random(test_seed());
  for (const dtype type : logit_types) {
    for (const std::int64_t n : {1, 2, 7, 100, 3000}) {
      scene s;
      s.name(std::string(to_string(type)) + " n " + std::to_string(n));
      std::vector<draw_of> draws(24);
      std::ranges::generate(draws, [&] { return random_draw(random); });
      sampled all(s, type, n, draws);
      std::vector<number> logits;
      for (std::int64_t i = 0; i < all.rows * n; ++i)
        logits.emplace_back(6 * s.random(type).real());
      s.fill(all.x, logits);
      s.run(all.r);
      const auto tokens = s.elements_now(all.tokens);
      const auto logprobs = s.elements_now(all.logprobs);
      for (std::int64_t i = 0; i < all.rows && !HasFailure(); ++i) {
        const reference_draw reference(all.row(i), draws[static_cast<std::size_t>(i)]);
        const auto token = static_cast<std::int64_t>(real_at(tokens, i));
        reference.expect(token, s.note() + " row " + std::to_string(i));
        if (token >= 0) {
          EXPECT_NEAR(real_at(logprobs, i), reference.logprob(token), 1e-4) << s.note();
        }
      }
      if (HasFailure()) return;
    }
  }
}

TEST(DnnSampleRows, DrawsEachTokenAsOftenAsItIsLikely) {
  constexpr std::int64_t rows = 4096;
  constexpr std::array shares{0.5, 0.25, 0.125, 0.125};
  scene s;
  std::vector<draw_of> draws(rows);
  for (std::size_t i = 0; i < rows; ++i)
    draws[i] = {.seed = 7, .position = static_cast<double>(i)};
  sampled all(s, dtype::f32, shares.size(), draws);
  std::vector<number> logits;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (const double one : shares)
      logits.emplace_back(std::log(one));
  }
  s.fill(all.x, logits);
  s.run(all.r);
  std::array<double, shares.size()> counts{};
  for (const number& one : s.elements_now(all.tokens))
    ++counts.at(static_cast<std::size_t>(one.real()));
  double chi = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double expected = rows * shares[i];
    chi += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  EXPECT_LT(chi, 16.3) << "one seed in a thousand is beyond it, and this one is always the same";
}

TEST(DnnSampleRows, TakesTheFirstOfTheLargestWithoutParameters) {
  scene s;
  auto& x = s.tensor(dtype::f32, {2, 5}, {5, 1});
  s.fill(x, {1.0, 3.0, 3.0, -1.0, 2.0, -4.0, -4.0, -5.0, -4.0, -9.0});
  auto& tokens = s.vector(dtype::i32, 2);
  auto& temperature = s.vector(dtype::f32, 2);
  s.fill(temperature, 0.0);
  s.run(dnn::sample_rows{.x = x.view, .tokens = tokens.view, .temperature = temperature.view});
  const auto now = s.elements_now(tokens);
  EXPECT_EQ(now[0], number(1));
  EXPECT_EQ(now[1], number(0));
}

TEST(DnnSampleRows, GivesNoTokenForARowThatHasNone) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<draw_of> draws{{},
                                   {},
                                   {},
                                   {},
                                   {.temperature = -1},
                                   {.temperature = nan},
                                   {.top_p = 0},
                                   {.top_p = 1.5},
                                   {.min_p = -1},
                                   {.top_k = -1}};
  for (const bool greedy : {false, true}) {
    scene s;
    std::vector<draw_of> all_draws = draws;
    if (greedy) {
      for (std::size_t i = 0; i < 4; ++i)
        all_draws[i].temperature = 0;
    }
    sampled all(s, dtype::f32, 3, all_draws);
    std::vector<number> logits(static_cast<std::size_t>(all.rows) * 3, 0.0);
    logits[1] = nan;
    logits[4] = infinite;
    logits[6] = logits[7] = logits[8] = -infinite;
    logits[9] = logits[10] = -infinite;  // one is left
    s.fill(all.x, logits);
    s.run(all.r);
    const auto tokens = s.elements_now(all.tokens);
    const auto logprobs = s.elements_now(all.logprobs);
    for (std::int64_t i = 0; i < all.rows; ++i) {
      EXPECT_EQ(real_at(tokens, i), i == 3 ? 2 : -1) << i;
      EXPECT_EQ(std::isnan(real_at(logprobs, i)), i != 3) << i;
    }
  }
}

TEST(DnnSampleRows, RefusesWhatDoesNotGoTogether) {
  scene s;
  auto& x = s.tensor(dtype::f32, {2, 5}, {5, 1});
  auto& none = s.tensor(dtype::f32, {2, 0}, {1, 1});
  auto& tokens = s.vector(dtype::i32, 2);
  auto& three = s.vector(dtype::f32, 3);
  using dnn::sample_rows;
  s.refuse(sample_rows{.x = x.view, .tokens = tokens.view, .top_p = three.view},
           errc::shape_mismatch);
  s.refuse(sample_rows{.x = none.view, .tokens = tokens.view}, errc::shape_mismatch,
           "x must have elements in its rows");
  s.refuse(sample_rows{.x = x.view, .tokens = x.view}, errc::shape_mismatch);
  s.refuse(sample_rows{.x = x.view, .tokens = tokens.view, .seeds = tokens.view},
           errc::type_mismatch);
}

}  // namespace
}  // namespace troupe::conformance
