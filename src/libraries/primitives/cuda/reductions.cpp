#include "libraries/primitives/cuda/reductions.hpp"

#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "libraries/primitives/requests/accumulators.hpp"

namespace troupe::cuda {
namespace {

result<void> run_reduce(const primitives::reduce& r, lane& where, scalar* reply) {
  *reply = {};
  return primitives::is_selection(r.op) ? enqueue_extreme(r, where, reply)
                                        : enqueue_sum(r, where, reply);
}

template <class R>
result<void> find(const R& r, bool smallest, lane& where, std::int64_t* reply) {
  *reply = 0;
  if (!r.x.empty()) {
    return enqueue_search(r.x, smallest,
                          r.result.null() ? reply : r.result.template data<std::int64_t>(), where);
  }
  if (r.result.null()) {
    *reply = -1;
    return {};
  }
  return check(cudaMemsetAsync(r.result.address(), 0xff, sizeof(std::int64_t), where.stream()),
               "cudaMemsetAsync");
}

result<void> run_argmin(const primitives::argmin& r, lane& where, std::int64_t* reply) {
  return find(r, true, where, reply);
}

result<void> run_argmax(const primitives::argmax& r, lane& where, std::int64_t* reply) {
  return find(r, false, where, reply);
}

result<void> run_segmented_reduce(const primitives::segmented_reduce& r, lane& where,
                                  late_failure failure) {
  return enqueue_segmented_reduce(r, where, failure);
}

const plugin_operations reductions_operations([](operation_table& table) {
  add<primitives::reduce>(table, run_reduce);
  add<primitives::argmin>(table, run_argmin);
  add<primitives::argmax>(table, run_argmax);
  add<primitives::segmented_reduce>(table, run_segmented_reduce);
});

}  // namespace

}  // namespace troupe::cuda
