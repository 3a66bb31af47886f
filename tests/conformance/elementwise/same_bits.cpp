// On a GPU the interpreter and compiled kernels give the same bits.
#include "programs.hpp"

#include <troupe/core/system.hpp>
#include <troupe/elementwise.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>

namespace troupe::conformance {
namespace {

using elementwise::function;
using elementwise::value;
using namespace elementwise_reference;

/// A device whose kernels are run in one way only.
device device_that(troupe::system& s, std::int32_t ordinal, elementwise_method kernels) {
  device made = s.device(ordinal, {.backend = backend_kind::cuda,
                                   .gpu = gpu_choice::number(0),
                                   .standby = false,
                                   .methods = {.elementwise = kernels}});
  EXPECT_TRUE(made.wait_until_ready());
  return made;
}

class ElementwiseBits : public testing::Test {
 protected:
  void SetUp() override {
    if (!elementwise_reference::on_gpu()) GTEST_SKIP() << "only of a GPU";
    interpreted_.emplace(device_that(system_, 0, elementwise_method::interpreted));
    compiled_.emplace(device_that(system_, 1, elementwise_method::compiled));
  }

  struct operand {
    dtype type;
    std::vector<std::int64_t> extents;
    bool transposed = false;
  };

  any_tensor made(device& on, const operand& o, const std::vector<std::byte>* content) {
    std::vector<std::int64_t> extents = o.extents;
    if (o.transposed) std::reverse(extents.begin(), extents.end());
    any_tensor t = on.allocate(o.type, shape(std::span(extents)), initial::zero).value();
    if (content != nullptr) on.copy_in(o.type, *content, t).get();
    return o.transposed ? t.transpose() : t;
  }

  /// Runs the function on both devices, with the same random inputs.
  void compare(const function& f, const std::vector<operand>& inputs,
               const std::vector<operand>& outputs, const std::vector<std::int64_t>& axes,
               bool rows) {
    std::vector<std::vector<std::byte>> contents;
    for (const operand& o : inputs) {
      std::int64_t count = 1;
      for (const std::int64_t n : o.extents)
        count *= n;
      auto& bytes = contents.emplace_back(static_cast<std::size_t>(count * size_of(o.type)));
      for (std::int64_t i = 0; i < count * (is_complex(o.type) ? 2 : 1); ++i) {
        const dtype part = is_complex(o.type) ? real_of(o.type) : o.type;
        const double drawn = std::uniform_real_distribution<double>(-4, 4)(random_);
        const bool wide = part == dtype::u64;
        store(part, bytes.data() + i * size_of(part),
              wide               ? std::abs(drawn) * 0x1p61
              : is_integer(part) ? std::floor(drawn * 25)
                                 : drawn);
      }
    }
    std::vector<std::vector<std::byte>> results[2];
    for (device* on : {&*interpreted_, &*compiled_}) {
      std::vector<any_tensor> in;
      std::vector<any_tensor> out;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        in.push_back(made(*on, inputs[i], &contents[i]));
      for (const operand& o : outputs)
        out.push_back(made(*on, o, nullptr));
      const auto done =
          rows ? on->ask(elementwise::rows{.inputs = in, .outputs = out, .what = f, .axes = axes})
                     .get_result()
               : on->ask(elementwise::map{.inputs = in, .outputs = out, .what = f}).get_result();
      ASSERT_TRUE(done) << done.error().to_string();
      for (const any_tensor& t : out) {
        auto& bytes = results[on == &*compiled_].emplace_back(
            static_cast<std::size_t>(t.count() * size_of(t.type())));
        on->copy_out(t, t.type(), bytes).get();
      }
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      EXPECT_EQ(std::memcmp(results[0][k].data(), results[1][k].data(), results[0][k].size()), 0)
          << "output " << k << " of " << f.to_string();
    }
  }

  std::mt19937_64 random_{test_seed()};
  troupe::system system_;
  std::optional<device> interpreted_;
  std::optional<device> compiled_;
};

TEST_F(ElementwiseBits, OfRandomProgramsInEveryLayout) {
  constexpr dtype types[] = {dtype::f32,  dtype::f64, dtype::f16, dtype::bf16, dtype::e4m3,
                             dtype::e5m2, dtype::i8,  dtype::u16, dtype::i64,  dtype::boolean};
  // Each is compiled first. Without a number of programs, as many as there is time for.
  const bool all = std::getenv("TROUPE_RANDOM_PROGRAMS") != nullptr;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const auto goes_on = [&](int round) {
    return !HasFailure() &&
           (all ? round < random_programs() : std::chrono::steady_clock::now() < end);
  };
  int round = 0;
  for (; goes_on(round); ++round) {
    const auto below = [&](std::size_t n) { return random_() % n; };
    const std::vector<std::int64_t> extents = {static_cast<std::int64_t>(1 + below(70)),
                                               static_cast<std::int64_t>(8 * (1 + below(20)))};
    std::vector<operand> in;
    std::vector<dtype> in_types;
    for (std::size_t k = 0; k < 1 + below(3); ++k) {
      in_types.push_back(types[below(std::size(types))]);
      in.push_back({in_types.back(), below(3) == 0 ? std::vector{extents[1]} : extents});
      if (in.back().extents.size() == 2) in.back().transposed = below(3) == 0;
    }
    const std::vector<operand> out(1 + below(2), operand{types[below(std::size(types))], extents});
    const auto outputs = static_cast<int>(out.size());
    const bool rows = below(4) == 0;
    const auto f = testing_requests::random_function(
        random_, {.inputs = in_types, .outputs = outputs, .rows = rows});
    compare(f, in, out, rows ? std::vector<std::int64_t>{-1} : std::vector<std::int64_t>{}, rows);
  }
  std::cout << round << " programs\n";
  RecordProperty("programs", round);
}

TEST_F(ElementwiseBits, OfEveryOpcode) {
  for (const dtype type : {dtype::f32, dtype::f64, dtype::bf16, dtype::u64}) {
    for (int o = 0; o < elementwise::opcode_count; ++o) {
      const auto op = static_cast<elementwise::opcode>(o);
      const auto traits = elementwise::traits_of(op);
      using enum elementwise::opcode_family;
      if (traits.family != any && traits.family != real && traits.family != comparison) continue;
      const auto f = function::of(traits.operands, [&](std::span<const value> x) {
        if (traits.operands == 1) return elementwise::apply(op, x[0]);
        if (traits.operands == 2) return elementwise::apply(op, x[0], x[1]);
        return elementwise::apply(op, x[0], x[1], x[2]);
      });
      compare(
          f, std::vector<operand>(static_cast<std::size_t>(traits.operands), operand{type, {4001}}),
          {{type, {4001}}}, {}, false);
    }
  }
}

TEST_F(ElementwiseBits, OfRowsShortLongAndShared) {
  const auto f = function::of(2, [](auto x) {
    const value e = exp(x[0] - row_max(x[0])) * x[1];
    return std::vector<elementwise::result_value>{e / row_sum(e), row_argmax(x[0]),
                                                  row_product(x[1] * 0.1)};
  });
  const std::int64_t shapes[][2] = {{37, 20},     {9, 1024},    {5, 9000},
                                    {3, 100'000}, {2, 1 << 20}, {1, (1 << 22) + 3}};
  for (const auto& [m, n] : shapes) {
    for (const dtype type : {dtype::f32, dtype::bf16, dtype::f64}) {
      compare(f, {{type, {m, n}}, {type, {n}}},
              {{type, {m, n}}, {dtype::i64, {m, 1}}, {dtype::f32, {m, 1}}}, {-1}, true);
    }
  }
}

}  // namespace
}  // namespace troupe::conformance
