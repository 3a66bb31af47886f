#include "matmul_cases.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace troupe::conformance {
namespace {

using blaslt::arithmetic;
using blaslt::epilogue;
using blaslt::scaling;

constexpr double gelu_cubic = 0.044715;

double gelu_inner(double x) {
  return std::sqrt(2 / std::numbers::pi) * (x + gelu_cubic * x * x * x);
}
double gelu(double x) { return 0.5 * x * (1 + std::tanh(gelu_inner(x))); }
double gelu_slope(double x) {
  const double t = std::tanh(gelu_inner(x));
  const double inner = std::sqrt(2 / std::numbers::pi) * (1 + 3 * gelu_cubic * x * x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner;
}

/// The bound of |error| / Σ|terms| before anything is rounded to the type of a result, by the
/// arithmetic of the sums:
/// - each of the k products and sums rounds once, to the type they are computed in, in any order:
///   4 (k + 8) ε, as for other sums;
/// - tf32 rounds, or cuts, both factors to 10 bits: 2 · 2⁻¹⁰ more;
/// - the addend of a bias in f16 or bf16 may have been rounded to its type, and the input of an
///   epilogue of i8 to an integer (`before_epilogue`);
/// - fp8 is summed in tensor cores in accumulators of some 14 bits, for 32 products at a time, or
///   for all of them when that is allowed: 2⁻¹¹ more.
double sum_error(const matmul_case& c) {
  const bool wide = c.types.computed == arithmetic::f64 || c.types.a == dtype::c128;
  const double epsilon_of_sums = epsilon(wide ? dtype::f64 : dtype::f32);
  double error = 4 * static_cast<double>(c.k + 8) * epsilon_of_sums;
  if (c.math == blas::math_mode::tf32) error += 0x1p-9;
  if (c.types.computed == arithmetic::fp8) error += 0x1p-11;
  return error;
}

/// The error of gelu for an x of one, before it is rounded: half of the error of a tanh. That of
/// GPUs has 11 bits, which is right for results in f16 and shorter, and allowed for f32; the one
/// for two bf16 at once, which cuBLASLt takes for results in bf16, is off by 2⁻⁸. Source: PTX ISA,
/// "tanh". In f64 cuBLASLt's is off by some 10⁻¹⁰: its constants have ten digits.
double tanh_error(const matmul_case& c) {
  if (c.types.computed == arithmetic::f64) return 1e-9;
  return c.types.d == dtype::bf16 ? 0x1p-9 : 0x1p-10;
}

}  // namespace

std::string matmul_case::text() const {
  const auto name = [](dtype t) { return std::string(to_string(t)); };
  std::string all = name(types.a) + "·" + name(types.b) + "+" + name(types.c) + "→" + name(types.d);
  all += " epilogue " + std::to_string(static_cast<int>(epilogue));
  all += " m=" + std::to_string(m) + " n=" + std::to_string(n) + " k=" + std::to_string(k);
  all += " batch=" + std::to_string(batch);
  for (const bool row : {row_major_a, row_major_b, row_major_d})
    all += row ? " row" : " column";
  all += padded ? " padded" : "";
  all += " c=" + std::to_string(static_cast<int>(c));
  all += " scaling " + std::to_string(static_cast<int>(scaling_a)) + "," +
         std::to_string(static_cast<int>(scaling_b));
  return all;
}

bool has_epilogue(const blaslt::combination& types, epilogue e) {
  if (e == epilogue::none) return true;
  const bool of_operand = e == epilogue::bgrad_a || e == epilogue::bgrad_b;
  switch (types.computed) {
    case arithmetic::f64:
    case arithmetic::f32:
      return true;
    case arithmetic::fp8: {
      // Gelu's input is kept for d in e4m3 of two e4m3 alone.
      const bool keeps_gelu = e == epilogue::gelu_aux || e == epilogue::gelu_aux_bias ||
                              e == epilogue::dgelu || e == epilogue::dgelu_bgrad;
      const bool pure = types.a == dtype::e4m3 && types.b == dtype::e4m3;
      if (keeps_gelu && blaslt::is_fp8(types.d) && !(pure && types.d == dtype::e4m3)) return false;
      if (types.d == dtype::f32 && (e == epilogue::gelu_aux_bias || e == epilogue::drelu_bgrad ||
                                    e == epilogue::dgelu_bgrad)) {
        return false;
      }
      if (blaslt::is_fp8(types.d) && blaslt::reads_aux(e)) return false;
      return !of_operand;
    }
    case arithmetic::i32_scaled:
      return e == epilogue::relu || e == epilogue::gelu || e == epilogue::bias ||
             e == epilogue::relu_bias || e == epilogue::gelu_bias;
    default:
      return false;
  }
}

bool needs_row_major_d(epilogue e) {
  return e == epilogue::bias || e == epilogue::relu_bias || e == epilogue::gelu_bias ||
         e == epilogue::relu_aux_bias || e == epilogue::gelu_aux_bias ||
         e == epilogue::drelu_bgrad || e == epilogue::dgelu_bgrad;
}

test_tensor& matmul_under_test::matrix_like(dtype type, std::int64_t rows, std::int64_t columns,
                                            bool row_major, std::int64_t pad, bool shared) {
  const std::int64_t ld = std::max<std::int64_t>(1, row_major ? columns : rows) + pad;
  const std::int64_t row_stride = row_major ? ld : 1;
  const std::int64_t column_stride = row_major ? 1 : ld;
  if (what_.batch == 0) return s.tensor(type, {rows, columns}, {row_stride, column_stride});
  const std::int64_t distance = shared ? 0 : ld * (row_major ? rows : columns) + pad;
  test_tensor& t =
      s.tensor(type, {what_.batch, rows, columns}, {distance, row_stride, column_stride});
  if (shared) {  // one content, not the last of several
    std::vector<number> values = t.values;
    const auto one = static_cast<std::size_t>(rows * columns);
    for (std::size_t at = one; at < values.size(); ++at)
      values[at] = values[at % one];
    s.fill(t, values);
  }
  return t;
}

test_tensor& matmul_under_test::vector_like(dtype type, std::int64_t n, bool one_each) {
  if (what_.batch == 0 || !one_each) return s.vector(type, n);
  return s.tensor(type, {what_.batch, n}, {n + (what_.padded ? 8 : 0), 1});
}

test_tensor& matmul_under_test::factor(double value) {
  test_tensor& t = s.vector(dtype::f32, 1);
  s.fill(t, number(value));
  return t;
}

matmul_under_test::matmul_under_test(const matmul_case& what) : what_(what) {
  s.name(what.text());
  const auto& types = what.types;
  const bool narrow = size_of(types.a) == 1;
  const std::int64_t pad = !what.padded ? 0 : narrow ? 16 : 3;
  a = &matrix_like(types.a, what.m, what.k, what.row_major_a, pad);
  b = &matrix_like(types.b, what.k, what.n, what.row_major_b, pad, what.shared_b);
  d = &matrix_like(types.d, what.m, what.n, what.row_major_d, pad);
  request.a = a->view;
  request.b = b->view;
  request.d = d->view;
  if (what.c == added::another) {
    c = &matrix_like(types.c, what.m, what.n, what.row_major_d, 2 * pad);
    request.c = c->view;
  } else if (what.c == added::d_itself) {
    request.c = d->view;
  }
  if (types.computed == arithmetic::i32) {
    request.alpha = 3;
    request.beta = what.c == added::nothing ? 0 : -2;
  } else {
    // Sums of i8 are some thousands, those of others some units.
    const double small = narrow && types.computed == arithmetic::i32_scaled ? 0.002 : 1.0;
    request.alpha = conformance::factor(types.d, 1.25 * small, -0.5);
    if (what.c != added::nothing) request.beta = conformance::factor(types.d, -0.75, 0.5);
  }
  request.op_a = what.op_a;
  request.op_b = what.op_b;
  request.epilogue = what.epilogue;
  request.math = what.math;
  request.fast_accumulation = what.fast_accumulation;
  request.tuning = what.tuning;
  place_epilogue();
  place_scales();
}

void matmul_under_test::place_epilogue() {
  const epilogue e = what_.epilogue;
  const auto& types = what_.types;
  if (blaslt::has_bias(e)) {
    bias = &vector_like(types.bias, what_.n, what_.padded);
    request.bias = bias->view;
  }
  if (blaslt::has_aux(e)) {
    const bool mask = blaslt::is_relu(e);
    const std::int64_t along = what_.row_major_d ? what_.n : what_.m;
    const std::int64_t other = what_.row_major_d ? what_.m : what_.n;
    const std::int64_t stored = mask ? blaslt::mask_bytes(along) : along;
    const std::int64_t unit = mask ? 16 : 8;
    const std::int64_t pad = blaslt::round_up(stored, unit) - stored + (what_.padded ? unit : 0);
    const dtype type = mask ? dtype::u8 : blaslt::is_fp8(types.d) ? types.c : types.d;
    aux = what_.row_major_d ? &matrix_like(type, other, stored, true, pad)
                            : &matrix_like(type, stored, other, false, pad);
    request.aux = aux->view;
  }
  if (blaslt::sums_rows(e) || blaslt::sums_operand(e)) {
    bgrad = &vector_like(types.bias, e == epilogue::bgrad_a ? what_.m : what_.n, true);
    request.bgrad = bgrad->view;
  }
}

void matmul_under_test::place_scales() {
  request.scaling_a = what_.scaling_a;
  request.scaling_b = what_.scaling_b;
  const auto place = [&](scaling how, bool is_a) -> test_tensor* {
    const std::int64_t outer = is_a ? what_.m : what_.n;
    const std::int64_t blocks = (what_.k + 127) / 128;
    if (how == scaling::tensor) return what_.scaled ? &factor(is_a ? 0.5 : -1.5) : nullptr;
    if (how == scaling::outer_vector) return &s.vector(dtype::f32, outer);
    const bool along_k = how == scaling::block_128x128;
    const std::int64_t of_outer = along_k ? (outer + 127) / 128 : outer;
    const std::int64_t outer_stride = along_k ? blaslt::round_up(blocks, 4) : 1;
    const std::int64_t k_stride = along_k ? 1 : outer;
    return is_a ? &s.tensor(dtype::f32, {of_outer, blocks}, {outer_stride, k_stride})
                : &s.tensor(dtype::f32, {blocks, of_outer}, {k_stride, outer_stride});
  };
  const auto give = [](any_tensor& field, test_tensor* held) {
    if (held != nullptr) field = held->view;
  };
  give(request.scale_a, scale_a_ = place(what_.scaling_a, true));
  give(request.scale_b, scale_b_ = place(what_.scaling_b, false));
  if (!what_.scaled) return;
  if (what_.c != added::nothing) give(request.scale_c, scale_c_ = &factor(0.75));
  if (blaslt::is_fp8(what_.types.d)) {
    give(request.scale_d, scale_d_ = &factor(2));
    give(request.amax_d, amax_d_ = &factor(0));
  }
}

number matmul_under_test::scale(const test_tensor* t, scaling how, bool is_a, std::int64_t i,
                                std::int64_t j) const {
  if (t == nullptr) return 1;
  const auto at = [&](std::int64_t row, std::int64_t column) {
    return t->values[static_cast<std::size_t>(
        t->view.rank() == 1 ? row : row * t->view.extent(1) + column)];
  };
  switch (how) {
    case scaling::tensor:
      return at(0, 0);
    case scaling::outer_vector:
      return at(is_a ? i : j, 0);
    case scaling::block_128:
      return is_a ? at(i, j / 128) : at(i / 128, j);
    case scaling::block_128x128:
      return at(i / 128, j / 128);
  }
  return 1;
}

bool matmul_under_test::run() {
  if (!s.run_if_offered(request)) return false;
  const std::int64_t products = std::max<std::int64_t>(what_.batch, 1);
  for (std::int64_t p = 0; p < products && !testing::Test::HasFailure(); ++p)
    compare(p);
  const auto largest = [&](const test_tensor* t, double expected, const char* name) {
    if (t == nullptr || testing::Test::HasFailure()) return;
    expect(dtype::f32, s.elements_now(*t)[0].real(), expected, largest_limit_, name);
  };
  largest(amax_d_, largest_d_, "amax_d");
  return true;
}

void matmul_under_test::expect(dtype type, double actual, double expected, double limit,
                               const std::string& where) {
  if (type == dtype::i8) expected = std::clamp(expected, -128.0, 127.0);
  // To nearest even halves the distance of two neighbours.
  const double rounding =
      type == dtype::i8 ? 0.5 : epsilon(type) * std::abs(expected) + smallest(type);
  if (!(std::abs(actual - expected) <= limit + rounding)) {
    ADD_FAILURE() << where << " is " << actual << ", expected " << expected << ", off by "
                  << std::abs(actual - expected) << ", limit " << limit + rounding << s.note();
  }
}

void matmul_under_test::compare(std::int64_t product) {
  const epilogue e = what_.epilogue;
  matrix left = applied(what_.op_a, a->before(product));
  matrix right = applied(what_.op_b, b->before(product));
  for (std::int64_t i = 0; i < what_.m; ++i) {
    for (std::int64_t l = 0; l < what_.k; ++l)
      left(i, l) *= scale(scale_a_, what_.scaling_a, true, i, l);
  }
  for (std::int64_t l = 0; l < what_.k; ++l) {
    for (std::int64_t j = 0; j < what_.n; ++j)
      right(l, j) *= scale(scale_b_, what_.scaling_b, false, l, j);
  }
  const matrix sums = left * right;
  const matrix bounds = magnitude(left) * magnitude(right);
  const number alpha = as_number(request.alpha);
  const number beta =
      as_number(request.beta) * (scale_c_ != nullptr ? scale_c_->values[0] : number(1));
  const matrix old = c != nullptr ? c->before(product) : d->before(product);
  const matrix now = s.now(*d, product);
  const double error = sum_error(what_);
  const double scale_d = scale_d_ != nullptr ? scale_d_->values[0].real() : 1;
  const std::int64_t bias_first = bias != nullptr && bias->view.rank() == 2 ? product * what_.n : 0;
  const bool relu = blaslt::is_relu(e);
  matrix kept;
  if (aux != nullptr) kept = blaslt::writes_aux(e) ? s.now(*aux, product) : aux->before(product);
  const auto bit = [&](std::int64_t i, std::int64_t j) {
    const std::int64_t along = what_.row_major_d ? j : i;
    const number byte = what_.row_major_d ? kept(i, along / 8) : kept(along / 8, j);
    return (static_cast<unsigned>(byte.real()) >> (along % 8) & 1U) != 0;
  };
  std::vector<double> row_sums(static_cast<std::size_t>(what_.n));
  std::vector<double> row_limits(static_cast<std::size_t>(what_.n));
  for (std::int64_t i = 0; i < what_.m; ++i) {
    for (std::int64_t j = 0; j < what_.n; ++j) {
      const std::string where = "[" + std::to_string(i) + ", " + std::to_string(j) + "]";
      number x = alpha * sums(i, j);
      double limit = std::abs(alpha) * 2 * bounds(i, j).real();
      if (what_.c != added::nothing) {
        x += beta * old(i, j);
        limit += 2 * std::abs(beta * old(i, j));
      }
      // Its rounding to the type of a bias or of d, where that comes first.
      double before_epilogue = what_.types.d == dtype::i8 && e != epilogue::none ? 0.5 : 0;
      if (bias != nullptr) {
        if (size_of(what_.types.bias) == 2)
          before_epilogue = epsilon(what_.types.bias) * std::abs(x);
        const number one = bias->values[static_cast<std::size_t>(bias_first + j)];
        x += one;
        limit += std::abs(one);
      }
      limit = limit * error + before_epilogue;
      if (is_complex(what_.types.d) || is_integer(what_.types.d)) {
        if (what_.types.computed == arithmetic::i32) {
          EXPECT_EQ(now(i, j), x) << where << s.note();
        } else if (is_complex(what_.types.d)) {
          const double rounding = epsilon(what_.types.d) * std::abs(x);
          EXPECT_LE(std::abs(now(i, j) - x), limit + rounding) << where << s.note();
        }
        if (testing::Test::HasFailure()) return;
        if (what_.types.computed != arithmetic::i32_scaled) continue;
      }
      double y = x.real();
      if (blaslt::writes_aux(e) && relu) {
        // The sign of what may be zero is not looked at.
        EXPECT_TRUE(std::abs(y) <= limit || bit(i, j) == (y > 0)) << "mask " << where << s.note();
      } else if (blaslt::writes_aux(e)) {
        expect(aux->view.type(), kept(i, j).real(), y, limit, "aux " + where);
      }
      if (blaslt::reads_aux(e)) {
        const double slope = relu ? (bit(i, j) ? 1 : 0) : gelu_slope(kept(i, j).real());
        limit = limit * std::max(1.0, std::abs(slope)) +
                (relu ? 0 : 4 * tanh_error(what_) * std::abs(y));
        y *= slope;
      } else if (relu) {
        y = std::max(y, 0.0);
      } else if (e == epilogue::gelu || e == epilogue::gelu_bias || e == epilogue::gelu_aux ||
                 e == epilogue::gelu_aux_bias) {
        limit = 1.2 * limit + tanh_error(what_) * std::abs(y);  // gelu is nowhere steeper
        y = gelu(y);
      }
      largest_d_ = std::max(largest_d_, std::abs(y));
      largest_limit_ = std::max(largest_limit_, limit);
      row_sums[static_cast<std::size_t>(j)] += y;
      // Whether the sum is formed before or after d is rounded is not said.
      row_limits[static_cast<std::size_t>(j)] +=
          limit + (epsilon(what_.types.d) +
                   4 * static_cast<double>(what_.m + 8) *
                       epsilon(what_.types.d == dtype::f64 ? dtype::f64 : dtype::f32)) *
                      std::abs(y);
      expect(what_.types.d, now(i, j).real(), scale_d * y, std::abs(scale_d) * limit, where);
      if (testing::Test::HasFailure()) return;  // the first wrong element says enough
    }
  }
  if (bgrad == nullptr) return;
  if (!blaslt::sums_operand(e)) return compare_sums(product, row_sums, row_limits);
  const matrix& summed = e == epilogue::bgrad_a ? left : right;
  const std::int64_t length = e == epilogue::bgrad_a ? what_.m : what_.n;
  std::vector<double> operand_sums(static_cast<std::size_t>(length));
  std::vector<double> operand_limits(static_cast<std::size_t>(length));
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::int64_t l = 0; l < what_.k; ++l) {
      const double one = e == epilogue::bgrad_a ? summed(i, l).real() : summed(l, i).real();
      operand_sums[static_cast<std::size_t>(i)] += one;
      operand_limits[static_cast<std::size_t>(i)] += error * std::abs(one);
    }
  }
  compare_sums(product, operand_sums, operand_limits);
}

void matmul_under_test::compare_sums(std::int64_t product, const std::vector<double>& sums,
                                     const std::vector<double>& limits) {
  const std::vector<number> now = s.elements_now(*bgrad);
  const std::size_t first =
      bgrad->view.rank() == 2 ? static_cast<std::size_t>(product) * sums.size() : 0;
  for (std::size_t j = 0; j < sums.size() && !testing::Test::HasFailure(); ++j) {
    expect(bgrad->view.type(), now[first + j].real(), sums[j], limits[j],
           "bgrad [" + std::to_string(j) + "]");
  }
}

}  // namespace troupe::conformance
