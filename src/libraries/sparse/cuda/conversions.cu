#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/executor.hpp"
#include "libraries/sparse/cuda/kernels/dense.cuh"
#include "libraries/sparse/cuda/kernels/grid.cuh"
#include "libraries/sparse/cuda/kernels/made_matrix.cuh"
#include "libraries/sparse/cuda/kernels/places.cuh"
#include "libraries/sparse/cuda/kernels/report.cuh"
#include "libraries/sparse/cuda/kernels/values.cuh"

#include <troupe/sparse/conversions.hpp>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <bit>
#include <limits>

namespace troupe::cuda {
namespace {

constexpr int warp = 32;

// Dense to sparse: counts the elements of each row, adds the numbers up, and writes the rows. -----

template <class D>
__device__ bool is_stored(const D& v) {
  const work_of<D> w = widened(v);
  if constexpr (requires { w.re; }) {
    return w.re != 0 || w.im != 0;
  } else {
    return w != 0;
  }
}

/// One warp per row; for csc, `a` is transposed.
template <class D>
__global__ void count_elements(dense_operand<const D> a, std::int64_t* counts) {
  const std::int64_t i = thread_number() / warp;
  const std::int64_t lane = threadIdx.x % warp;
  if (i > a.rows) return;
  std::int64_t count = 0;
  // The extra last row has no elements: its offset is the end of the last one.
  for (std::int64_t j = lane; i < a.rows && j < a.columns; j += warp)
    count += is_stored(a(i, j)) ? 1 : 0;
  for (int step = warp / 2; step > 0; step /= 2)
    count += __shfl_down_sync(~0u, count, step);
  if (lane == 0) counts[i] = count;
}

template <class D>
__global__ void write_elements(dense_operand<const D> a, const std::int64_t* begins,
                               made_matrix<D> to) {
  const std::int64_t i = thread_number() / warp;
  const std::int64_t lane = threadIdx.x % warp;
  if (i > a.rows) return;
  std::int64_t next = begins[i];
  if (lane == 0) to.begin_major(i, next);
  for (std::int64_t first = 0; i < a.rows && first < a.columns; first += warp) {
    const std::int64_t j = first + lane;
    const bool stored = j < a.columns && is_stored(a(i, j));
    const unsigned all = __ballot_sync(~0u, stored);
    const int before = __popc(all & ((1u << lane) - 1));
    if (stored) to.put(next + before, i, j, a(i, j));
    next += __popc(all);
  }
}

__global__ void answer_count(const std::int64_t* number, std::int64_t capacity, std::int64_t* nnz,
                             std::int64_t* reply, late_failure failure) {
  answer_number(*number, capacity, nnz, reply, failure);
}

result<void> run_from_dense(const sparse::from_dense& r, lane& where, std::int64_t* reply,
                            late_failure failure) {
  const cudaStream_t stream = where.stream();
  return with_values(r.a.type(), [&]<class T, class D>(T, D) -> result<void> {
    const dense_operand<const D> a(r.b.format == sparse_format::csc ? r.a.transpose() : r.a);
    call_frame c(where);
    const auto counts = c.array<std::int64_t>(a.rows + 1);
    const auto begins = c.array<std::int64_t>(a.rows + 1);
    const auto sum_up = [&](void* memory, std::size_t& bytes) {
      return check(cub::DeviceScan::ExclusiveSum(memory, bytes, counts.get(), begins.get(),
                                                 a.rows + 1, stream),
                   "cub::DeviceScan::ExclusiveSum");
    };
    std::size_t bytes = 0;
    TRY(sum_up(nullptr, bytes));
    c.share(bytes);
    TRY(c.begin());
    TRY(launch_over((a.rows + 1) * warp, count_elements<D>, stream, a, counts));
    TRY(sum_up(c.shared(), bytes));
    TRY(launch_over((a.rows + 1) * warp, write_elements<D>, stream, a, begins,
                    made_matrix<D>(r.b)));
    return launch(answer_count, 1, 1, stream, begins + a.rows, r.b.indices.extent(0),
                  address_of_count(r.nnz), reply, failure);
  });
}

// Sparse to dense. --------------------------------------------------------------------------------

template <class D>
__global__ void clear(dense_operand<D> b) {
  const std::int64_t at = thread_number();
  if (at < b.rows * b.columns) b(at / b.columns, at % b.columns) = D{};
}
template <class D>
__global__ void add_elements(sparse::pattern p, const D* values, std::int64_t stored,
                             dense_operand<D> b) {
  const std::int64_t e = thread_number();
  if (e >= stored) return;
  const sparse::element_place place = p.place_of(e);
  if (place.what == sparse::element_place::kind::element)
    add_atomically(&b(place.row, place.column), values[e]);
}

result<void> run_to_dense(const sparse::to_dense& r, lane& where, late_failure failure) {
  const cudaStream_t stream = where.stream();
  return with_values(r.b.type(), [&]<class T, class D>(T, D) -> result<void> {
    const dense_operand<D> b(r.b);
    call_frame c(where);
    checking pattern(c, r.a, sparse::pattern_claim::places, failure);
    TRY(c.begin());
    TRY(launch_over(b.rows * b.columns, clear<D>, stream, b));
    TRY(launch_over(r.a.stored(), add_elements<D>, stream, sparse::pattern_of(r.a),
                    reinterpret_cast<const D*>(r.a.values.address()), r.a.stored(), b));
    return c.end();
  });
}

// Between formats: elements are sorted by their places. -------------------------------------------

__global__ void begin_majors(const std::uint64_t* keys, std::int64_t count, place_order order,
                             made_offsets to) {
  const std::int64_t i = thread_number();
  if (i > order.majors) return;
  const auto first = static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(order.minors);
  to.begin_major(i, count_below(keys, count, first));
}

template <class Number, class D>
__global__ void put_sorted(const std::uint64_t* keys, const Number* numbers, std::int64_t count,
                           place_order order, const D* values, made_matrix<D> to) {
  const std::int64_t k = thread_number();
  if (k >= count || keys[k] >= order.last()) return;
  const auto key = static_cast<std::int64_t>(keys[k]);
  to.put(k, key / order.minors, key % order.minors, values[numbers[k]]);
}

__global__ void answer_converted(const std::uint64_t* keys, std::int64_t count, place_order order,
                                 std::int64_t capacity, std::int64_t* nnz, std::int64_t* reply,
                                 pattern_report report, late_failure failure) {
  if (report.write(failure)) return;
  answer_number(count_below(keys, count, order.last()), capacity, nnz, reply, failure);
}

/// Sorts elements by their places in the result. `Number` numbers the elements.
template <class Number>
struct place_sort {
  place_sort(call_frame& c, std::int64_t stored, const place_order& order)
      : count(order.last() > 0 ? stored : 0),
        bits(std::bit_width(order.last())),
        made_keys(c.array<std::uint64_t>(count)),
        made_numbers(c.array<Number>(count)),
        keys(c.array<std::uint64_t>(count)),
        numbers(c.array<Number>(count)) {}

  /// The bytes that `run` needs.
  [[nodiscard]] result<std::size_t> bytes() const {
    std::size_t needed = 0;
    if (count > 0) TRY(call(nullptr, needed, nullptr));
    return needed;
  }
  [[nodiscard]] result<void> run(const call_frame& c, std::size_t bytes,
                                 cudaStream_t stream) const {
    if (count == 0) return {};
    return call(c.shared(), bytes, stream);
  }

  /// A result without places has no elements.
  std::int64_t count;
  int bits;
  frame_array<std::uint64_t> made_keys;
  frame_array<Number> made_numbers;
  frame_array<std::uint64_t> keys;
  frame_array<Number> numbers;

 private:
  [[nodiscard]] result<void> call(void* memory, std::size_t& bytes, cudaStream_t stream) const {
    return check(
        cub::DeviceRadixSort::SortPairs(memory, bytes, made_keys.get(), keys.get(),
                                        made_numbers.get(), numbers.get(), count, 0, bits, stream),
        "cub::DeviceRadixSort::SortPairs");
  }
};

/// A matrix that is made of a part of another.
struct part {
  const sparse_matrix& a;
  const sparse_matrix& b;
  const any_tensor& nnz;
  first_place first{};
};

template <class Number, class D>
result<void> take_part_as(const part& r, lane& where, std::int64_t* reply, late_failure failure) {
  const cudaStream_t stream = where.stream();
  const place_order order(r.b);
  call_frame c(where);
  const auto first_fault = c.array<unsigned long long>(1);
  const place_sort<Number> sorted(c, r.a.stored(), order);
  const std::int64_t count = sorted.count;
  const std::size_t bytes = TRY(sorted.bytes());
  c.share(bytes);
  TRY(c.begin());
  constexpr auto claim = sparse::pattern_claim::places;
  TRY(enqueue_pattern_check(r.a, claim, first_fault, stream));
  TRY(launch_over(count, make_keys<Number>, stream, sparse::pattern_of(r.a), count, order, r.first,
                  0, sorted.made_keys, sorted.made_numbers));
  TRY(sorted.run(c, bytes, stream));
  if (r.b.format != sparse_format::coo) {
    TRY(launch_over(order.majors + 1, begin_majors, stream, sorted.keys, count, order,
                    made_offsets(r.b)));
  }
  TRY(launch_over(count, put_sorted<Number, D>, stream, sorted.keys, sorted.numbers, count, order,
                  reinterpret_cast<const D*>(r.a.values.address()), made_matrix<D>(r.b)));
  return launch(answer_converted, 1, 1, stream, sorted.keys, count, order, r.b.indices.extent(0),
                address_of_count(r.nnz), reply, pattern_report(r.a, claim, first_fault), failure);
}

result<void> take_part(const part& r, lane& where, std::int64_t* reply, late_failure failure) {
  const auto take = [&]<class Number>(Number) -> result<void> {
    // Moves values by their width.
    switch (size_of(r.a.values.type())) {
      case 2:
        return take_part_as<Number, std::uint16_t>(r, where, reply, failure);
      case 4:
        return take_part_as<Number, std::uint32_t>(r, where, reply, failure);
      case 8:
        return take_part_as<Number, std::uint64_t>(r, where, reply, failure);
      default:
        return take_part_as<Number, complex_value<double>>(r, where, reply, failure);
    }
  };
  if (r.a.stored() <= std::numeric_limits<std::uint32_t>::max()) return take(std::uint32_t{});
  return take(std::uint64_t{});
}

result<void> run_convert(const sparse::convert& r, lane& where, std::int64_t* reply,
                         late_failure failure) {
  return take_part({.a = r.a, .b = r.b, .nnz = r.nnz}, where, reply, failure);
}
result<void> run_slice(const sparse::slice& r, lane& where, std::int64_t* reply,
                       late_failure failure) {
  return take_part(
      {.a = r.a, .b = r.b, .nnz = r.nnz, .first = {.row = r.first_row, .column = r.first_column}},
      where, reply, failure);
}

// Sums: elements of both are sorted by their places, and those of one place are added up. ---------

template <class D>
result<void> add_as(const sparse::add& r, lane& where, std::int64_t* reply, late_failure failure) {
  using working = work_of<D>;
  const cudaStream_t stream = where.stream();
  const std::int64_t of_a = r.a.stored();
  const place_order order(r.c);
  call_frame c(where);
  const auto faults = c.array<unsigned long long>(2);
  const place_sort<std::uint64_t> sorted(c, of_a + r.b.stored(), order);
  const std::int64_t count = sorted.count;
  const auto places = c.array<std::int64_t>(count);
  const auto sum_up = [&](void* memory, std::size_t& bytes) {
    return check(
        cub::DeviceScan::InclusiveSum(memory, bytes, places.get(), places.get(), count, stream),
        "cub::DeviceScan::InclusiveSum");
  };
  const std::size_t for_sort = TRY(sorted.bytes());
  std::size_t for_sum = 0;
  if (count > 0) TRY(sum_up(nullptr, for_sum));
  c.share(for_sort);
  c.share(for_sum);
  TRY(c.begin());
  constexpr auto claim = sparse::pattern_claim::places;
  TRY(enqueue_pattern_check(r.a, claim, faults, stream));
  TRY(enqueue_pattern_check(r.b, claim, faults + 1, stream));
  if (count > 0) {
    constexpr auto make = make_keys<std::uint64_t>;
    TRY(launch_over(of_a, make, stream, sparse::pattern_of(r.a), of_a, order, first_place{}, 0,
                    sorted.made_keys, sorted.made_numbers));
    TRY(launch_over(r.b.stored(), make, stream, sparse::pattern_of(r.b), r.b.stored(), order,
                    first_place{}, of_a, sorted.made_keys + of_a, sorted.made_numbers + of_a));
    TRY(sorted.run(c, for_sort, stream));
    TRY(launch_over(count, mark_places, stream, sorted.keys, count, order, places));
    TRY(sum_up(c.shared(), for_sum));
  }
  if (r.c.format != sparse_format::coo) {
    TRY(launch_over(order.majors + 1, begin_added, stream, sorted.keys, places, count, order,
                    made_offsets(r.c)));
  }
  const auto data = [](const sparse_matrix& m) {
    return reinterpret_cast<const D*>(m.values.address());
  };
  TRY(launch_over(
      count, put_sums<D, working>, stream, sorted.keys, sorted.numbers, places, count, order,
      added_values<D, working>{data(r.a), data(r.b), of_a, factor_as<working>::of(r.alpha),
                               factor_as<working>::of(r.beta), !r.alpha.is_zero(),
                               !r.beta.is_zero()},
      made_matrix<D>(r.c)));
  return launch(answer_added, 1, 1, stream, places, count, r.c.indices.extent(0),
                address_of_count(r.nnz), reply, pattern_report(r.a, claim, faults),
                pattern_report(r.b, claim, faults + 1), failure);
}

result<void> run_add(const sparse::add& r, lane& where, std::int64_t* reply, late_failure failure) {
  return with_values(r.c.values.type(),
                     [&]<class T, class D>(T, D) { return add_as<D>(r, where, reply, failure); });
}

const plugin_operations operations([](operation_table& table) {
  add<sparse::from_dense>(table, run_from_dense);
  add<sparse::to_dense>(table, run_to_dense);
  add<sparse::convert>(table, run_convert);
  add<sparse::slice>(table, run_slice);
  add<sparse::add>(table, run_add);
});

}  // namespace
}  // namespace troupe::cuda
