#pragma once

#include <troupe/blas/batched.hpp>
#include <troupe/blas/level3.hpp>
#include <troupe/blaslt/matmul.hpp>
#include <troupe/dnn/convolution.hpp>
#include <troupe/dnn/graph.hpp>
#include <troupe/elementwise/map.hpp>
#include <troupe/elementwise/rows.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

/// A graph as requests of other libraries, for both backends.
namespace troupe::dnn {

using piece = std::variant<blaslt::matmul, blas::gemm, blas::gemm_strided_batched,
                           convolution_forward, elementwise::map, elementwise::rows>;

/// The library of a graph's products.
enum class products : std::uint8_t {
  with_epilogues,  ///< blaslt's, which compute the epilogue in the same pass
  plain,           ///< those of blas; of an epilogue, only sums are in the same pass
};

/// The memory of the pieces' tensors: the graph's inputs, its outputs, then one workspace for
/// everything that goes from piece to piece.
struct graph_memory {
  static constexpr std::size_t first_output = computation::most_inputs;
  static constexpr std::size_t room = first_output + computation::most_outputs;
  std::array<std::byte*, room + 1> first{};

  explicit graph_memory(const graph& r) noexcept {
    for (std::size_t i = 0; i < r.inputs.size(); ++i)
      first[i] = r.inputs[i].address();
    for (std::size_t i = 0; i < r.outputs.size(); ++i)
      first[first_output + i] = r.outputs[i].address();
  }
};

/// The pieces that carry out a graph, in order. Addresses of tensors encode their memory and the
/// place in it; `placed` replaces them by real ones.
struct lowered_graph {
  std::vector<piece> pieces;
  std::int64_t room_bytes = 0;
  std::string by;         ///< their names
  std::size_t heavy = 0;  ///< products and convolutions, before they are divided
};

/// The pieces of a valid request. \errors `unsupported` where a library takes none of a node's
/// forms
[[nodiscard]] result<lowered_graph> lower(const graph& r, products by);

/// A tensor that begins `bytes` into that memory.
[[nodiscard]] any_tensor symbolic(std::size_t memory, std::int64_t bytes, dtype type,
                                  const shape& extents, std::span<const std::int64_t> strides = {},
                                  memory_space space = memory_space::device) noexcept;
/// The piece with real addresses.
[[nodiscard]] piece placed(piece one, const graph_memory& memory);

}  // namespace troupe::dnn
