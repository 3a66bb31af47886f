#include "named_cases.hpp"

#include <troupe/elementwise.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

namespace troupe::conformance {
namespace {

using namespace elementwise_reference;

/// A norm as loops see it: rows of elements, and the channel of each element.
struct norm_loops {
  std::vector<std::vector<std::size_t>> rows;
  std::vector<std::size_t> channel;
  bool centered = true;
};
struct norm_results {
  reals y;
  reals mean;
  reals rstd;
};
struct gradients {
  reals dx;
  reals dweight;
  reals dbias;
};

norm_results normalized(const norm_loops& n, const reals& x, const reals& weight, const reals& bias,
                        double eps) {
  norm_results made{reals(x.size()), {}, {}};
  for (const auto& row : n.rows) {
    const auto count = static_cast<double>(row.size());
    double mean = 0;
    for (const std::size_t i : row)
      mean += n.centered ? x[i] / count : 0;
    double square = 0;
    for (const std::size_t i : row)
      square += (x[i] - mean) * (x[i] - mean) / count;
    const double rstd = 1 / std::sqrt(square + eps);
    for (const std::size_t i : row) {
      made.y[i] = (x[i] - mean) * rstd * (weight.empty() ? 1 : weight[n.channel[i]]) +
                  (bias.empty() ? 0 : bias[n.channel[i]]);
    }
    made.mean.push_back(mean);
    made.rstd.push_back(rstd);
  }
  return made;
}

gradients gradients_of(const norm_loops& n, const reals& x, const reals& dy, const reals& mean,
                       const reals& rstd, const reals& weight, std::size_t channels) {
  gradients made{reals(x.size()), reals(channels), reals(channels)};
  for (std::size_t r = 0; r < n.rows.size(); ++r) {
    const auto& row = n.rows[r];
    const auto count = static_cast<double>(row.size());
    const auto unit = [&](std::size_t i) { return (x[i] - (n.centered ? mean[r] : 0)) * rstd[r]; };
    const auto g = [&](std::size_t i) {
      return dy[i] * (weight.empty() ? 1 : weight[n.channel[i]]);
    };
    double along = 0;
    double sum = 0;
    for (const std::size_t i : row) {
      along += g(i) * unit(i) / count;
      sum += n.centered ? g(i) / count : 0;
      made.dweight[n.channel[i]] += dy[i] * unit(i);
      made.dbias[n.channel[i]] += dy[i];
    }
    for (const std::size_t i : row)
      made.dx[i] = rstd[r] * (g(i) - sum - unit(i) * along);
  }
  return made;
}

/// The differences between norms: shapes, and how a request is made of its tensors.
struct shapes {
  tensor_case x;
  extents statistics;
  std::int64_t channels;
  std::int64_t groups;
};

norm_loops loops_along_last(const shapes& c, bool centered) {
  const auto last = static_cast<std::int64_t>(c.x.size.size()) - 1;
  norm_loops made{rows_of(c.x.size, {last}), {}, centered};
  for (const auto& row : made.rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      made.channel.push_back(i);
  }
  return made;
}
norm_loops loops_over_groups(const shapes& c) {
  extents size = {c.x.size[0], c.groups, c.channels / c.groups};
  size.insert(size.end(), c.x.size.begin() + 2, c.x.size.end());
  extents axes;
  std::int64_t space = 1;
  for (std::size_t d = 2; d < size.size(); ++d)
    axes.push_back(static_cast<std::int64_t>(d));
  for (std::size_t d = 3; d < size.size(); ++d)
    space *= size[d];
  norm_loops made{rows_of(size, axes), {}, true};
  const std::int64_t count = c.x.size[0] * c.channels * space;
  for (std::int64_t i = 0; i < count; ++i)
    made.channel.push_back(static_cast<std::size_t>(i / space % c.channels));
  return made;
}

std::vector<shapes> last_shapes() {
  return {{{{1}, {1}, 0}, {}, 1, 0},
          {{{3, 1025}, {1030, 1}, 0}, {3}, 1025, 0},
          {{{2, 5, 17}, {200, 40, 2}, 0}, {2, 5}, 17, 0},
          {{{7, 6}, {1, 8}, 0}, {7}, 6, 0},
          {{{0, 4}, {4, 1}, 0}, {0}, 4, 0}};
}
std::vector<shapes> grouped_shapes(bool each_channel) {
  return {{{{1, 1}, {1, 1}, 0}, {1, 1}, 1, 1},
          {{{2, 6}, {6, 1}, 0}, {2, each_channel ? 6 : 3}, 6, each_channel ? 6 : 3},
          {{{2, 4, 5}, {40, 10, 2}, 0}, {2, each_channel ? 4 : 2}, 4, each_channel ? 4 : 2},
          {{{3, 6, 7, 9}, {378, 1, 54, 6}, 0}, {3, each_channel ? 6 : 2}, 6, each_channel ? 6 : 2},
          {{{2, 2, 33, 31}, {2046, 1023, 31, 1}, 0},
           {2, each_channel ? 2 : 1},
           2,
           each_channel ? 2 : 1}};
}

/// The tensors of one case. Null ones are not given.
struct operands {
  any_tensor x{};
  any_tensor weight{};
  any_tensor bias{};
  any_tensor y{};
  any_tensor mean{};
  any_tensor rstd{};
  any_tensor dy{};
  any_tensor dx{};
  any_tensor dweight{};
  any_tensor dbias{};
  std::int64_t groups = 0;
  double eps = 0;
};
using run_case = std::function<void(scene&, const operands&)>;

test_tensor& vector_of(scene& s, dtype type, std::int64_t n) { return s.vector(type, n); }

void check_forward(const shapes& c, const norm_loops& loops, const run_case& run, bool has_bias) {
  constexpr double eps = 0.125;
  for (const dtype type : norm_types) {
    for (const bool wide : {false, true}) {
      if (wide && wide_type(type) == type) continue;
      for (int given = 0; given < 16; ++given) {
        const bool weight = (given & 1) != 0;
        const bool bias = (given & 2) != 0;
        const bool statistics = (given & 4) != 0;
        const bool in_place = (given & 8) != 0;
        if (bias && !has_bias) continue;
        scene s;
        name_case(s, type, c.x.size, given + (wide ? 16 : 0));
        const dtype weight_type = wide ? dtype::f32 : type;
        auto& x = tensor_of(s, type, c.x);
        auto& w = vector_of(s, weight_type, c.channels);
        auto& b = vector_of(s, weight_type, c.channels);
        auto& y = in_place ? s.again(x, x.view) : tensor_of(s, type, c.x);
        auto& mean = s.tensor(wide_type(type), c.statistics, packed_strides(c.statistics));
        auto& rstd = s.tensor(wide_type(type), c.statistics, packed_strides(c.statistics));
        operands all{.x = x.view, .y = y.view, .groups = c.groups, .eps = eps};
        if (weight) all.weight = w.view;
        if (bias) all.bias = b.view;
        if (statistics) all.mean = mean.view, all.rstd = rstd.view;
        run(s, all);
        const norm_results wanted = normalized(loops, content(x), weight ? content(w) : reals(),
                                               bias ? content(b) : reals(), eps);
        expect_reals(s, y, wanted.y, 4);
        if (!statistics) continue;
        if (loops.centered) expect_reals(s, mean, wanted.mean);
        expect_reals(s, rstd, wanted.rstd, 4);
      }
    }
  }
}

void check_backward(const shapes& c, const norm_loops& loops, const run_case& run, bool has_bias) {
  for (const dtype type : norm_types) {
    for (const bool wide : {false, true}) {
      if (wide && wide_type(type) == type) continue;
      for (int given = 0; given < 16; ++given) {
        const bool weight = (given & 1) != 0;
        const bool dweight = (given & 2) != 0;
        const bool dbias = (given & 4) != 0;
        const bool in_place = (given & 8) != 0;
        if (dbias && !has_bias) continue;
        scene s;
        name_case(s, type, c.x.size, given + (wide ? 16 : 0));
        const dtype weight_type = wide ? dtype::f32 : type;
        auto& x = tensor_of(s, type, c.x);
        auto& dy = tensor_of(s, type, c.x);
        auto& w = vector_of(s, weight_type, c.channels);
        auto& mean = s.tensor(wide_type(type), c.statistics, packed_strides(c.statistics));
        auto& rstd = s.tensor(wide_type(type), c.statistics, packed_strides(c.statistics));
        auto& dx = in_place ? s.again(dweight ? dy : x, dweight ? dy.view : x.view)
                            : tensor_of(s, type, c.x);
        auto& dw = vector_of(s, weight_type, c.channels);
        auto& db = vector_of(s, weight_type, c.channels);
        operands all{.x = x.view,
                     .mean = mean.view,
                     .rstd = rstd.view,
                     .dy = dy.view,
                     .dx = dx.view,
                     .groups = c.groups};
        if (weight) all.weight = w.view;
        if (dweight) all.dweight = dw.view;
        if (dbias) all.dbias = db.view;
        run(s, all);
        const gradients wanted =
            gradients_of(loops, content(x), content(dy), content(mean), content(rstd),
                         weight ? content(w) : reals(), static_cast<std::size_t>(c.channels));
        expect_reals(s, dx, wanted.dx, 4);
        const double terms = static_cast<double>(x.values.size()) / static_cast<double>(c.channels);
        if (dweight) expect_reals(s, dw, wanted.dweight, 1 + terms / 16);
        if (dbias) expect_reals(s, db, wanted.dbias, 1 + terms / 16);
      }
    }
  }
}

TEST(ElementwiseLayerNorm, IsThatOfTheDefinition) {
  for (const shapes& c : last_shapes()) {
    check_forward(
        c, loops_along_last(c, true),
        [](scene& s, const operands& o) {
          s.run(elementwise::layer_norm{.x = o.x,
                                        .weight = o.weight,
                                        .bias = o.bias,
                                        .y = o.y,
                                        .mean = o.mean,
                                        .rstd = o.rstd,
                                        .eps = o.eps});
        },
        true);
  }
}
TEST(ElementwiseLayerNorm, HasTheGradientOfTheDefinition) {
  for (const shapes& c : last_shapes()) {
    check_backward(
        c, loops_along_last(c, true),
        [](scene& s, const operands& o) {
          s.run(elementwise::layer_norm_backward{.x = o.x,
                                                 .dy = o.dy,
                                                 .mean = o.mean,
                                                 .rstd = o.rstd,
                                                 .weight = o.weight,
                                                 .dx = o.dx,
                                                 .dweight = o.dweight,
                                                 .dbias = o.dbias});
        },
        true);
  }
}

TEST(ElementwiseRmsNorm, IsThatOfTheDefinition) {
  for (const shapes& c : last_shapes()) {
    check_forward(
        c, loops_along_last(c, false),
        [](scene& s, const operands& o) {
          s.run(elementwise::rms_norm{
              .x = o.x, .weight = o.weight, .y = o.y, .rstd = o.rstd, .eps = o.eps});
        },
        false);
  }
}
TEST(ElementwiseRmsNorm, HasTheGradientOfTheDefinition) {
  for (const shapes& c : last_shapes()) {
    check_backward(
        c, loops_along_last(c, false),
        [](scene& s, const operands& o) {
          s.run(elementwise::rms_norm_backward{.x = o.x,
                                               .dy = o.dy,
                                               .rstd = o.rstd,
                                               .weight = o.weight,
                                               .dx = o.dx,
                                               .dweight = o.dweight});
        },
        false);
  }
}

template <class R>
R with_forward_fields(const operands& o) {
  R r;
  r.x = o.x, r.weight = o.weight, r.bias = o.bias, r.y = o.y;
  r.mean = o.mean, r.rstd = o.rstd, r.eps = o.eps;
  return r;
}
template <class R>
R with_backward_fields(const operands& o) {
  R r;
  r.x = o.x, r.dy = o.dy, r.mean = o.mean, r.rstd = o.rstd, r.weight = o.weight;
  r.dx = o.dx, r.dweight = o.dweight, r.dbias = o.dbias;
  return r;
}

TEST(ElementwiseGroupNorm, AndItsGradientAreThoseOfTheDefinition) {
  for (const shapes& c : grouped_shapes(false)) {
    check_forward(
        c, loops_over_groups(c),
        [](scene& s, const operands& o) {
          auto r = with_forward_fields<elementwise::group_norm>(o);
          r.groups = o.groups;
          s.run(std::move(r));
        },
        true);
    check_backward(
        c, loops_over_groups(c),
        [](scene& s, const operands& o) {
          auto r = with_backward_fields<elementwise::group_norm_backward>(o);
          r.groups = o.groups;
          s.run(std::move(r));
        },
        true);
  }
}

TEST(ElementwiseInstanceNorm, AndItsGradientAreThoseOfTheDefinition) {
  for (const shapes& c : grouped_shapes(true)) {
    check_forward(
        c, loops_over_groups(c),
        [](scene& s, const operands& o) {
          s.run(with_forward_fields<elementwise::instance_norm>(o));
        },
        true);
    check_backward(
        c, loops_over_groups(c),
        [](scene& s, const operands& o) {
          s.run(with_backward_fields<elementwise::instance_norm_backward>(o));
        },
        true);
  }
}

TEST(ElementwiseL2Normalize, AndItsGradientAreThoseOfTheDefinition) {
  for (const dtype type : norm_types) {
    for (const tensor_case& c : tensor_cases()) {
      for (const double eps : {1e-12, 1000.0}) {
        scene s;
        name_case(s, type, c.size, eps > 1 ? 1 : 0);
        auto& x = tensor_of(s, type, c);
        auto& y = tensor_of(s, type, c);
        const std::int64_t axis =
            c.axis < 0 ? c.axis + static_cast<std::int64_t>(c.size.size()) : c.axis;
        const reals before = content(x);
        reals wanted(before.size());
        auto& dy = tensor_of(s, type, c);
        const reals slopes = content(dy);
        reals gradient(before.size());
        double largest = 1;  // factor of what cancels
        for (const auto& row : rows_of(c.size, {axis})) {
          double square = 0;
          double along = 0;
          for (const std::size_t i : row) {
            square += before[i] * before[i];
            along += before[i] * slopes[i];
          }
          const double length = std::sqrt(square);
          const double least = std::max(length, eps);
          largest = std::max(largest, 1 / least);
          for (const std::size_t i : row) {
            wanted[i] = before[i] / least;
            gradient[i] =
                length > eps ? (slopes[i] - before[i] * along / square) / length : slopes[i] / eps;
          }
        }
        s.run(elementwise::l2_normalize{.x = x.view, .y = y.view, .axis = c.axis, .eps = eps});
        expect_reals(s, y, wanted);
        auto& dx = tensor_of(s, type, c);
        s.run(elementwise::l2_normalize_backward{
            .x = x.view, .dy = dy.view, .dx = dx.view, .axis = c.axis, .eps = eps});
        expect_reals(s, dx, gradient, largest);
      }
    }
  }
}

TEST(ElementwiseNorms, RefuseWhatDoesNotFit) {
  scene s;
  auto& x = s.tensor(dtype::f16, {2, 6}, {6, 1});
  auto& w = s.vector(dtype::f64, 6);
  auto& mean = s.vector(dtype::f32, 2);
  s.refuse(elementwise::layer_norm{.x = x.view, .weight = w.view, .y = x.view},
           errc::type_mismatch);
  s.refuse(elementwise::layer_norm{.x = x.view, .y = x.view, .mean = mean.view},
           errc::invalid_argument, "rstd must be given");
  s.refuse(elementwise::layer_norm{.x = x.view, .y = x.view, .eps = -1}, errc::invalid_argument,
           "eps");
  s.refuse(elementwise::group_norm{.x = x.view, .y = x.view, .groups = 4}, errc::shape_mismatch,
           "groups is 4 and does not divide the 6 channels");
}

}  // namespace
}  // namespace troupe::conformance
