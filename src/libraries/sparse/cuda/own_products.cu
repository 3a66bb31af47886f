#include "backend/cuda/context/executor.hpp"
#include "libraries/sparse/cuda/kernels/dense.cuh"
#include "libraries/sparse/cuda/kernels/grid.cuh"
#include "libraries/sparse/cuda/kernels/values.cuh"
#include "libraries/sparse/cuda/own_products.hpp"
#include "libraries/sparse/cuda/pattern_check.hpp"

namespace troupe::cuda {
namespace {

using sparse::element_place;
using sparse::pattern;

template <class D>
__global__ void scale(dense_operand<D> out, work_of<D> beta, bool keeps) {
  const std::int64_t at = thread_number();
  if (at >= out.rows * out.columns) return;
  D& one = out(at / out.columns, at % out.columns);
  one = narrowed<D>::from(keeps ? beta * widened(one) : work_of<D>{});
}

template <class D>
__global__ void copy_vector(dense_operand<const D> from, dense_operand<D> to) {
  const std::int64_t i = thread_number();
  if (i < to.rows) to(i) = from(i);
}

/// Adds the product of an element and a row of the factor to a row of the sums.
template <class D>
struct scattering {
  pattern p;
  const D* values;
  std::int64_t stored;
  dense_operand<const D> in;
  work_of<D>* sums;  ///< [out.rows, columns]
  std::int64_t columns;
  bool transposed;
  bool conjugated;
};

template <class D>
__global__ void scatter_products(scattering<D> s) {
  const std::int64_t at = thread_number();
  if (at >= s.stored * s.columns) return;
  const std::int64_t e = at / s.columns;
  const std::int64_t c = at % s.columns;
  const element_place place = s.p.place_of(e);
  if (place.what != element_place::kind::element) return;
  const work_of<D> stored = widened(s.values[e]);
  const work_of<D> v = s.conjugated ? conjugate_of(stored) : stored;
  const std::int64_t from = s.transposed ? place.row : place.column;
  const std::int64_t to = s.transposed ? place.column : place.row;
  add_atomically(s.sums + to * s.columns + c, v * widened(s.in(from, c)));
}

template <class D>
__global__ void finish_sums(const work_of<D>* sums, dense_operand<D> out, device_update<D> finish) {
  const std::int64_t at = thread_number();
  if (at < out.rows * out.columns) finish(out(at / out.columns, at % out.columns), sums[at]);
}

/// The rows of bsr, blocked_ell and sliced_ell. A thread iterates over the elements of a row.
template <class D>
struct gathering {
  pattern p;
  const D* values;
  dense_operand<const D> in;
  dense_operand<D> out;
  device_update<D> finish;
  unsigned long long* first_fault;
  bool conjugated;
};

template <class D>
__global__ void gather_products(gathering<D> g) {
  const std::int64_t at = thread_number();
  if (at >= g.out.rows * g.out.columns) return;
  // Neighbouring threads take neighbouring rows, whose elements are contiguous in sliced_ell.
  const std::int64_t i = at % g.out.rows;
  const std::int64_t c = at / g.out.rows;
  const pattern& p = g.p;
  work_of<D> sum{};
  const auto add = [&](std::int64_t k, std::int64_t j) {
    const work_of<D> v = widened(g.values[k]);
    sum = sum + (g.conjugated ? conjugate_of(v) : v) * widened(g.in(j, c));
  };
  if (p.format == sparse_format::blocked_ell) {
    const std::int64_t b = p.block_rows;
    for (std::int64_t k = 0; k < p.width; ++k) {
      const std::int64_t j = p.indices[i / b * p.width + k];
      if (!is_inside(j, p.columns / b)) continue;
      for (std::int64_t q = 0; q < b; ++q)
        add((i * p.width + k) * b + q, j * b + q);
    }
  } else if (p.format == sparse_format::bsr) {
    const slot_range range = range_of(p, i / p.block_rows);
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      const std::int64_t j = p.indices[k];
      if (!is_inside(j, p.minors())) continue;
      for (std::int64_t q = 0; q < p.block_columns; ++q)
        add((k * p.block_rows + i % p.block_rows) * p.block_columns + q, j * p.block_columns + q);
    }
  } else {
    const slot_range range = range_of(p, i / p.slice_rows);
    for (std::int64_t k = range.begin + i % p.slice_rows; k < range.end; k += p.slice_rows) {
      const std::int64_t j = p.indices[k];
      if (is_inside(j, p.columns)) {
        add(k, j);
      } else if (j != -1) {
        atomicMin(g.first_fault, static_cast<unsigned long long>(p.majors + 1 + k));
      }
    }
  }
  g.finish(g.out(i, c), sum);
}

template <class D>
result<void> enqueue_scattering(const sparse_product& p, work_of<D>* sums, cudaStream_t stream) {
  const dense_operand<D> out(p.out);
  const std::int64_t count = out.rows * out.columns;
  const scattering<D> s{.p = sparse::pattern_of(p.a),
                        .values = reinterpret_cast<const D*>(p.a.values.address()),
                        .stored = p.a.stored(),
                        .in = dense_operand<const D>(p.in),
                        .sums = sums,
                        .columns = out.columns,
                        .transposed = transposes(p.op),
                        .conjugated = conjugates(p.op)};
  TRY(check(cudaMemsetAsync(sums, 0, static_cast<std::size_t>(count) * sizeof *sums, stream),
            "cudaMemsetAsync"));
  TRY(launch_over(s.stored * s.columns, scatter_products<D>, stream, s));
  return launch_over(count, finish_sums<D>, stream, sums, out, update_of<D>(p.alpha, p.beta));
}

template <class D>
result<void> enqueue_gathering(const sparse_product& p, unsigned long long* first_fault,
                               cudaStream_t stream) {
  const gathering<D> g{.p = sparse::pattern_of(p.a),
                       .values = reinterpret_cast<const D*>(p.a.values.address()),
                       .in = dense_operand<const D>(p.in),
                       .out = dense_operand<D>(p.out),
                       .finish = update_of<D>(p.alpha, p.beta),
                       .first_fault = first_fault,
                       .conjugated = conjugates(p.op)};
  return launch_over(g.out.rows * g.out.columns, gather_products<D>, stream, g);
}

}  // namespace

result<void> enqueue_scaling(const any_tensor& out, const scalar& beta, lane& where) {
  return with_values(out.type(), [&]<class T, class D>(T, D) {
    const dense_operand<D> all(out);
    return launch_over(all.rows * all.columns, scale<D>, where.stream(), all,
                       factor_as<work_of<D>>::of(beta), !beta.is_zero());
  });
}

result<void> enqueue_vector_copy(const any_tensor& from, const any_tensor& to, lane& where) {
  return with_values(to.type(), [&]<class T, class D>(T, D) {
    return launch_over(to.extent(0), copy_vector<D>, where.stream(), dense_operand<const D>(from),
                       dense_operand<D>(to));
  });
}

result<void> enqueue_own_product(const sparse_product& p, lane& where, late_failure failure) {
  return with_values(p.out.type(), [&]<class T, class D>(T, D) -> result<void> {
    const bool gathers = p.a.format > sparse_format::coo && !transposes(p.op);
    call_frame c(where);
    // The indices of sliced_ell, one per element, are checked by the product's kernel.
    checking pattern(c, p.a, sparse::pattern_claim::places, failure,
                     gathers && p.a.format == sparse_format::sliced_ell ? checking::part::offsets
                                                                        : checking::part::all);
    const auto sums = c.array<work_of<D>>(gathers ? 0 : p.out.count());
    TRY(c.begin());
    TRY(gathers ? enqueue_gathering<D>(p, pattern.first_fault(), where.stream())
                : enqueue_scattering<D>(p, sums, where.stream()));
    return c.end();
  });
}

}  // namespace troupe::cuda
