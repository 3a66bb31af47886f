#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/launch.cuh"
#include "libraries/sparse/cuda/kernels/sparse_products.cuh"
#include "libraries/sparse/cuda/pattern_check.hpp"
#include "libraries/sparse/shared/sparse_factors.hpp"

#include <troupe/sparse/sparse_products.hpp>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace troupe::cuda {
namespace {

std::int64_t blocks_for(std::int64_t steps, const lane& where) noexcept {
  return std::clamp<std::int64_t>((steps + threads - 1) / threads, 1,
                                  std::int64_t{16} * where.multiprocessors());
}

/// The workspace of a product. The number of products is 0 until it is known.
struct work {
  call_frame frame;
  frame_array<place> faults;  ///< the first fault of each factor's pattern
  frame_array<std::int64_t> ends;
  frame_array<place> keys[2];
  frame_array<place> numbers[2];

  explicit work(lane& where) : frame(where), faults(frame.array<place>(2)) {}
  [[nodiscard]] result<void> take(std::int64_t slots, std::int64_t products, int bits) {
    std::int64_t* const sums = nullptr;
    cub::DoubleBuffer<place> none;
    std::size_t needed = 0;
    for (const std::int64_t n : {slots, products}) {
      TRY(check(cub::DeviceScan::InclusiveSum(nullptr, needed, sums, sums, n),
                "cub::DeviceScan::InclusiveSum"));
      frame.share(needed);
    }
    TRY(check(cub::DeviceRadixSort::SortPairs(nullptr, needed, none, none, products, 0, bits),
              "cub::DeviceRadixSort::SortPairs"));
    frame.share(needed);
    ends = frame.array<std::int64_t>(slots);
    for (const int which : {0, 1}) {
      keys[which] = frame.array<place>(products);
      numbers[which] = frame.array<place>(products);
    }
    return frame.begin();
  }
};

result<void> sum_up(std::int64_t* numbers, std::int64_t n, const work& room, lane& where) {
  if (n == 0) return {};
  std::size_t bytes = room.frame.shared_bytes().device;
  return check(cub::DeviceScan::InclusiveSum(room.frame.shared(), bytes, numbers, numbers, n,
                                             static_cast<cudaStream_t>(where.stream())),
               "cub::DeviceScan::InclusiveSum");
}

/// Enqueues the end of each left element's products in the list of all products.
result<void> find_ends(const factor_patterns& f, const work& room, lane& where) {
  if (f.left.slots == 0) return {};
  TRY(launch(count_products, blocks_for(f.left.slots, where), threads, where.stream(), f,
             room.ends));
  return sum_up(room.ends, f.left.slots, room, where);
}

/// The facts about a product that the host needs.
struct known_product {
  bool good = false;  ///< false: the request has been failed
  std::int64_t products = 0;
};

/// Reads them, and waits for the lane.
result<known_product> look_at(const sparse::sparse_factors& factors, const factor_patterns& f,
                              late_failure failure, lane& where) {
  constexpr auto claim = sparse::pattern_claim::places;
  work room(where);
  TRY(room.take(f.left.slots, 0, 1));
  const cudaStream_t stream = where.stream();
  place faults[2] = {};
  known_product known;
  const auto read = [&](auto& to, const auto* from) {
    return check(cudaMemcpyAsync(&to, from, sizeof to, cudaMemcpyDeviceToHost, stream),
                 "cudaMemcpyAsync");
  };
  TRY(enqueue_pattern_check(factors.left, claim, room.faults, stream));
  TRY(enqueue_pattern_check(factors.right, claim, room.faults + 1, stream));
  TRY(find_ends(f, room, where));
  TRY(read(faults, room.faults.get()));
  if (f.left.slots > 0) TRY(read(known.products, room.ends + f.left.slots - 1));
  TRY(check(cudaStreamSynchronize(stream), "cudaStreamSynchronize"));
  for (const int which : {0, 1}) {
    if (static_cast<std::int64_t>(faults[which]) == no_fault) continue;
    const sparse_matrix& wrong = which == 0 ? factors.left : factors.right;
    TRY(enqueue_pattern_report(wrong, claim, room.faults + which, failure, stream));
    return known;
  }
  known.good = true;
  return known;
}

/// Enqueues sorting the products by position. Precondition: there is at least one.
result<sorted_products> sort_products(const factor_patterns& f, const work& room,
                                      std::int64_t products, int bits, lane& where) {
  const cudaStream_t stream = where.stream();
  cub::DoubleBuffer<place> keys(room.keys[0], room.keys[1]);
  cub::DoubleBuffer<place> numbers(room.numbers[0], room.numbers[1]);
  const std::int64_t blocks = blocks_for(products, where);
  TRY(launch(expand, blocks, threads, stream, f, room.ends, products, room.keys[0],
             room.numbers[0]));
  std::size_t bytes = room.frame.shared_bytes().device;
  TRY(check(cub::DeviceRadixSort::SortPairs(room.frame.shared(), bytes, keys, numbers, products, 0,
                                            bits, stream),
            "cub::DeviceRadixSort::SortPairs"));
  auto* const elements = reinterpret_cast<std::int64_t*>(keys.Alternate());
  TRY(launch(mark, blocks, threads, stream, keys.Current(), products, elements));
  TRY(sum_up(elements, products, room, where));
  return sorted_products{keys.Current(), numbers.Current(), elements, products};
}

/// Calls `write(products, ends)` after sorting, then reports the outcome.
template <class Write>
result<void> run(const sparse::sparse_factors& factors, std::int64_t capacity,
                 const any_tensor& nnz, std::int64_t* reply, late_failure failure, lane& where,
                 Write write) {
  const factor_patterns f(factors);
  const auto known = TRY(look_at(factors, f, failure, where));
  if (!known.good) return {};
  const auto last = static_cast<place>(std::max<std::int64_t>(f.rows() * f.columns(), 1) - 1);
  const int bits = std::max(1, static_cast<int>(std::bit_width(last)));
  work room(where);
  TRY(room.take(f.left.slots, known.products, bits));
  TRY(find_ends(f, room, where));
  sorted_products sorted{};
  if (known.products > 0) {
    sorted = TRY(sort_products(f, room, known.products, bits, where));
  }
  TRY(write(sorted, room.ends.get()));
  return launch(conclude, 1, 1, where.stream(), sorted, capacity, address_of_count(nnz), reply,
                failure);
}

template <class T>
result<void> multiply(const sparse::spgemm& r, lane& where, std::int64_t* reply,
                      late_failure failure) {
  using device = device_t<T>;
  using working = decltype(widened(std::declval<device>()));
  const sparse::sparse_factors of(r);
  const factor_patterns f(of);
  const std::int64_t capacity = r.c.indices.extent(0);
  working alpha{};
  if constexpr (std::is_same_v<working, float>) {
    alpha = r.alpha.as<float>();
  } else {
    alpha = value_of(r.alpha.as<T>());
  }
  const cudaStream_t stream = where.stream();
  return run(of, capacity, r.nnz, reply, failure, where,
             [&](const sorted_products& sorted, const std::int64_t* ends) -> result<void> {
               TRY(launch(write_offsets, blocks_for(f.rows() + 1, where), threads, stream, f,
                          sorted, made_list(r.c.offsets)));
               if (sorted.count == 0) return {};
               return launch(write_elements<device, working>, blocks_for(sorted.count, where),
                             threads, stream, f, ends, sorted,
                             on_device(of.left.values.template data<T>()),
                             on_device(of.right.values.template data<T>()), alpha, capacity,
                             made_list(r.c.indices), on_device(r.c.values.template data<T>()));
             });
}

result<void> run_spgemm(const sparse::spgemm& r, lane& where, std::int64_t* reply,
                        late_failure failure) {
  switch (r.a.values.type()) {
    case dtype::f64:
      return multiply<double>(r, where, reply, failure);
    case dtype::f16:
      return multiply<f16>(r, where, reply, failure);
    case dtype::bf16:
      return multiply<bf16>(r, where, reply, failure);
    case dtype::c64:
      return multiply<std::complex<float>>(r, where, reply, failure);
    case dtype::c128:
      return multiply<std::complex<double>>(r, where, reply, failure);
    default:
      return multiply<float>(r, where, reply, failure);
  }
}

result<void> run_size(const sparse::spgemm_size& r, lane& where, std::int64_t* reply,
                      late_failure failure) {
  return run(sparse::sparse_factors(r), std::numeric_limits<std::int64_t>::max(), r.nnz, reply,
             failure, where,
             [](const sorted_products&, const std::int64_t*) { return result<void>(); });
}

const plugin_operations operations([](operation_table& table) {
  add<sparse::spgemm>(table, run_spgemm, effort::blocks_host);
  add<sparse::spgemm_size>(table, run_size, effort::blocks_host);
});

}  // namespace
}  // namespace troupe::cuda
