#include "plane_map.hpp"

#include <troupe/dnn/batch_norm.hpp>

#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace troupe::conformance {
namespace {

using reals = std::vector<double>;

struct norm_case {
  dtype type = dtype::f32;
  dtype weight_type = dtype::f32;
  std::int64_t n = 2;
  std::int64_t c = 3;
  numbers space{};
  image_order order = image_order::channels_first;
  bool weight = true;
  bool bias = true;
  bool running = true;
  bool in_place = false;
  double offset = 0;  ///< moves x's mean far from 0

  [[nodiscard]] dtype statistics() const { return type == dtype::f64 ? dtype::f64 : dtype::f32; }
  [[nodiscard]] numbers extents() const { return image_extents(n, c, space); }
  [[nodiscard]] std::int64_t elements() const { return n * product_of(space); }
  [[nodiscard]] std::size_t channel_of(std::size_t i) const {
    return i / static_cast<std::size_t>(product_of(space)) % static_cast<std::size_t>(c);
  }
  [[nodiscard]] std::string text() const {
    return std::string(to_string(type)) + " weights " + to_string(weight_type).data() + " " +
           text_of_numbers(extents()) + " order " + std::to_string(static_cast<int>(order)) +
           (weight ? " weight" : "") + (bias ? " bias" : "") + (running ? " running" : "") +
           (in_place ? " in place" : "") + " offset " + std::to_string(offset);
  }
};

norm_case random_norm(std::mt19937_64& random, dtype type) {
  const auto from = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  norm_case c{.type = type, .weight_type = type};
  if (size_of(type) == 2 && from(0, 1) == 0) c.weight_type = dtype::f32;
  c.n = from(0, 9) == 0 ? 0 : from(1, 5);
  constexpr std::int64_t channels[] = {1, 2, 5, 8, 16, 64, 33};
  c.c = channels[from(0, 6)];
  const std::int64_t space = from(0, 3);
  for (std::int64_t d = 0; d < space; ++d)
    c.space.push_back(from(1, space == 1 ? 70 : space == 2 ? 13 : 5));
  c.order = c.space.empty() ? image_order::channels_first : image_orders[from(0, 2)];
  c.weight = from(0, 1) == 0;
  c.bias = from(0, 1) == 0;
  c.running = from(0, 1) == 0;
  c.in_place = from(0, 2) == 0;
  c.offset = from(0, 2) == 0 ? 100 : 0;
  return c;
}

struct channel_statistics {
  reals mean, variance, square;  ///< square: E[x²]
};
channel_statistics statistics_of(const norm_case& c, const reals& x) {
  const auto channels = static_cast<std::size_t>(c.c);
  channel_statistics made{reals(channels), reals(channels), reals(channels)};
  const auto count = static_cast<double>(c.elements());
  for (std::size_t i = 0; i < x.size(); ++i) {
    made.mean[c.channel_of(i)] += x[i] / count;
    made.square[c.channel_of(i)] += x[i] * x[i] / count;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double apart = x[i] - made.mean[c.channel_of(i)];
    made.variance[c.channel_of(i)] += apart * apart / count;
  }
  return made;
}

void add_offset(scene& s, test_tensor& t, double offset) {
  std::vector<number> values = t.values;
  for (number& v : values)
    v += offset;
  s.fill(t, values);
}
reals numbers_or(const test_tensor* t, double otherwise, std::int64_t channels) {
  return t == nullptr ? reals(static_cast<std::size_t>(channels), otherwise) : reals_of(t->values);
}
test_tensor& positive(scene& s, test_tensor& t) {
  std::vector<number> values = t.values;
  for (number& v : values)
    v = std::abs(v) + 0.1;
  s.fill(t, values);
  return t;
}

void run_training(const norm_case& c) {
  scene s;
  s.name("training " + c.text());
  auto& x = image_tensor(s, c.type, c.extents(), c.order);
  add_offset(s, x, c.offset);
  auto& y = c.in_place ? x : image_tensor(s, c.type, c.extents(), c.order);
  auto& mean = s.vector(c.statistics(), c.c, 2);
  auto& rstd = s.vector(c.statistics(), c.c);
  test_tensor* const weight = c.weight ? &s.vector(c.weight_type, c.c, 3) : nullptr;
  test_tensor* const bias = c.bias ? &s.vector(c.weight_type, c.c) : nullptr;
  test_tensor* const running_mean = c.running ? &s.vector(c.statistics(), c.c) : nullptr;
  test_tensor* const running_variance = c.running ? &s.vector(c.statistics(), c.c, 2) : nullptr;
  dnn::batch_norm_training r{.x = x.view, .y = y.view, .mean = mean.view, .rstd = rstd.view};
  if (c.weight) r.weight = weight->view;
  if (c.bias) r.bias = bias->view;
  if (c.running) {
    r.running_mean = running_mean->view;
    r.running_variance = running_variance->view;
    r.momentum = 0.25;
  }
  r.eps = 1e-3;
  const reals elements = reals_of(x.values);
  s.run(r);
  const channel_statistics expected = statistics_of(c, elements);
  const auto mean_now = s.elements_now(mean);
  const auto rstd_now = s.elements_now(rstd);
  const auto channels = static_cast<std::size_t>(c.c);
  reals scale(channels);
  reals spread(channels);  // relative, of what the variance may be off by
  for (std::size_t i = 0; i < channels; ++i) {
    if (c.elements() == 0) {
      ASSERT_TRUE(std::isnan(mean_now[i].real()) && std::isnan(rstd_now[i].real())) << s.note();
      if (c.running) {
        EXPECT_EQ(s.elements_now(*running_mean), running_mean->values) << s.note();
        EXPECT_EQ(s.elements_now(*running_variance), running_variance->values) << s.note();
      }
      continue;
    }
    const double variance = expected.variance[i];
    const double deviation = 1 / std::sqrt(variance + r.eps);
    // The mean is rounded, and each element's distance from it.
    const double root = std::sqrt(expected.square[i]);
    spread[i] = 1 + deviation * deviation * root * std::sqrt(variance);
    const double second_order = root * root * std::numeric_limits<float>::epsilon();
    spread[i] += deviation * deviation * second_order;
    scale[i] = deviation;
    s.expect_near(c.statistics(), mean_now[i], expected.mean[i], root, c.elements(), c.statistics(),
                  "mean " + std::to_string(i));
    s.expect_near(c.statistics(), rstd_now[i], deviation, deviation * spread[i], c.elements(),
                  c.statistics(), "rstd " + std::to_string(i));
    if (!c.running) continue;
    const auto m = static_cast<double>(c.elements());
    const double unbiased = m > 1 ? variance * m / (m - 1) : variance;
    s.expect_near(c.statistics(), s.elements_now(*running_mean)[i],
                  0.75 * running_mean->values[i].real() + 0.25 * expected.mean[i], 1 + root,
                  c.elements(), c.statistics(), "running mean");
    s.expect_near(c.statistics(), s.elements_now(*running_variance)[i],
                  0.75 * running_variance->values[i].real() + 0.25 * unbiased,
                  1 + (variance + r.eps) * spread[i] * 2, c.elements(), c.statistics(),
                  "running variance");
  }
  const reals weights = numbers_or(weight, 1, c.c);
  const reals biases = numbers_or(bias, 0, c.c);
  const auto now = s.elements_now(y);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::size_t k = c.channel_of(i);
    const double unit = (elements[i] - expected.mean[k]) * scale[k];
    const double bound = std::abs(weights[k]) * (std::abs(unit) * spread[k] +
                                                 scale[k] * std::sqrt(expected.square[k])) +
                         std::abs(biases[k]);
    s.expect_near(c.type, now[i], unit * weights[k] + biases[k], bound, c.elements(),
                  c.statistics(), "element " + std::to_string(i));
    if (testing::Test::HasFailure()) return;
  }
}

void run_inference(const norm_case& c) {
  scene s;
  s.name("inference " + c.text());
  auto& x = image_tensor(s, c.type, c.extents(), c.order);
  auto& y = c.in_place ? x : image_tensor(s, c.type, c.extents(), c.order);
  auto& mean = s.vector(c.statistics(), c.c, 2);
  auto& variance = positive(s, s.vector(c.statistics(), c.c));
  test_tensor* const weight = c.weight ? &s.vector(c.weight_type, c.c) : nullptr;
  test_tensor* const bias = c.bias ? &s.vector(c.weight_type, c.c, 2) : nullptr;
  dnn::batch_norm_inference r{
      .x = x.view, .mean = mean.view, .variance = variance.view, .y = y.view};
  if (c.weight) r.weight = weight->view;
  if (c.bias) r.bias = bias->view;
  const reals elements = reals_of(x.values);
  s.run(r);
  const reals weights = numbers_or(weight, 1, c.c);
  const reals biases = numbers_or(bias, 0, c.c);
  const auto now = s.elements_now(y);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::size_t k = c.channel_of(i);
    const double scale = weights[k] / std::sqrt(variance.values[k].real() + r.eps);
    const double center = mean.values[k].real();
    s.expect_near(
        c.type, now[i], (elements[i] - center) * scale + biases[k],
        (std::abs(elements[i]) + std::abs(center)) * std::abs(scale) + std::abs(biases[k]), 4,
        c.statistics(), "element " + std::to_string(i));
    if (testing::Test::HasFailure()) return;
  }
}

void run_backward(const norm_case& c, int written) {
  scene s;
  s.name("backward " + c.text() + " written " + std::to_string(written));
  auto& x = image_tensor(s, c.type, c.extents(), c.order);
  auto& dy = image_tensor(s, c.type, c.extents(), c.order);
  auto& dx = written == 1 ? x : written == 2 ? dy : image_tensor(s, c.type, c.extents(), c.order);
  auto& mean = s.vector(c.statistics(), c.c);
  auto& rstd = positive(s, s.vector(c.statistics(), c.c, 2));
  test_tensor* const weight = c.weight ? &s.vector(c.weight_type, c.c) : nullptr;
  test_tensor* const dweight = c.bias ? &s.vector(c.weight_type, c.c, 2) : nullptr;
  test_tensor* const dbias = c.running ? &s.vector(c.weight_type, c.c) : nullptr;
  dnn::batch_norm_backward r{
      .x = x.view, .dy = dy.view, .mean = mean.view, .rstd = rstd.view, .dx = dx.view};
  if (weight != nullptr) r.weight = weight->view;
  if (dweight != nullptr) r.dweight = dweight->view;
  if (dbias != nullptr) r.dbias = dbias->view;
  const reals elements = reals_of(x.values);
  const reals gradients = reals_of(dy.values);
  s.run(r);
  const auto channels = static_cast<std::size_t>(c.c);
  reals sum(channels), product(channels), all_sum(channels), all_product(channels);
  const auto unit = [&](std::size_t i) {
    const std::size_t k = c.channel_of(i);
    return (elements[i] - mean.values[k].real()) * rstd.values[k].real();
  };
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::size_t k = c.channel_of(i);
    sum[k] += gradients[i];
    product[k] += gradients[i] * unit(i);
    all_sum[k] += std::abs(gradients[i]);
    all_product[k] += std::abs(gradients[i]) * rstd.values[k].real() *
                      (std::abs(elements[i]) + std::abs(mean.values[k].real()));
  }
  for (std::size_t k = 0; k < channels; ++k) {
    if (dweight != nullptr) {
      s.expect_near(c.weight_type, s.elements_now(*dweight)[k], product[k], all_product[k],
                    c.elements(), c.statistics(), "dweight " + std::to_string(k));
    }
    if (dbias != nullptr) {
      s.expect_near(c.weight_type, s.elements_now(*dbias)[k], sum[k], all_sum[k], c.elements(),
                    c.statistics(), "dbias " + std::to_string(k));
    }
  }
  const reals weights = numbers_or(weight, 1, c.c);
  const auto m = static_cast<double>(c.elements());
  const auto now = s.elements_now(dx);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::size_t k = c.channel_of(i);
    const double scale = weights[k] * rstd.values[k].real();
    const double spread =
        (std::abs(elements[i]) + std::abs(mean.values[k].real())) * rstd.values[k].real();
    s.expect_near(
        c.type, now[i], scale * (gradients[i] - sum[k] / m - unit(i) * product[k] / m),
        std::abs(scale) * (std::abs(gradients[i]) + all_sum[k] / m + spread * all_product[k] / m),
        c.elements(), c.statistics(), "element " + std::to_string(i));
    if (testing::Test::HasFailure()) return;
  }
}

constexpr int random_batch_norms = 80;  // for each type

TEST(DnnBatchNorm, TrainsWithRunningStatistics) {
  std::mt19937_64 random(test_seed());
  for (const dtype type : image_types) {
    for (int i = 0; i < random_batch_norms; ++i) {
      run_training(random_norm(random, type));
      if (HasFailure()) return;
    }
  }
}
TEST(DnnBatchNorm, InfersByGivenStatistics) {
  std::mt19937_64 random(test_seed());
  for (const dtype type : image_types) {
    for (int i = 0; i < random_batch_norms; ++i) {
      run_inference(random_norm(random, type));
      if (HasFailure()) return;
    }
  }
}
TEST(DnnBatchNorm, GivesGradients) {
  std::mt19937_64 random(test_seed());
  for (const dtype type : image_types) {
    for (int i = 0; i < random_batch_norms; ++i) {
      run_backward(random_norm(random, type), i % 3);
      if (HasFailure()) return;
    }
  }
}

// More than a block of threads, or a part of a sum, takes.
TEST(DnnBatchNorm, WorksOnLargerImages) {
  for (const dtype type : image_types) {
    for (const image_order order : {image_order::channels_first, image_order::channels_last}) {
      for (const std::int64_t side : {7, 28, 50}) {
        const norm_case c{.type = type,
                          .weight_type = type,
                          .n = 5,
                          .c = 24,
                          .space = {side, side},
                          .order = order,
                          .offset = 3};
        run_training(c);
        run_inference(c);
        run_backward(c, 0);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(DnnBatchNorm, LosesNothingFarFromZero) {
  for (const auto& [type, offset, most] :
       {std::tuple{dtype::f32, 1e5, 2e-6}, {dtype::f64, -1e12, 1e-13}}) {
    for (const image_order order : image_orders) {
      for (const auto& [channels, side] : {std::pair{5, 8}, {24, 28}, {3, 1}, {33, 40}}) {
        const norm_case c{.type = type,
                          .n = 4,
                          .c = channels,
                          .space = {side, side},
                          .order = order,
                          .offset = offset};
        scene s;
        s.name("far from zero " + c.text());
        auto& x = image_tensor(s, type, c.extents(), order);
        add_offset(s, x, offset);
        auto& y = image_tensor(s, type, c.extents(), order);
        auto& mean = s.vector(type, c.c);
        auto& rstd = s.vector(type, c.c);
        auto& weight = s.vector(type, c.c);
        reals apart = reals_of(x.values);
        for (double& one : apart)
          one -= offset;
        s.run(dnn::batch_norm_training{.x = x.view,
                                       .weight = weight.view,
                                       .y = y.view,
                                       .mean = mean.view,
                                       .rstd = rstd.view,
                                       .eps = 0});
        const channel_statistics of = statistics_of(c, apart);
        const auto found = s.elements_now(rstd);
        for (std::size_t k = 0; k < found.size(); ++k) {
          const double expected = 1 / std::sqrt(of.variance[k]);
          EXPECT_NEAR(found[k].real(), expected, most * expected) << s.note();
        }
        const auto now = s.elements_now(y);
        for (std::size_t i = 0; i < now.size(); ++i) {
          const std::size_t k = c.channel_of(i);
          const double unit = (apart[i] - of.mean[k]) / std::sqrt(of.variance[k]);
          ASSERT_NEAR(now[i].real(), unit * weight.values[k].real(), 4 * most) << s.note();
        }
      }
    }
  }
}

// The outputs of training are the inputs of backward, so that together they are the function's
// gradient.
TEST(DnnBatchNorm, HasTheGradientOfItsDifferences) {
  const norm_case c{.type = dtype::f64, .n = 3, .c = 2, .space = {2, 3}};
  scene s;
  auto& x = image_tensor(s, dtype::f64, c.extents(), c.order);
  auto& dy = image_tensor(s, dtype::f64, c.extents(), c.order);
  auto& y = image_tensor(s, dtype::f64, c.extents(), c.order);
  auto& dx = image_tensor(s, dtype::f64, c.extents(), c.order);
  auto& mean = s.vector(dtype::f64, c.c);
  auto& rstd = s.vector(dtype::f64, c.c);
  s.run(dnn::batch_norm_training{.x = x.view, .y = y.view, .mean = mean.view, .rstd = rstd.view});
  s.fill(mean, s.elements_now(mean));
  s.fill(rstd, s.elements_now(rstd));
  s.run(dnn::batch_norm_backward{
      .x = x.view, .dy = dy.view, .mean = mean.view, .rstd = rstd.view, .dx = dx.view});
  const reals expected = gradient_by_differences(
      [&](const reals& at) {
        const channel_statistics of = statistics_of(c, at);
        reals made(at.size());
        for (std::size_t i = 0; i < at.size(); ++i) {
          const std::size_t k = c.channel_of(i);
          made[i] = (at[i] - of.mean[k]) / std::sqrt(of.variance[k] + 1e-5);
        }
        return made;
      },
      reals_of(x.values), reals_of(dy.values));
  const auto now = s.elements_now(dx);
  for (std::size_t i = 0; i < now.size(); ++i)
    EXPECT_NEAR(now[i].real(), expected[i], 1e-7) << s.note();
}

}  // namespace
}  // namespace troupe::conformance
