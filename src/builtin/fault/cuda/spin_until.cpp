#include "backend/cuda/context/executor.hpp"
#include "builtin/fault/cuda/kernels.hpp"

#include <troupe/fault/spin_until.hpp>

namespace troupe::cuda {
namespace {

result<void> run_spin_until(const fault::spin_until& r, lane& where) {
  return enqueue_spin_until(r.flag.data<std::uint32_t>(), r.at_most_ns,
                            r.output.null() ? nullptr : r.output.data<float>(),
                            r.output.null() ? 0 : r.output.count(), static_cast<float>(r.value),
                            r.add, where.stream());
}

const plugin_operations spin_until_operations([](operation_table& table) {
  add<fault::spin_until>(table, run_spin_until);
});

}  // namespace

}  // namespace troupe::cuda
