#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/late_failure.cuh"
#include "libraries/primitives/cuda/kernels/choice.cuh"
#include "libraries/primitives/cuda/kernels/compaction.cuh"
#include "libraries/primitives/cuda/kernels/grid.cuh"
#include "libraries/primitives/cuda/selection.hpp"

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
  return enqueue_choice(r.x, r.y, choice::first_of_run(r.x), nullptr, r.count, reply, failure,
                        where);
}

result<void> enqueue_run_length(const primitives::run_length& r, lane& where, std::int64_t* reply,
                                late_failure failure) {
  if (r.x.empty()) return answer_none(r.count, reply, where);
  const std::int64_t n = r.x.extent(0);
  const std::int64_t capacity = r.values.extent(0);
  // One more than the capacity: it gives the end of the last run.
  const std::int64_t most_begins = std::min(capacity, n) + 1;
  compaction<own_index, choice, std::int64_t> selection{
      {}, choice::first_of_run(r.x), {nullptr, 1, most_begins}, n};
  const auto bytes = TRY(selection.needed_bytes());
  call_frame c(where);
  const auto number = c.array<std::int64_t>(1);
  const auto begins = c.array<std::int64_t>(most_begins);
  c.share(bytes);
  TRY(c.begin());
  selection.sink.first = begins;
  TRY(selection.enqueue(c.shared(), bytes, number, where.stream()));
  TRY(with_element(r.x.type(), [&]<class T>(T) {
    return launch_over(capacity, describe_runs<T>, where.stream(), element_source<T>(r.x), n,
                       begins, number, bounded_sink<T>::of(r.values),
                       bounded_sink<std::int64_t>::of(r.lengths));
  }));
  return enqueue_answer(number, capacity, r.count, reply, failure, where);
}

}  // namespace troupe::cuda
