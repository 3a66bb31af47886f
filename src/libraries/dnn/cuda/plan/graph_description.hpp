#pragma once

#include <troupe/tensor/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

/// Describes the computation of a plan in Troupe's own types, so that only one source includes
/// cuDNN's frontend.
namespace troupe::cuda::graphs {

/// A tensor of a graph. Intermediate values have no memory.
struct tensor {
  /// The number by which an executor gives its address: from 1, without gaps. 0: it has no memory.
  std::int64_t operand = 0;
  dtype type{};
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;
  std::int64_t alignment = 16;  ///< the address, in bytes
  /// True for a number in host memory. It is read when the plan is enqueued.
  bool by_value = false;
  int ragged_offset = -1;  ///< the tensor with the offset of each batch's rows; −1: none
};

/// The index of a tensor in `description::tensors`; −1: none.
using place = int;

struct convolution {
  enum class kind : std::uint8_t { forward, backward_data, backward_filter };
  kind what{};
  place first = -1;   ///< x, dy, dy
  place second = -1;  ///< w, w, x
  place result = -1;  ///< y, dx, dw
  std::vector<std::int64_t> before;
  std::vector<std::int64_t> after;
  std::vector<std::int64_t> stride;
  std::vector<std::int64_t> dilation;
};

/// [..., m, k] · [..., k, n]. Dimensions of extent 1 before the matrices are broadcast.
struct matmul {
  place first = -1;
  place second = -1;
  place result = -1;
};

struct pointwise {
  enum class kind : std::uint8_t {
    add,
    multiply,
    relu,
    elu,
    gelu,
    gelu_tanh,
    silu,
    sigmoid,
    tanh,
    softplus,
    identity,
    subtract,
    divide,
    minimum,
    maximum,
    negative,
    absolute,
    exp,
    log,
    sqrt,
    rsqrt,
    erf,
    sin,
    cos,
  };
  kind what{};
  place first = -1;
  place second = -1;
  place result = -1;
  std::optional<float> upper{};      ///< relu only
  std::optional<float> slope{};      ///< relu only, below 0
  std::optional<float> elu_alpha{};  ///< elu only
};

/// Scaled dot-product attention, forward (`o`, `stats`) or backward (`dq`, `dk`, `dv`).
struct attention {
  bool backward = false;
  bool fp8 = false;
  place q = -1, k = -1, v = -1, o = -1, stats = -1;
  place d_o = -1, dq = -1, dk = -1, dv = -1, dbias = -1;
  place bias = -1, q_lengths = -1, kv_lengths = -1;
  place k_pages = -1, v_pages = -1;
  place seed = -1, offset = -1;
  place descale_q = -1, descale_k = -1, descale_v = -1, descale_s = -1, scale_s = -1, scale_o = -1;
  place amax_s = -1, amax_o = -1;
  float scale = 1;
  float dropout = 0;
  bool alibi = false;
  bool bottom_right = false;                       ///< the diagonal ends in the last row and column
  std::int64_t left = -1;                          ///< keys before the diagonal's; −1: all
  std::int64_t right = -1;                         ///< keys behind the diagonal's; −1: all
  std::int64_t most_kv = 0;                        ///< paged keys only
  std::int64_t most_q_rows = 0, most_kv_rows = 0;  ///< ragged rows, backward; 0: unknown
};

using node = std::variant<convolution, matmul, pointwise, attention>;

struct description {
  std::vector<tensor> tensors;
  std::vector<node> nodes;
  dtype intermediate = dtype::f32;
  dtype compute = dtype::f32;
  bool deterministic = false;
  /// Excludes engines that round f32 before they multiply.
  bool full_precision = false;
  /// Uses engines from cuDNN's fixed list only, not those that its heuristics propose.
  bool without_heuristics = false;
  /// The numbers of engines that no plan has.
  std::vector<std::int64_t> barred_engines;
  /// Times this many of the engines that cuDNN proposes and takes the fastest; 0: takes the first.
  int timed = 0;
};

}  // namespace troupe::cuda::graphs
