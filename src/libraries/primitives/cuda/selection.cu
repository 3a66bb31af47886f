#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/late_failure.cuh"
#include "libraries/primitives/cuda/kernels/choice.cuh"
#include "libraries/primitives/cuda/kernels/compaction.cuh"
#include "libraries/primitives/cuda/kernels/grid.cuh"
#include "libraries/primitives/cuda/packing.hpp"
#include "libraries/primitives/cuda/selection.hpp"
#include "libraries/primitives/cuda/sort/radix_sort.hpp"

#include <algorithm>

namespace troupe::cuda {
namespace {

__global__ void answer_number(const std::int64_t* number, std::int64_t capacity,
                              std::int64_t* count, std::int64_t* reply, late_failure failure) {
  if (count != nullptr) *count = *number;
  if (*number <= capacity) {
    *reply = *number;
  } else {
    failure.write(errc::capacity_exceeded, "needs ", *number,
                  " elements, but the result has room for ", capacity);
  }
}

/// Enqueues the reply, which must be the last work of an executor.
result<void> enqueue_answer(const std::int64_t* number, std::int64_t capacity,
                            const any_tensor& count, std::int64_t* reply, late_failure failure,
                            const lane& where) {
  auto* const to = count.null() ? nullptr : count.data<std::int64_t>();
  return launch(answer_number, 1, 1, where.stream(), number, capacity, to, reply, failure);
}

/// The reply for a request without elements.
result<void> answer_none(const any_tensor& count, std::int64_t* reply, const lane& where) {
  *reply = 0;
  if (count.null()) return {};
  return check(cudaMemsetAsync(count.address(), 0, sizeof(std::int64_t), where.stream()),
               "cudaMemsetAsync");
}

/// Keeps elements of x in y. The elements that `others` selects, if given, follow them.
result<void> enqueue_choice(const any_tensor& x, const any_tensor& y, const choice& chosen,
                            const choice* others, const any_tensor& count, std::int64_t* reply,
                            late_failure failure, lane& where) {
  if (x.empty()) return answer_none(count, reply, where);
  const auto number = TRY(with_element(
      x.type(), [&]<class T>(T) { return enqueue_kept<T>(x, y, chosen, others, where); }));
  return enqueue_answer(number, y.extent(0), count, reply, failure, where);
}

/// Computes values and lengths of the runs that begin at `begins`.
template <class T>
__global__ void __launch_bounds__(block_threads)
    describe_runs(element_source<T> x, std::int64_t n, const std::int64_t* begins,
                  const std::int64_t* number, bounded_sink<T> values,
                  bounded_sink<std::int64_t> lengths) {
  for_each_element(values.capacity, [&](std::int64_t i) {
    if (i >= *number) return;
    const std::int64_t begin = begins[i];
    values.store(i, x(begin));
    lengths.store(i, (i + 1 < *number ? begins[i + 1] : n) - begin);
  });
}

/// Stores the number of each element's run at the element's place.
__global__ void __launch_bounds__(block_threads)
    number_runs(const std::int64_t* begins, const std::int64_t* number, std::int64_t most_begins,
                const std::uint32_t* places, bounded_sink<std::int64_t> to) {
  for_each_element(to.capacity, [&](std::int64_t i) {
    std::int64_t low = 0;  // begins[low] ≤ i < begins[high]
    std::int64_t high = min(*number, most_begins);
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (begins[middle] <= i ? low : high) = middle;
    }
    to.store(places == nullptr ? i : places[i], low);
  });
}

/// The runs of a vector of n elements, some of which may be left out.
struct run_results {
  const any_tensor& values;
  const any_tensor& lengths;
  const any_tensor& inverse;
  const any_tensor& count;
};

/// Finds where runs begin; the rest follows from that.
class run_search {
 public:
  [[nodiscard]] static result<run_search> in(call_frame& c, std::int64_t n, const run_results& to) {
    run_search made(c, n, to);
    made.bytes_ = TRY(made.selection_.needed_bytes());
    c.share(made.bytes_);
    return made;
  }
  /// Takes `x`, whose elements were at `places`, or where they are.
  [[nodiscard]] result<void> enqueue(const call_frame& c, const any_tensor& x,
                                     const std::uint32_t* places, std::int64_t* reply,
                                     late_failure failure, const lane& where) {
    const std::int64_t capacity = to_.values.extent(0);
    selection_.flag = choice::first_of_run(x);
    selection_.sink.first = begins_;
    TRY(selection_.enqueue(c.shared(), bytes_, number_, where.stream()));
    TRY(with_element(x.type(), [&]<class T>(T) {
      return launch_over(capacity, describe_runs<T>, where.stream(), element_source<T>(x),
                         selection_.count, begins_, number_, bounded_sink<T>::of(to_.values),
                         bounded_sink<std::int64_t>::of(to_.lengths));
    }));
    if (!to_.inverse.null()) {
      TRY(launch_over(to_.inverse.extent(0), number_runs, where.stream(), begins_, number_,
                      selection_.sink.capacity, places,
                      bounded_sink<std::int64_t>::of(to_.inverse)));
    }
    return enqueue_answer(number_, capacity, to_.count, reply, failure, where);
  }

 private:
  // One more than the capacity: it gives the end of the last run.
  run_search(call_frame& c, std::int64_t n, const run_results& to)
      : to_(to),
        selection_{{},
                   choice::first_of_run(to.values),
                   {nullptr, 1, std::min(to.values.extent(0), n) + 1},
                   n},
        number_(c.array<std::int64_t>(1)),
        begins_(c.array<std::int64_t>(selection_.sink.capacity)) {}

  run_results to_;
  compaction<own_index, choice, std::int64_t> selection_;
  frame_array<std::int64_t> number_;
  frame_array<std::int64_t> begins_;
  std::size_t bytes_ = 0;
};

result<void> enqueue_runs(const any_tensor& x, const run_results& to, std::int64_t* reply,
                          late_failure failure, lane& where) {
  call_frame c(where);
  auto runs = TRY(run_search::in(c, x.extent(0), to));
  TRY(c.begin());
  return runs.enqueue(c, x, nullptr, reply, failure, where);
}

/// The same of x sorted. With a `Value`, elements take their places along.
template <class Key, class Value>
result<void> enqueue_sorted_runs(const any_tensor& x, const run_results& to, std::int64_t* reply,
                                 late_failure failure, lane& where) {
  constexpr bool has_places = !std::is_same_v<Value, no_value>;
  const std::int64_t n = x.extent(0);
  radix_sort<Key, Value> sort{.order = primitives::sorting_order<Key>(x.type(), false), .count = n};
  const auto sort_bytes = TRY(sort.temporary_bytes());
  call_frame c(where);
  packed_operand before(c, x, use::reads, x.stride(0) == 1, enqueue_copy);
  const auto sorted = c.array<Key>(n);
  const auto places = c.array<std::uint32_t>(has_places ? n : 0);
  const auto sorted_places = c.array<std::uint32_t>(has_places ? n : 0);
  auto runs = TRY(run_search::in(c, n, to));
  c.share(sort_bytes);
  TRY(c.begin());
  sort.keys = reinterpret_cast<const Key*>(before->address());
  sort.sorted_keys = sorted;
  if constexpr (has_places) {
    TRY(enqueue_numbers(places.get(), n, where));
    sort.values = places;
    sort.sorted_values = sorted_places;
  }
  TRY(sort.enqueue(c.shared(), sort_bytes, where));
  const auto in_order =
      any_tensor::unowned(reinterpret_cast<std::byte*>(sorted.get()), x.type(), {n});
  return runs.enqueue(c, in_order, has_places ? sorted_places.get() : nullptr, reply, failure,
                      where);
}

}  // namespace

result<void> enqueue_select(const primitives::select& r, lane& where, std::int64_t* reply,
                            late_failure failure) {
  return enqueue_choice(r.x, r.y, choice::flagged(r.flags, true), nullptr, r.count, reply, failure,
                        where);
}

result<void> enqueue_partition(const primitives::partition& r, lane& where, std::int64_t* reply,
                               late_failure failure) {
  const choice others = choice::flagged(r.flags, false);
  return enqueue_choice(r.x, r.y, choice::flagged(r.flags, true), &others, r.count, reply, failure,
                        where);
}

result<void> enqueue_unique(const primitives::unique& r, lane& where, std::int64_t* reply,
                            late_failure failure) {
  if (r.x.empty()) return answer_none(r.count, reply, where);
  const run_results to{r.y, r.counts, r.inverse, r.count};
  if (r.sort) {
    return primitives::with_key(r.x.type(), [&]<class Key>(Key) {
      return r.inverse.null()
                 ? enqueue_sorted_runs<Key, no_value>(r.x, to, reply, failure, where)
                 : enqueue_sorted_runs<Key, std::uint32_t>(r.x, to, reply, failure, where);
    });
  }
  if (!r.counts.null() || !r.inverse.null()) return enqueue_runs(r.x, to, reply, failure, where);
  return enqueue_choice(r.x, r.y, choice::first_of_run(r.x), nullptr, r.count, reply, failure,
                        where);
}

result<void> enqueue_run_length(const primitives::run_length& r, lane& where, std::int64_t* reply,
                                late_failure failure) {
  if (r.x.empty()) return answer_none(r.count, reply, where);
  return enqueue_runs(r.x, {r.values, r.lengths, any_tensor(), r.count}, reply, failure, where);
}

}  // namespace troupe::cuda
