#include "structured_cases.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

namespace troupe::conformance {
namespace {

using blaslt::epilogue;

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}
bool has_bias(epilogue e) {
  return e == epilogue::bias || e == epilogue::relu_bias || e == epilogue::gelu_bias;
}
dtype type_of_bias(const structured_case& c) {
  if (c.type == dtype::i8) return dtype::f32;
  return c.type == dtype::e4m3 && c.d_type == dtype::f32 ? dtype::bf16 : c.d_type;
}

/// As for products of cuBLASLt: each of the products and sums rounds once; fp8 is summed in short
/// accumulators for 32 products at a time.
double sum_error(const structured_case& c) {
  return 4 * static_cast<double>(c.k + 8) * epsilon(dtype::f32) +
         (c.type == dtype::e4m3 ? 0x1p-11 : 0);
}

}  // namespace

std::vector<number> pruned(const std::vector<number>& x) {
  std::vector<number> kept(x.size());
  for (std::size_t first = 0; first < x.size(); first += 4) {
    std::array<std::size_t, 4> order{};
    std::iota(order.begin(), order.end(), first);
    std::ranges::stable_sort(order, [&](std::size_t i, std::size_t j) {
      const auto size = [&](std::size_t at) {
        const double v = std::abs(x[at].real());
        return std::isnan(v) ? HUGE_VAL : v;
      };
      return size(i) > size(j);
    });
    for (const std::size_t at : {order[0], order[1]})
      kept[at] = x[at];
  }
  return kept;
}

matrix pruned(const matrix& x) {
  matrix kept(x.rows, x.columns);
  kept.values = pruned(x.values);
  return kept;
}

std::vector<structured_pair> structured_pairs() {
  using enum dtype;
  return {{f16, f16}, {f16, f32},  {bf16, bf16}, {bf16, f32}, {i8, i8},
          {i8, i32},  {e4m3, f16}, {e4m3, bf16}, {e4m3, f32}};
}

std::string structured_case::text() const {
  const auto flag = [](const char* name, bool on) { return std::string(on ? name : ""); };
  return std::string(to_string(type)) + "→" + std::string(to_string(d_type)) + " epilogue " +
         std::to_string(static_cast<int>(epilogue)) + " m " + std::to_string(m) + " n " +
         std::to_string(n) + " k " + std::to_string(k) + flag(" a by columns", !row_major_a) +
         flag(" b by rows", row_major_b) + flag(" d by columns", !row_major_d) +
         flag(" padded", padded) + flag(" compressed", compressed) + " c " +
         std::to_string(static_cast<int>(c));
}

test_tensor& structured_product::matrix_like(dtype type, std::int64_t rows, std::int64_t columns,
                                             bool row_major) {
  const std::int64_t pad = !what_.padded ? 0 : size_of(what_.type) == 1 ? 16 : 3;
  const std::int64_t ld = std::max<std::int64_t>(1, row_major ? columns : rows) + pad;
  return s.tensor(type, {rows, columns}, {row_major ? ld : 1, row_major ? 1 : ld});
}

structured_product::structured_product(const structured_case& what) : what_(what) {
  s.name(what.text());
  // A tensor is compressed for one view only.
  if (what.compressed) s.keep_layouts();
  a = &matrix_like(what.type, what.m, what.k, what.row_major_a);
  weights = &matrix_like(what.type, what.n, what.k, !what.row_major_b);
  s.fill(*weights, pruned(weights->values));
  d = &matrix_like(what.d_type, what.m, what.n, what.row_major_d);
  request = {.a = a->view, .b = weights->view.transpose(), .d = d->view};
  request.epilogue = what.epilogue;
  if (what.c == structured_c::another) {
    c = &matrix_like(what.d_type, what.m, what.n, what.row_major_d);
    request.c = c->view;
  } else if (what.c == structured_c::d_itself) {
    request.c = d->view;
  }
  const bool adds = what.c != structured_c::nothing;
  if (what.d_type == dtype::i32) {
    request.alpha = 3;
    request.beta = adds ? -2 : 0;
  } else {
    // Sums of i8 are some thousands, those of others some units.
    request.alpha = what.d_type == dtype::i8 ? 0.0025 : 1.25;
    request.beta = adds ? -0.75 : 0;
  }
  if (has_bias(what.epilogue)) {
    bias = &s.vector(type_of_bias(what), what.n);
    request.bias = bias->view;
  }
  if (!what.compressed) return;
  compressed = &s.vector(dtype::u8, sparse::structured_bytes(what.n, what.k, size_of(what.type)));
  request.compressed = compressed->view;
}

void structured_product::run() {
  if (what_.compressed) {
    s.run(sparse::structured_compress{.x = weights->view, .compressed = compressed->view});
    s.fill(*compressed, s.elements_now(*compressed));  // for the next request
  }
  s.run(request);
  if (!testing::Test::HasFailure()) compare();
}

void structured_product::compare() {
  const matrix left = a->before();
  const matrix right = weights->before();  // transposed
  const matrix old = c != nullptr ? c->before() : d->before();
  const matrix now = s.now(*d);
  const double alpha = as_number(request.alpha).real();
  const double beta = as_number(request.beta).real();
  const epilogue e = what_.epilogue;
  const bool relu = e == epilogue::relu || e == epilogue::relu_bias;
  const bool gelus = e == epilogue::gelu || e == epilogue::gelu_bias;
  // For large products as many elements as a test has time for, in all rows and columns.
  const std::int64_t step =
      std::max<std::int64_t>(1, what_.m * what_.n * what_.k / (std::int64_t{1} << 25)) | 1;
  for (std::int64_t i = 0; i < what_.m; ++i) {
    for (std::int64_t j = i % step; j < what_.n; j += step) {
      double sum = 0;
      double bound = 0;
      for (std::int64_t l = 0; l < what_.k; ++l) {
        const double one = left(i, l).real() * right(j, l).real();
        sum += one;
        bound += std::abs(one);
      }
      double x = alpha * sum;
      double limit = std::abs(alpha) * 2 * bound;
      if (what_.c != structured_c::nothing) {
        x += beta * old(i, j).real();
        limit += 2 * std::abs(beta * old(i, j).real());
      }
      // The addend may have been rounded to the type of a short bias; for i8 to an integer.
      double before = what_.d_type == dtype::i8 && e != epilogue::none ? 0.5 : 0;
      if (bias != nullptr) {
        if (size_of(bias->view.type()) == 2) before += epsilon(bias->view.type()) * std::abs(x);
        x += bias->values[static_cast<std::size_t>(j)].real();
        limit += std::abs(bias->values[static_cast<std::size_t>(j)].real());
      }
      limit = limit * sum_error(what_) + before;
      double y = relu ? std::max(x, 0.0) : gelus ? gelu(x) : x;
      // Half of the error of a GPU's tanh, as for products of cuBLASLt.
      if (gelus) {
        limit = 1.2 * limit + (what_.d_type == dtype::bf16 ? 0x1p-9 : 0x1p-10) * std::abs(x);
      }
      if (what_.d_type == dtype::i32) limit = 0;  // all of it is below 2^24
      if (what_.d_type == dtype::i8) y = std::clamp(y, -128.0, 127.0);
      const double rounding = what_.d_type == dtype::i8
                                  ? 0.5
                                  : epsilon(what_.d_type) * std::abs(y) + smallest(what_.d_type);
      const double off = std::abs(now(i, j).real() - y);
      if (!(off <= limit + rounding)) {
        ADD_FAILURE() << "[" << i << ", " << j << "] is " << now(i, j).real() << ", expected " << y
                      << ", off by " << off << ", limit " << limit + rounding << s.note();
        return;  // the first wrong element says enough
      }
    }
  }
}

}  // namespace troupe::conformance
