#pragma once

#include <troupe/dnn/computation.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::dnn {

/// The type in which real values may be kept between nodes, where they go through memory. Those
/// that are computed in f64 are kept in f64.
enum class intermediate_type : std::uint8_t { f32, f16, bf16 };

/// How a GPU computes a graph. The CPU backend always has pieces.
enum class graph_engine : std::uint8_t {
  /// By pieces until cuDNN has compiled a plan, if it supports the graph; then by both alternately
  /// until both are timed; then by the faster of the two.
  automatic,
  pieces,  ///< by kernels of the libraries, one after the other
  plan,    ///< by a plan, for which the request waits
};

/// How a graph was computed.
struct graph_run {
  std::int64_t pieces = 0;  ///< how many requests carried it out; 1 for a plan
  std::string by{};         ///< their names: "blaslt.matmul, elementwise.map", "cudnn PLAN"

  TROUPE_EXPORT static void describe(description<graph_run>& d);
};

/// Computes outputs = what(inputs): a part of a network of your own, as one request.
///
///     const auto what = computation::of(4, [](auto x) {
///       return gelu(matmul(x[0], x[1]) + x[2]) + x[3];
///     });
///     gpu.ask(graph{.inputs = {x, w, bias, residual}, .outputs = {y}, .what = what});
///
/// Reads inputs, writes outputs. Any strides. An output has exactly the extents of its node;
/// elements are rounded to its type. It shares no element with an input or another output.
///
/// Types: functions of elements and reductions take all but complex ones, and compute as those of
/// `elementwise.map` do. Operands of products, convolutions and norms are f64, f32, f16 or bf16.
/// Both factors of a product have one type: a computed factor takes the type of the other one,
/// or `intermediate` if both are computed; only `cast` fixes it. Their sums are f32, or
/// f64. Sums of a product or a convolution may be rounded to the type of its operands, and every
/// other value to `intermediate`, when they go from one piece to the next.
///
/// \errors `shape_mismatch`, `type_mismatch`, `invalid_argument`, naming the node and the rule;
/// `aliasing`; `unsupported` for `graph_engine::plan` where there is none
struct TROUPE_EXPORT graph {
  static constexpr std::string_view name = "dnn.graph";
  using reply = graph_run;

  std::vector<any_tensor> inputs{};
  std::vector<any_tensor> outputs{};
  computation what{};
  intermediate_type intermediate = intermediate_type::f32;
  dnn::math_mode math = dnn::math_mode::strict;
  graph_engine engine = graph_engine::automatic;
  dnn::tuning tuning = dnn::tuning::heuristic;  ///< for a plan: how its engine is chosen

  static void describe(description<graph>& d);
};

}  // namespace troupe::dnn
