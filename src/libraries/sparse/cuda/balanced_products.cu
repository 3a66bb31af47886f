#include "backend/cuda/context/call_frame.hpp"
#include "libraries/sparse/cuda/kernels/balanced_products.cuh"
#include "libraries/sparse/cuda/own_products.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace troupe::cuda {
namespace {

constexpr std::int64_t chunks_of(std::int64_t columns, std::int64_t wide) {
  return (columns - 1) / wide + 1;
}

template <class Offset, class I, class D>
result<void> enqueue_product(const balanced_product<Offset, I, D>& p, cudaStream_t stream) {
  if (p.out.columns == 1)
    return launch(multiply_vector<Offset, I, D>, p.a.tiles(), tile_threads, stream, p);
  const std::int64_t chunks = chunks_of(p.out.columns, warp_lanes);
  return launch(multiply_columns<Offset, I, D>, p.a.tiles() * chunks, tile_threads, stream, p,
                chunks);
}

template <class Offset, class I, class D>
result<void> enqueue(const sparse_product& of, lane& where, late_failure failure) {
  const cudaStream_t stream = where.stream();
  const sparse::pattern pattern = sparse::pattern_of(of.a);
  balanced_product<Offset, I, D> p{
      .a = {.offsets = reinterpret_cast<const I*>(of.a.offsets.address()),
            .indices = reinterpret_cast<const I*>(of.a.indices.address()),
            .rows = pattern.majors,
            .columns = pattern.minors(),
            .slots = pattern.slots,
            .first_rows = nullptr,
            .first_fault = nullptr},
      .values = reinterpret_cast<const D*>(of.a.values.address()),
      .in = dense_operand<const D>(of.in),
      .out = dense_operand<D>(of.out),
      .finish = update_of<D>(of.alpha, of.beta),
      .heads = nullptr,
      .carries = nullptr,
      .conjugated = conjugates(of.op)};
  const std::int64_t tiles = p.a.tiles();
  call_frame c(where);
  const auto first_fault = c.array<unsigned long long>(1);
  const auto first_rows = c.array<std::int64_t>(tiles);
  const auto heads = c.array<work_of<D>>(tiles * p.out.columns);
  const auto carries = c.array<work_of<D>>(tiles * p.out.columns);
  TRY(c.begin());
  p.a.first_fault = first_fault;
  p.a.first_rows = first_rows;
  p.heads = heads;
  p.carries = carries;

  constexpr auto claim = sparse::pattern_claim::places;
  const auto lanes = static_cast<int>(
      std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(p.out.columns, warp_lanes))));
  const std::int64_t chunks = chunks_of(p.out.columns, lanes);
  TRY(check(cudaMemsetAsync(p.a.first_fault, no_fault_byte, sizeof *p.a.first_fault, stream),
            "cudaMemsetAsync"));
  TRY(launch_over(p.a.rows + 1, divide_rows<I>, stream, p.a,
                  sparse::pattern_checks(pattern, claim)));
  TRY(enqueue_product(p, stream));
  return launch_over(tiles * chunks * warp_lanes, finish_long_rows<Offset, I, D>, stream, p, chunks,
                     lanes, pattern_report(of.a, claim, p.a.first_fault), failure);
}

}  // namespace

result<void> enqueue_balanced_product(const sparse_product& p, lane& where, late_failure failure) {
  return with_values(p.out.type(), [&]<class T, class D>(T, D) {
    if (p.a.index_type() == dtype::i64)
      return enqueue<std::uint64_t, std::int64_t, D>(p, where, failure);
    // 32-bit offsets halve the instructions for addresses.
    const bool is_near =
        (p.in.extent(0) - 1) * p.in.stride(0) <= std::numeric_limits<std::int32_t>::max();
    return is_near ? enqueue<std::uint32_t, std::int32_t, D>(p, where, failure)
                   : enqueue<std::uint64_t, std::int32_t, D>(p, where, failure);
  });
}

}  // namespace troupe::cuda
