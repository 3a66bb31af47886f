#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/launch.cuh"
#include "backend/operation_of.hpp"
#include "base/try.hpp"

#include <troupe/dnn/kv_append.hpp>
#include <troupe/memory/copy.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::cuda {
namespace {

// The operation that copies one piece. Set once, while the plugin is loaded.
operation_of<memory::copy> run_copy;
const plugin_operations finds_copy([](operation_table& table) { run_copy.find_in(table); });

constexpr unsigned append_threads = 128;
constexpr std::size_t most_pieces = 128;  // a launch has their addresses as arguments

/// Pieces of the same strides. Steps are in elements.
struct appended_pieces {
  const std::byte* from;
  std::array<std::byte*, most_pieces> to;
  std::int64_t pieces, n, heads, width;
  std::array<std::int64_t, 4> from_steps;
  std::array<std::int64_t, 3> to_steps;
};

struct sixteen_bytes {
  std::uint64_t first, second;
};

template <class Unit>
__global__ void __launch_bounds__(append_threads)
    append_pieces(const __grid_constant__ appended_pieces p) {
  std::int64_t at = std::int64_t{blockIdx.x} * append_threads + threadIdx.x;
  if (at >= p.pieces * p.n * p.heads * p.width) return;
  const std::int64_t column = at % p.width;
  at /= p.width;
  const std::int64_t head = at % p.heads;
  at /= p.heads;
  const std::int64_t row = at % p.n;
  const std::int64_t piece = at / p.n;
  const std::int64_t from = piece * p.from_steps[0] + row * p.from_steps[1] +
                            head * p.from_steps[2] + column * p.from_steps[3];
  const std::int64_t to = row * p.to_steps[0] + head * p.to_steps[1] + column * p.to_steps[2];
  reinterpret_cast<Unit*>(p.to[static_cast<std::size_t>(piece)])[to] =
      reinterpret_cast<const Unit*>(p.from)[from];
}

result<void> append_all(const appended_pieces& p, std::int64_t element, lane& where) {
  const std::int64_t count = p.pieces * p.n * p.heads * p.width;
  if (count == 0) return {};
  const std::int64_t blocks = (count + append_threads - 1) / append_threads;
  const auto by = [&]<class Unit>(Unit) {
    return launch(append_pieces<Unit>, blocks, append_threads, where.stream(), p);
  };
  switch (element) {
    case 1:
      return by(std::uint8_t{});
    case 2:
      return by(std::uint16_t{});
    case 4:
      return by(std::uint32_t{});
    case 8:
      return by(std::uint64_t{});
    default:
      return by(sixteen_bytes{});
  }
}

result<void> append_one_by_one(const any_tensor& from, const std::vector<any_tensor>& rows,
                               lane& where) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].empty()) continue;
    const auto at = static_cast<std::int64_t>(i);
    const auto piece = TRY(from.slice(0, at, at + 1));
    std::vector<std::int64_t> extents(rows[i].extents().begin(), rows[i].extents().end());
    std::vector<std::int64_t> strides(piece.strides().begin() + 1, piece.strides().end());
    const auto view = TRY(piece.as_strided(shape(extents), std::span<const std::int64_t>(strides)));
    TRY(run_copy({.from = view, .to = rows[i]}, where));
  }
  return {};
}

// A step has a piece for each sequence and layer: a launch for each would take longer than the
// step.
result<void> append(const any_tensor& from, const std::vector<any_tensor>& rows, lane& where) {
  const bool alike = rows.size() > 1 && std::ranges::all_of(rows, [&](const any_tensor& one) {
                       return std::ranges::equal(one.strides(), rows.front().strides());
                     });
  if (!alike) return append_one_by_one(from, rows, where);
  appended_pieces p{.n = from.extent(1), .heads = from.extent(2), .width = from.extent(3)};
  std::ranges::copy(from.strides(), p.from_steps.begin());
  std::ranges::copy(rows.front().strides(), p.to_steps.begin());
  const std::int64_t element = size_of(from.type());
  for (std::size_t first = 0; first < rows.size(); first += most_pieces) {
    const std::size_t count = std::min(most_pieces, rows.size() - first);
    p.from = from.address() + static_cast<std::int64_t>(first) * p.from_steps[0] * element;
    p.pieces = static_cast<std::int64_t>(count);
    for (std::size_t i = 0; i < count; ++i)
      p.to[i] = rows[first + i].address();
    TRY(append_all(p, element, where));
  }
  return {};
}

result<void> run_kv_append(const dnn::kv_append& r, lane& where) {
  TRY(append(r.k, r.rows_k, where));
  return append(r.v, r.rows_v, where);
}

const plugin_operations kv_append_operations([](operation_table& table) {
  add<dnn::kv_append>(table, run_kv_append);
});

}  // namespace
}  // namespace troupe::cuda
