// The CUDA C++ that elementwise functions become: it compiles, whatever the layout.
#include "libraries/elementwise/cuda/compiled/callback_source.hpp"
#include "libraries/elementwise/cuda/compiled/device_text.hpp"
#include "libraries/elementwise/cuda/compiled/kernel_source.hpp"
#include "libraries/elementwise/cuda/interpreter/interpreter.hpp"

#include <troupe/elementwise.hpp>
#include <troupe/jit/compiler.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::cuda {
namespace {

using elementwise::function;
using elementwise::value;

constexpr int multiprocessors = 132;

any_tensor at(std::uintptr_t address, dtype type, std::initializer_list<std::int64_t> extents,
              std::vector<std::int64_t> strides = {}) {
  return any_tensor::unowned(reinterpret_cast<std::byte*>(address),  // NOLINT
                             type, shape(extents), strides);
}

/// Plans and compiles a request; the plan is for further questions.
template <class R>
kernel_plan compiled(const R& r) {
  const auto bound = elementwise::bind(r).value();
  const auto over = elementwise::loops::of(bound.over, r.inputs, r.outputs, r.what);
  const auto plan = kernel_plan::of(bound, over, r.what, multiprocessors).value();
  const std::string text = source_of(bound, over, plan);
  jit::compiler compiler({.disk_cache = false});
  const auto made = compiler
                        .compile({.text = text,
                                  .headers = device_headers(),
                                  .options = {"--std=c++20", "--fmad=false"},
                                  .architecture = "sm_90"})
                        .get_result();
  if (!made && made.error().code == errc::library_missing) return plan;
  EXPECT_TRUE(made) << (made ? "" : made.error().message) << text;
  interpreter_program program;
  EXPECT_TRUE(program.assign(bound, over, plan));
  return plan;
}

const function silu_of_sum = function::of(2, [](auto x) { return silu(x[0] + x[1]); });
const function softmax = function::of(1, [](auto x) {
  const value e = exp(x[0] - row_max(x[0]));
  return e / row_sum(e);
});

TEST(ElementwiseSource, OfVectorsWithABroadcastOperand) {
  const auto plan = compiled(elementwise::map{
      .inputs = {at(1 << 20, dtype::bf16, {4096, 4096}), at(1 << 12, dtype::bf16, {4096})},
      .outputs = {at(1 << 30, dtype::bf16, {4096, 4096})},
      .what = silu_of_sum});
  EXPECT_EQ(plan.vector, 8);
  EXPECT_FALSE(plan.wide);
}

TEST(ElementwiseSource, OfTilesWhereAnInputIsTransposed) {
  const auto plan = compiled(elementwise::map{
      .inputs = {at(1 << 20, dtype::f32, {512, 256}, {1, 512}), at(1 << 12, dtype::f32, {256})},
      .outputs = {at(1 << 30, dtype::f32, {512, 256})},
      .what = silu_of_sum});
  EXPECT_TRUE(plan.tiled);
}

TEST(ElementwiseSource, OfEveryOpcodeAndType) {
  for (const dtype type :
       {dtype::f32, dtype::f64, dtype::i64, dtype::u64, dtype::c64, dtype::e4m3}) {
    const bool integral = is_integer(type);
    const auto f = function::of(3, [&](std::span<const value> in) {
      std::vector<value> x;
      for (const value& one : in)
        x.push_back(elementwise::complex(one).real);
      value sum = 0;
      const auto add = [&](const value& one) {  // u64 has no common type with what is negative
        sum = sum + (type == dtype::u64 ? cast(one, dtype::f64) : one);
      };
      for (int o = 0; o < elementwise::opcode_count; ++o) {
        const auto op = static_cast<elementwise::opcode>(o);
        const auto traits = elementwise::traits_of(op);
        using enum elementwise::opcode_family;
        if (traits.family == source || traits.family == output || traits.family == cast ||
            elementwise::is_row(op))
          continue;
        if (!integral && (traits.family == bits || traits.family == integer)) continue;
        if (traits.operands == 1) add(elementwise::apply(op, x[0]));
        if (traits.operands == 2) add(elementwise::apply(op, x[0], x[1]));
        if (traits.operands == 3) add(elementwise::apply(op, x[0], x[1], x[2]));
      }
      for (int t = 0; t < dtype_count; ++t) {
        const auto to = static_cast<dtype>(t);
        if (!is_complex(to) && (to != dtype::u64 || type == to)) add(elementwise::cast(x[1], to));
      }
      return sum + elementwise::index(0) + elementwise::position();
    });
    const auto x = [&](std::uintptr_t place) { return at(place << 20, type, {1001}); };
    compiled(elementwise::map{.inputs = {x(1), x(2), x(3)}, .outputs = {x(4)}, .what = f});
  }
}

TEST(ElementwiseSource, OfRowsInRegistersAndOfLongOnes) {
  const auto held =
      compiled(elementwise::rows{.inputs = {at(1 << 20, dtype::bf16, {16384, 8192})},
                                 .outputs = {at(1l << 32, dtype::bf16, {16384, 8192})},
                                 .what = softmax});
  EXPECT_EQ(held.team, 256);
  EXPECT_EQ(held.held, 4);
  const auto streamed =
      compiled(elementwise::rows{.inputs = {at(1 << 20, dtype::f32, {1024, 100'000})},
                                 .outputs = {at(1l << 32, dtype::f32, {1024, 100'000})},
                                 .what = softmax});
  EXPECT_EQ(streamed.held, 0);
  const auto shared =
      compiled(elementwise::rows{.inputs = {at(1 << 20, dtype::f32, {2, 1 << 24})},
                                 .outputs = {at(1l << 32, dtype::f32, {2, 1 << 24})},
                                 .what = softmax});
  EXPECT_TRUE(shared.split);
}

TEST(ElementwiseSource, OfRowsWithPlacesIndicesAndStatistics) {
  const auto f = function::of(2, [](auto x) {
    const value best = row_argmax(x[0] * x[1]);
    return std::vector<elementwise::result_value>{best, row_product(x[0]), row_min(x[1]),
                                                  select(elementwise::index(0) == best, 1.0, 0.0),
                                                  elementwise::complex_value{x[0], row_sum(x[1])}};
  });
  compiled(elementwise::rows{
      .inputs = {at(1 << 20, dtype::f16, {64, 1000}), at(1 << 12, dtype::f64, {1000})},
      .outputs = {at(1 << 24, dtype::i32, {64, 1}), at(1 << 25, dtype::f16, {64, 1}),
                  at(1 << 26, dtype::f64, {64, 1}), at(1 << 27, dtype::u8, {64, 1000}),
                  at(1 << 28, dtype::c64, {64, 1000})},
      .what = f});
}

/// Compiles a map as a callback and links it with a kernel that calls it as cuFFT does. Gives the
/// program, whose request is gone.
std::optional<callback_program> linked(const elementwise::map& what, bool loads) {
  auto program = callback_program::of(what, loads);
  if (!program) return program;
  const dtype numbers = loads ? what.outputs[0].type() : what.inputs[0].type();
  const std::string type = numbers == dtype::c64    ? "float2"
                           : numbers == dtype::c128 ? "double2"
                           : numbers == dtype::f32  ? "float"
                                                    : "double";
  const std::string declared =
      loads ? "__device__ " + type + " callback(void*, unsigned long long, void*, void*);"
            : "__device__ void callback(void*, unsigned long long, " + type + ", void*, void*);";
  const std::string called = loads ? "x[threadIdx.x] = callback(x, threadIdx.x, info, x);"
                                   : "callback(x, threadIdx.x, x[threadIdx.x], info, x);";
  const std::string text = callback_source(*program, "callback");
  jit::compiler compiler({.disk_cache = false});
  const auto made = [&](const std::string& source) {
    return compiler
        .compile({.text = source,
                  .headers = device_headers(),
                  .options = {"--std=c++20", "--fmad=false"},
                  .architecture = "sm_90",
                  .output = jit::image_kind::lto_ir})
        .get_result();
  };
  const auto callback = made(text);
  if (!callback && callback.error().code == errc::library_missing) return program;
  EXPECT_TRUE(callback) << (callback ? "" : callback.error().message) << text;
  const auto caller = made(declared + " extern \"C\" __global__ void k(" + type +
                           "* x, void* info) {" + called + "}");
  EXPECT_TRUE(caller) << (caller ? "" : caller.error().message);
  if (!callback || !caller) return program;
  const auto image =
      compiler.link({.pieces = {*caller, *callback}, .architecture = "sm_90"}).get_result();
  EXPECT_TRUE(image) << (image ? "" : image.error().message) << text;
  return program;
}

TEST(CallbackSource, IsLinkedByItsNameAndParameters) {
  const auto times = function::of(2, [](auto x) { return x[0] * x[1]; });
  const auto as_complex = function::of(
      2, [](auto x) { return elementwise::complex(x[0]) * elementwise::complex(x[1]); });
  for (const auto& [real, complex] :
       {std::pair(dtype::f32, dtype::c64), std::pair(dtype::f64, dtype::c128)}) {
    const auto load = linked({.inputs = {at(64, dtype::i16, {4, 32}), at(64, real, {32})},
                              .outputs = {at(0, complex, {4, 32})},
                              .what = times},
                             true);
    ASSERT_TRUE(load);
    EXPECT_EQ(load->span, 128);
    EXPECT_TRUE(linked({.inputs = {at(64, dtype::f16, {4, 32}), at(64, real, {32})},
                        .outputs = {at(0, real, {4, 32})},
                        .what = times},
                       true));
    EXPECT_TRUE(linked({.inputs = {at(0, complex, {4, 32}), at(64, complex, {4, 1})},
                        .outputs = {at(64, complex, {4, 32})},
                        .what = as_complex},
                       false));
    EXPECT_TRUE(linked({.inputs = {at(0, real, {4, 32}), at(64, dtype::e4m3, {4, 32})},
                        .outputs = {at(64, dtype::boolean, {4, 32})},
                        .what = times},
                       false));
  }
}

TEST(CallbackSource, TellsWhichNumberAnOffsetMeans) {
  const auto scaled = function::of(
      1, [](auto x) { return elementwise::complex(x[0]).real * elementwise::index(0) * 0.5; });
  // Rows of 7 real numbers on 4 complex ones: one number behind each row.
  const auto rows = linked({.inputs = {at(0, dtype::f32, {3, 7}, {8, 1})},
                            .outputs = {at(0, dtype::f32, {3, 7}, {8, 1})},
                            .what = scaled},
                           false);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->span, 24);
  ASSERT_EQ(rows->loops.size(), 2u);
  EXPECT_EQ(rows->loops[0].step, 8);
  EXPECT_EQ(rows->loops[1].extent, 7);
  const auto text = callback_source(*rows, "callback");
  EXPECT_NE(text.find("if (at >= 7) return;"), std::string::npos) << text;
  // One number: no loop.
  EXPECT_TRUE(linked({.inputs = {at(0, dtype::c64, {1, 1})},
                      .outputs = {at(64, dtype::c64, {1, 1})},
                      .what = scaled},
                     false));
}

TEST(CallbackSource, IsNotForWhatOffsetsDoNotTell) {
  const auto same = function::of(1, [](auto x) { return elementwise::complex(x[0]); });
  // Every row is the first one.
  EXPECT_FALSE(callback_program::of({.inputs = {at(0, dtype::c64, {3, 8}, {0, 1})},
                                     .outputs = {at(64, dtype::c64, {3, 8})},
                                     .what = same},
                                    false));
  EXPECT_FALSE(callback_program::of({.inputs = {at(0, dtype::c64, {0, 8})},
                                     .outputs = {at(64, dtype::c64, {0, 8})},
                                     .what = same},
                                    false));
  // A transposed result is written in tiles.
  EXPECT_FALSE(callback_program::of({.inputs = {at(0, dtype::c64, {512, 512})},
                                     .outputs = {at(64, dtype::c64, {512, 512}, {1, 512})},
                                     .what = same},
                                    false));
}

}  // namespace
}  // namespace troupe::cuda
