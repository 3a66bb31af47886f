#include "conformance/scene.hpp"

#include <troupe/dnn/graph.hpp>

namespace troupe::conformance {
namespace {

using dnn::computation;
using dnn::graph;
using namespace dnn::nodes;

TEST(DnnGraph, RefusesWithTheNodeAndTheRule) {
  scene s;
  auto& a = s.tensor(dtype::f32, {2, 3}, {3, 1});
  auto& b = s.tensor(dtype::f32, {4, 5}, {5, 1});
  auto& half = s.tensor(dtype::f16, {3, 5}, {5, 1});
  auto& counts = s.tensor(dtype::i32, {3, 5}, {5, 1});
  auto& wave = s.tensor(dtype::c64, {2, 3}, {3, 1});
  auto& y = s.tensor(dtype::f32, {2, 3}, {3, 1});
  const auto refuse = [&](const std::vector<test_tensor*>& inputs, auto f, errc code,
                          std::string_view text, const std::vector<any_tensor>& outputs = {}) {
    graph r{.outputs = outputs.empty() ? std::vector{y.view} : outputs,
            .what = computation::of(static_cast<int>(inputs.size()), f)};
    for (const test_tensor* const one : inputs)
      r.inputs.push_back(one->view);
    s.refuse(r, code, text);
  };
  using inputs = std::span<const node>;
  refuse(
      {&a, &b}, [](inputs x) { return gelu(matmul(x[0], x[1])); }, errc::shape_mismatch,
      "matmul(x0, x1): [2, 3] has 3 columns and [4, 5] has 4 rows; the computation is y0 = "
      "gelu(matmul(x0, x1))");
  refuse(
      {&a, &b}, [](inputs x) { return x[0] + x[1]; }, errc::shape_mismatch,
      "x0 + x1: [2, 3] and [4, 5] cannot be broadcast together");
  refuse(
      {&a, &half}, [](inputs x) { return matmul(x[0], x[1]); }, errc::type_mismatch,
      "matmul(x0, x1): factors have one type of f64, f32, f16 and bf16; they are f32 and f16: "
      "cast one");
  refuse(
      {&a, &counts}, [](inputs x) { return matmul(x[0], x[1]); }, errc::type_mismatch,
      "they are f32 and i32");
  refuse(
      {&a}, [](inputs x) { return sum(x[0], {2}); }, errc::invalid_argument,
      "sum(x0, [2]): axes are [2]; each names another one of 2 dimensions");
  refuse(
      {&a}, [](inputs x) { return sum(x[0], {0, -2}); }, errc::invalid_argument,
      "axes are [0, -2]");
  refuse(
      {&a}, [](inputs x) { return layer_norm(x[0], 1e-5, 3); }, errc::shape_mismatch,
      "a norm over 3 dimensions of [2, 3]");
  refuse(
      {&a, &b}, [](inputs x) { return rms_norm(x[0], x[1]); }, errc::shape_mismatch,
      "[4, 5] cannot be broadcast to [2, 3]");
  refuse(
      {&a}, [](inputs x) { return transpose(x[0], {0, 0}); }, errc::invalid_argument,
      "transpose(x0, [0, 0]): [0, 0] is no order of 2 dimensions");
  refuse(
      {&a, &b}, [](inputs x) { return convolution(x[0], x[1]); }, errc::shape_mismatch,
      "an image is [n, c, space…]");
  refuse({&wave}, [](inputs x) { return x[0] * 2; }, errc::type_mismatch, "x0: complex, c64");
  refuse(
      {&a}, [](inputs x) { return sum(x[0], {1}); }, errc::shape_mismatch,
      "outputs[0] is [2, 3] and sum(x0, [1]) is [2, 1]");
  refuse({&a}, [](inputs x) { return -x[0]; }, errc::invalid_argument,
         "the computation has 1 outputs, and 2 are given", {y.view, y.view});
  refuse({&a}, [](inputs x) { return -x[0]; }, errc::aliasing, "", {a.view});
  refuse({&a}, [](inputs x) { return std::vector<node>{-x[0], x[0]}; }, errc::aliasing, "",
         {y.view, y.view});
  s.refuse(graph{.inputs = {a.view},
                 .outputs = {y.view},
                 .what = computation::of(2, [](inputs x) { return x[0] + x[1]; })},
           errc::invalid_argument, "the computation has 2 inputs, and 1 are given");
}

TEST(DnnGraph, RefusesWhatNobodyCanHold) {
  scene s;
  auto& one = s.tensor(dtype::f32, {1}, {1});
  auto& y = s.tensor(dtype::f32, {1, 1}, {1, 1});
  const auto repeated = [&](std::int64_t rows, std::int64_t columns) {
    return one.view.as_strided({rows, columns}, {0, 0}).value();
  };
  const auto total =
      computation::of(2, [](std::span<const node> x) { return sum(matmul(x[0], x[1]), {0, 1}); });
  constexpr std::int64_t many = std::int64_t{1} << 30;
  s.refuse(
      graph{.inputs = {repeated(many, 1), repeated(1, many)}, .outputs = {y.view}, .what = total},
      errc::size_overflow, "matmul(x0, x1): [1073741824, 1073741824] is more than");
  constexpr std::int64_t fewer = std::int64_t{1} << 24;
  s.refuse(
      graph{.inputs = {repeated(fewer, 1), repeated(1, fewer)}, .outputs = {y.view}, .what = total},
      errc::out_of_memory, "bytes are needed between the nodes of");
}

TEST(DnnGraph, RefusesConvolutionsThatDoNotFit) {
  scene s;
  auto& x = s.tensor(dtype::f32, {1, 4, 5}, {20, 5, 1});
  auto& w = s.tensor(dtype::f32, {6, 2, 3}, {6, 3, 1});
  auto& y = s.tensor(dtype::f32, {1, 6, 3}, {18, 3, 1});
  const auto refuse = [&](const convolution_options& options, errc code, std::string_view text) {
    s.refuse(
        graph{.inputs = {x.view, w.view},
              .outputs = {y.view},
              .what = computation::of(
                  2, [&](std::span<const node> in) { return convolution(in[0], in[1], options); })},
        code, text);
  };
  refuse({}, errc::shape_mismatch, "convolution(x0, x1)");
  refuse({.groups = 0}, errc::invalid_argument, "groups must be at least 1; it is 0");
  refuse({.stride = {0}, .groups = 2}, errc::invalid_argument, "stride");
  refuse({.padding = {1, 1}, .groups = 2}, errc::invalid_argument, "padding");
  refuse({.dilation = {9}, .groups = 2}, errc::shape_mismatch, "convolution(x0, x1, dilation=[9]");
}

TEST(DnnGraph, IsNotBuiltFromWhatDoesNotBelongToIt) {
  const auto refused = [](auto f, std::string_view text) {
    try {
      (void)computation::of(1, f);
      ADD_FAILURE() << "it is built: " << text;
    } catch (const failure& why) {
      EXPECT_NE(why.error().message.find(text), std::string::npos) << why.error().message;
    }
  };
  using inputs = std::span<const node>;
  std::vector<node> escaped;
  (void)computation::of(1, [&](inputs x) {
    escaped.push_back(x[0]);
    return x[0];
  });
  refused([&](inputs x) { return x[0] + escaped[0]; },
          "an operand is a node of another computation");
  refused([](inputs x) { return apply(elementwise::opcode::row_sum, x[0]); },
          "row_sum is no operation on elements of tensors");
  refused([](inputs x) { return apply(elementwise::opcode::add, x[0]); },
          "add has 2 operands; 1 are given");
  refused([](inputs x) { return apply(dnn::activation::elu, x[0]); }, "activation");
  refused([](inputs x) { return layer_norm(x[0], -1.0); }, "eps must be at least 0; it is -1");
  refused([](inputs x) { return std::vector<node>(9, x[0]); }, "9 outputs; 8 is the most");
  refused(
      [](inputs x) {
        node y = x[0];
        for (int i = 0; i < 80; ++i)
          y = exp(y);
        return y;
      },
      "the most are 16, 8, 64 and 16");
  EXPECT_THROW((void)exp(escaped[0]), failure);
}

}  // namespace
}  // namespace troupe::conformance
