#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/loading.hpp"
#include "libraries/memory/cuda/kernels.hpp"
#include "libraries/memory/shared/element_bytes.hpp"

#include <troupe/memory/fill.hpp>

#include <algorithm>

namespace troupe::cuda {
namespace {

using elementwise::element_bytes;

result<void> fill_elements(const any_tensor& to, element_bytes element, lane& where) {
  elementwise::strided_loops loops(to, to);
  if (loops.empty) return {};
  const std::int64_t bytes = size_of(to.type());
  // Repeat the value, so that a unit of any size begins with it.
  for (std::size_t i = static_cast<std::size_t>(bytes); i < element.size(); ++i)
    element[i] = element[i - static_cast<std::size_t>(bytes)];

  const auto& inner = loops.innermost();
  const bool equal_bytes =
      std::all_of(element.begin(), element.end(), [&](std::byte one) { return one == element[0]; });
  if (equal_bytes && loops.rank == 1 && inner.to == bytes && to.space() == memory_space::device) {
    return check(cudaMemsetAsync(to.address(), std::to_integer<int>(element[0]),
                                 static_cast<std::size_t>(inner.extent * bytes), where.stream()),
                 "cudaMemsetAsync");
  }
  const unit stored = choose_unit(loops, bytes, to.address(), to.address());
  return enqueue_fill(strided_map(loops, false), stored, element.data(), to.address(),
                      where.stream());
}

result<void> run_fill(const memory::fill& r, lane& where) {
  return fill_elements(r.to, elementwise::element_of(r.to.type(), r.value), where);
}

result<void> run_set_bytes(const memory::set_bytes& r, lane& where) {
  element_bytes element;
  element.fill(static_cast<std::byte>(r.byte));
  return fill_elements(r.to, element, where);
}

const kernel_loading fill_kernels(load_fill_kernels);
const plugin_operations fill_operations([](operation_table& table) {
  add<memory::fill>(table, run_fill);
  add<memory::set_bytes>(table, run_set_bytes);
});

}  // namespace

}  // namespace troupe::cuda
