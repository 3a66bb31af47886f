#include "scene.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <sstream>

namespace troupe::conformance {
namespace {

runner& the_runner() {
  static const auto made = make_runner();
  return *made;
}

matrix as_matrix(const any_tensor& view, const std::vector<number>& values, std::int64_t batch) {
  const int rank = view.rank();
  matrix m(rank >= 2 ? view.extent(rank - 2) : view.extent(0),
           rank >= 2 ? view.extent(rank - 1) : 1);
  const auto first = static_cast<std::ptrdiff_t>(batch * m.rows * m.columns);
  std::copy_n(values.begin() + first, m.values.size(), m.values.begin());
  return m;
}

}  // namespace

dtype real_of(dtype type) {
  return type == dtype::c64 ? dtype::f32 : type == dtype::c128 ? dtype::f64 : type;
}

std::span<const operation> all_operations() { return backend_operations().all(); }

std::vector<std::int64_t> edge_sizes() { return {0, 1, 2, 3, 7, 17, 64}; }

scalar factor(dtype type, double real, double imaginary) {
  return is_complex(type) ? scalar(number(real, imaginary)) : scalar(real);
}
number as_number(const scalar& s) { return s.as<number>(); }

const char* to_string(layout l) {
  constexpr const char* names[] = {"row", "column", "row_padded", "column_padded"};
  return names[static_cast<int>(l)];
}

matrix test_tensor::before(std::int64_t batch) const { return as_matrix(view, values, batch); }

std::uint64_t test_seed() {
  static const std::uint64_t value = [] {
    const char* given = std::getenv("TROUPE_TEST_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  }();
  return value;
}

scene::scene() : scene(the_runner()) {}
scene::scene(runner& on) : runner_(on), generator_(test_seed()) { runner_.release(); }

std::string scene::note() const {
  std::ostringstream text;
  text << "\n  case " << text_ << "\n  replay with TROUPE_TEST_SEED=" << test_seed();
  for (const role& r : roles_)
    text << "\n  " << r.name << " " << r.view.to_string();
  return text.str();
}

number scene::random(dtype type) {
  std::uniform_real_distribution<double> unit(-1, 1);
  if (is_float(type)) return unit(generator_);
  if (is_complex(type)) {
    const double real = unit(generator_);
    return {real, unit(generator_)};
  }
  double integer = std::round(unit(generator_) * 100);
  // A u64 at the upper end is a multiple of 2048: a double, in which references compute, has it
  // exactly.
  if (type == dtype::u64 && integer < 0) integer *= 2048;
  return type == dtype::boolean ? number(integer > 0) : number(integer);
}

test_tensor& scene::tensor(dtype type, const extents& size, const extents& strides) {
  test_tensor& t = tensors_.emplace_back();
  t.given = place(runner_, type, size, strides);
  t.view = t.given.view;
  t.used = t.given;
  std::vector<number> values(static_cast<std::size_t>(t.view.count()));
  for (number& v : values)
    v = random(type);
  fill(t, values);
  return t;
}

test_tensor& scene::vector(dtype type, std::int64_t n, std::int64_t stride) {
  return tensor(type, {n}, {stride});
}

test_tensor& scene::matrix_of(dtype type, std::int64_t rows, std::int64_t columns, layout l) {
  const std::int64_t pad = l == layout::row_padded || l == layout::column_padded ? 3 : 0;
  if (l == layout::row || l == layout::row_padded) {
    return tensor(type, {rows, columns}, {std::max<std::int64_t>(1, columns) + pad, 1});
  }
  return tensor(type, {rows, columns}, {1, std::max<std::int64_t>(1, rows) + pad});
}

test_tensor& scene::batch(dtype type, std::int64_t count, std::int64_t rows, std::int64_t columns,
                          layout l) {
  const std::int64_t pad = l == layout::row_padded || l == layout::column_padded ? 3 : 0;
  if (l == layout::row || l == layout::row_padded) {
    const std::int64_t ld = std::max<std::int64_t>(1, columns) + pad;
    return tensor(type, {count, rows, columns}, {ld * (rows + 1) + pad, ld, 1});
  }
  const std::int64_t ld = std::max<std::int64_t>(1, rows) + pad;
  return tensor(type, {count, rows, columns}, {ld * (columns + 1) + pad, 1, ld});
}

test_tensor& scene::again(const test_tensor& other, any_tensor view) {
  EXPECT_EQ(other.used.memory, other.given.memory) << "a request has moved it" << note();
  test_tensor& t = tensors_.emplace_back();
  t.given = other.given;
  t.given.first += view.address() - other.view.address();
  t.given.view = t.view = std::move(view);
  t.used = t.given;
  for_each_offset(t.view, [&](std::size_t, std::int64_t offset) {
    t.values.push_back(load(t.view.type(), t.given.in(t.given.memory->image, offset)));
  });
  return t;
}

void scene::fill(test_tensor& t, const std::vector<number>& values) {
  const dtype type = t.view.type();
  t.values.resize(values.size());
  for_each_offset(t.view, [&](std::size_t flat, std::int64_t offset) {
    std::byte* const at = t.given.in(t.given.memory->image, offset);
    store(type, at, values[flat]);
    t.values[flat] = load(type, at);
  });
}

void scene::fill(test_tensor& t, number value) {
  fill(t, std::vector<number>(static_cast<std::size_t>(t.view.count()), value));
}

void scene::make_solvable(test_tensor& a) {
  std::vector<number> values = a.values;
  const std::int64_t n = a.view.extent(a.view.rank() - 1);
  for (std::size_t flat = 0; flat < values.size(); ++flat) {
    const auto place = static_cast<std::int64_t>(flat) % (n * n);
    if (place / n == place % n) {
      values[flat] += 2.5;
    } else {
      values[flat] *= 2.0 / static_cast<double>(n);
    }
  }
  fill(a, values);
}

void scene::hide_all_but(test_tensor& a, blas::uplo uplo, blas::diag diag, bool hermitian) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<number> values = a.values;
  const std::int64_t n = a.view.extent(a.view.rank() - 1);
  for (std::size_t flat = 0; flat < values.size(); ++flat) {
    const auto place = static_cast<std::int64_t>(flat) % (n * n);
    const std::int64_t i = place / n;
    const std::int64_t j = place % n;
    const bool used =
        i == j ? diag == blas::diag::non_unit : (uplo == blas::uplo::upper ? i < j : i > j);
    if (!used) values[flat] = {nan, nan};
    if (i == j && hermitian) values[flat] = {values[flat].real(), nan};
  }
  fill(a, values);
}

void scene::refused(std::string_view name, const error* refusal, errc code, std::string_view text) {
  if (refusal == nullptr) {
    ADD_FAILURE() << name << " was not refused" << note();
    return;
  }
  EXPECT_EQ(to_string(refusal->code), to_string(code)) << refusal->message << note();
  EXPECT_NE(refusal->message.find(text), std::string::npos)
      << "the message is: " << refusal->message << note();
}

bool scene::on_gpu() const {
  const device* const its = runner_.its_device();
  return its != nullptr && its->description().architecture.starts_with("sm_");
}

bool scene::as_on_gpu() const { return on_gpu() || runner_.is_emulation(); }

void scene::refused_by_library(std::string_view name, const error& refusal) {
  // Only a GPU's library knows its kernels, and only when it is asked.
  if (as_on_gpu() && refusal.code == errc::unsupported &&
      refusal.message.starts_with("not offered: ")) {
    std::printf("%s\n", refusal.message.c_str());
    return;
  }
  ADD_FAILURE() << name << ": " << refusal.to_string() << note();
}

std::vector<std::byte> scene::bytes_now(const test_tensor& t) {
  guarded_memory& memory = *t.used.memory;
  std::vector<std::byte> all = memory.after;
  if (all.empty()) {
    all.resize(memory.image.size());
    runner_.download(memory.storage, all);
  }
  std::vector<std::byte> bytes;
  const std::int64_t size = size_of(t.view.type());
  for_each_offset(t.used.view, [&](std::size_t, std::int64_t offset) {
    const std::byte* const at = t.used.in(all, offset);
    bytes.insert(bytes.end(), at, at + size);
  });
  return bytes;
}

std::vector<number> scene::elements_now(const test_tensor& t) {
  const std::vector<std::byte> bytes = bytes_now(t);
  const auto size = static_cast<std::size_t>(size_of(t.view.type()));
  std::vector<number> values;
  for (std::size_t at = 0; at < bytes.size(); at += size)
    values.push_back(load(t.view.type(), bytes.data() + at));
  return values;
}

matrix scene::now(const test_tensor& t, std::int64_t batch) {
  return as_matrix(t.view, elements_now(t), batch);
}

void scene::expect_near(dtype type, number actual, number expected, double bound,
                        std::int64_t terms, dtype compute, const std::string& where) {
  // Each term may underflow in the type that it is computed in.
  const double limit = 4 * static_cast<double>(terms + 8) * epsilon(compute) * std::abs(bound) +
                       epsilon(type) * std::abs(expected) + smallest(type) +
                       static_cast<double>(terms) * smallest(compute);
  const double off = std::abs(actual - expected);
  if (!(off <= limit)) {
    ADD_FAILURE() << where << " is " << actual << ", expected " << expected << ", off by " << off
                  << ", limit " << limit << note();
  }
}

void scene::expect(const test_tensor& t, const matrix& expected, const matrix& bound,
                   std::int64_t terms, dtype compute, std::int64_t batch) {
  const matrix actual = now(t, batch);
  ASSERT_EQ(actual.rows, expected.rows) << note();
  ASSERT_EQ(actual.columns, expected.columns) << note();
  for (std::int64_t i = 0; i < actual.rows; ++i) {
    for (std::int64_t j = 0; j < actual.columns; ++j) {
      expect_near(t.view.type(), actual(i, j), expected(i, j), bound(i, j).real(), terms, compute,
                  "[" + std::to_string(i) + ", " + std::to_string(j) + "]");
      if (testing::Test::HasFailure()) return;  // the first wrong element says enough
    }
  }
}

void scene::expect_solution(const test_tensor& t, const matrix& a, const matrix& b,
                            std::int64_t batch) {
  expect_solution(t.view.type(), now(t, batch), a, b);
}

void scene::expect_solution(dtype type, const matrix& x, const matrix& a, const matrix& b) {
  const matrix back = a * x;
  const matrix bound = magnitude(a) * magnitude(x) + magnitude(b);
  for (std::int64_t i = 0; i < b.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      expect_near(type, back(i, j), b(i, j), bound(i, j).real(), a.rows, real_of(type),
                  "residual of [" + std::to_string(i) + ", " + std::to_string(j) + "]");
      if (testing::Test::HasFailure()) return;
    }
  }
}

void scene::expect_exactly(const test_tensor& t, const matrix& expected) {
  EXPECT_EQ(now(t).values, expected.values) << note();
}

}  // namespace troupe::conformance
