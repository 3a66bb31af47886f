#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/late_failure.cuh"
#include "libraries/sparse/cuda/kernels/dense.cuh"
#include "libraries/sparse/cuda/kernels/grid.cuh"
#include "libraries/sparse/cuda/kernels/values.cuh"

#include <troupe/sparse/vectors.hpp>

#include <algorithm>

namespace troupe::cuda {
namespace {

constexpr int warp = 32;
constexpr unsigned most_blocks = 1024;

/// The indices of a sparse vector. Each is checked when it is used; the first that is out of range
/// goes to `first_wrong`.
struct index_vector {
  sparse::index_list list;
  std::int64_t step;
  std::int64_t count;
  std::int64_t extent;  ///< the length of the dense vector
  place* first_wrong;

  index_vector(const any_tensor& indices, const any_tensor& y, place* wrong)
      : list(sparse::indices_of(indices)),
        step(indices.stride(0)),
        count(indices.extent(0)),
        extent(y.extent(0)),
        first_wrong(wrong) {}
  __device__ std::int64_t at(std::int64_t k) const { return list[k * step]; }
  /// Calls `f(i)` with the index of element k if it is in range.
  template <class F>
  __device__ void use(std::int64_t k, F f) const {
    if (k >= count) return;
    const std::int64_t i = at(k);
    if (is_inside(i, extent)) {
      f(i);
    } else {
      atomicMin(first_wrong, static_cast<place>(k));
    }
  }
  /// Fails the request if an index was out of range. \returns whether one was
  __device__ bool report(late_failure failure) const {
    if (*first_wrong == nowhere) return false;
    const auto k = static_cast<std::int64_t>(*first_wrong);
    failure.write(errc::invalid_argument, "indices[", k, "] is ", at(k), ", outside [0, ", extent,
                  ")");
    return true;
  }
};

__global__ void report_index(index_vector indices, late_failure failure) {
  (void)indices.report(failure);
}

/// Notes the first index out of range, in a frame.
class noted_index final : call_frame::step {
 public:
  explicit noted_index(call_frame& c) : step(c), first_wrong_(c.array<place>(1)) {}
  operator place*() const noexcept { return first_wrong_; }

 private:
  result<void> before(lane& where) override {
    return check(cudaMemsetAsync(first_wrong_, 0xff, sizeof(place), where.stream()),
                 "cudaMemsetAsync");
  }
  frame_array<place> first_wrong_;
};

/// Calls `enqueue(indices)`, then reports a wrong index.
template <class R, class Enqueue>
result<void> with_checked_indices(const R& r, lane& where, late_failure failure, Enqueue enqueue) {
  call_frame c(where);
  noted_index first_wrong(c);
  TRY(c.begin());
  const index_vector indices(r.indices, r.y, first_wrong);
  TRY(enqueue(indices));
  return launch(report_index, 1, 1, where.stream(), indices, failure);
}

template <class D>
__global__ void scale_vector(dense_operand<D> y, work_of<D> beta, bool keeps) {
  const std::int64_t i = thread_number();
  if (i >= y.rows) return;
  y(i) = narrowed<D>::from(keeps ? beta * widened(y(i)) : work_of<D>{});
}
template <class D>
__global__ void add_elements(index_vector indices, dense_operand<const D> x, work_of<D> alpha,
                             dense_operand<D> y) {
  const std::int64_t k = thread_number();
  indices.use(
      k, [&](std::int64_t i) { y(i) = narrowed<D>::from(widened(y(i)) + alpha * widened(x(k))); });
}

result<void> run_axpby(const sparse::axpby& r, lane& where, late_failure failure) {
  return with_values(r.y.type(), [&]<class T, class D>(T, D) -> result<void> {
    using work = work_of<D>;
    const dense_operand<D> y(r.y);
    if (r.beta.template as<std::complex<double>>() != 1.0) {
      TRY(launch_over(y.rows, scale_vector<D>, where.stream(), y, factor_as<work>::of(r.beta),
                      !r.beta.is_zero()));
    }
    if (r.alpha.is_zero()) return {};
    return with_checked_indices(r, where, failure, [&](const index_vector& indices) {
      return launch_over(indices.count, add_elements<D>, where.stream(), indices,
                         dense_operand<const D>(r.values), factor_as<work>::of(r.alpha), y);
    });
  });
}

template <class D>
__global__ void gather_elements(index_vector indices, dense_operand<const D> y,
                                dense_operand<D> x) {
  const std::int64_t k = thread_number();
  indices.use(k, [&](std::int64_t i) { x(k) = y(i); });
}
template <class D>
__global__ void scatter_elements(index_vector indices, dense_operand<const D> x,
                                 dense_operand<D> y) {
  const std::int64_t k = thread_number();
  indices.use(k, [&](std::int64_t i) { y(i) = x(k); });
}

result<void> run_gather(const sparse::gather& r, lane& where, late_failure failure) {
  return with_values(r.y.type(), [&]<class T, class D>(T, D) {
    return with_checked_indices(r, where, failure, [&](const index_vector& indices) {
      return launch_over(indices.count, gather_elements<D>, where.stream(), indices,
                         dense_operand<const D>(r.y), dense_operand<D>(r.values));
    });
  });
}
result<void> run_scatter(const sparse::scatter& r, lane& where, late_failure failure) {
  return with_values(r.y.type(), [&]<class T, class D>(T, D) {
    return with_checked_indices(r, where, failure, [&](const index_vector& indices) {
      return launch_over(indices.count, scatter_elements<D>, where.stream(), indices,
                         dense_operand<const D>(r.values), dense_operand<D>(r.y));
    });
  });
}

template <class D>
__global__ void rotate(index_vector indices, dense_operand<D> x, dense_operand<D> y, work_of<D> c,
                       work_of<D> s) {
  const std::int64_t k = thread_number();
  indices.use(k, [&](std::int64_t i) {
    const work_of<D> from_x = widened(x(k));
    const work_of<D> from_y = widened(y(i));
    x(k) = narrowed<D>::from(c * from_x + s * from_y);
    y(i) = narrowed<D>::from(c * from_y - s * from_x);
  });
}

result<void> run_rot(const sparse::rot& r, lane& where, late_failure failure) {
  return with_values(r.y.type(), [&]<class T, class D>(T, D) {
    using work = work_of<D>;
    return with_checked_indices(r, where, failure, [&](const index_vector& indices) {
      return launch_over(indices.count, rotate<D>, where.stream(), indices,
                         dense_operand<D>(r.values), dense_operand<D>(r.y),
                         factor_as<work>::of(r.c), factor_as<work>::of(r.s));
    });
  });
}

/// The sum over a block, in its first thread; the order is fixed.
template <class W>
__device__ W sum_of_block(W value) {
  __shared__ W of_warps[block_threads / warp];
  value = warp_sum(value);
  if (threadIdx.x % warp == 0) of_warps[threadIdx.x / warp] = value;
  __syncthreads();
  if (threadIdx.x != 0) return value;
  for (unsigned w = 1; w < block_threads / warp; ++w)
    value = value + of_warps[w];
  return value;
}

template <class D>
__global__ void sum_products(index_vector indices, dense_operand<const D> x,
                             dense_operand<const D> y, bool conjugated, work_of<D>* of_blocks) {
  work_of<D> sum{};
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t k = thread_number(); k < indices.count; k += step) {
    indices.use(k, [&](std::int64_t i) {
      const work_of<D> v = widened(x(k));
      sum = sum + (conjugated ? conjugate_of(v) : v) * widened(y(i));
    });
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = sum;
}

__device__ scalar as_scalar(float v) { return v; }
__device__ scalar as_scalar(double v) { return v; }
template <class R>
__device__ scalar as_scalar(complex_value<R> v) {
  return std::complex<R>(v.re, v.im);
}

template <class D>
__global__ void answer_sum(index_vector indices, const work_of<D>* of_blocks, unsigned blocks,
                           D* result, scalar* reply, late_failure failure) {
  work_of<D> sum{};
  for (unsigned b = threadIdx.x; b < blocks; b += blockDim.x)
    sum = sum + of_blocks[b];
  sum = sum_of_block(sum);
  if (threadIdx.x != 0 || indices.report(failure)) return;
  const D answer = narrowed<D>::from(sum);
  if (result != nullptr) {
    *result = answer;
  } else {
    *reply = as_scalar(widened(answer));
  }
}

result<void> run_spvv(const sparse::spvv& r, lane& where, scalar* reply, late_failure failure) {
  return with_values(r.y.type(), [&]<class T, class D>(T, D) -> result<void> {
    using work = work_of<D>;
    *reply = {};
    call_frame c(where);
    noted_index first_wrong(c);
    const auto sums = c.array<work>(most_blocks);
    TRY(c.begin());
    const index_vector indices(r.indices, r.y, first_wrong);
    const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>(
        (indices.count + block_threads - 1) / block_threads, 1, most_blocks));
    D* const result = r.result.null() ? nullptr : reinterpret_cast<D*>(r.result.address());
    TRY(launch(sum_products<D>, blocks, block_threads, where.stream(), indices,
               dense_operand<const D>(r.values), dense_operand<const D>(r.y),
               r.op_x == blas::op::conjugate, sums));
    return launch(answer_sum<D>, 1, block_threads, where.stream(), indices, sums, blocks, result,
                  reply, failure);
  });
}

const plugin_operations operations([](operation_table& table) {
  add<sparse::spvv>(table, run_spvv);
  add<sparse::axpby>(table, run_axpby);
  add<sparse::gather>(table, run_gather);
  add<sparse::scatter>(table, run_scatter);
  add<sparse::rot>(table, run_rot);
});

}  // namespace
}  // namespace troupe::cuda
