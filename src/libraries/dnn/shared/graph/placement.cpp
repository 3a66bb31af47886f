// Places the tensors of pieces in memory.
#include "libraries/dnn/shared/graph/lowering.hpp"

namespace troupe::dnn {
namespace {

constexpr int address_bits = 48;

void place(any_tensor& t, const graph_memory& memory) {
  if (t.null()) return;
  const auto address = reinterpret_cast<std::uintptr_t>(t.address());
  std::byte* const first = memory.first[(address >> address_bits) - 1];
  const auto bytes = address & ((std::uintptr_t{1} << address_bits) - 1);
  t = any_tensor::unowned(first + bytes, t.type(), shape(t.extents()), t.strides(), t.space());
}
void place_all(blaslt::matmul& one, const graph_memory& memory) {
  for (any_tensor* const t : {&one.a, &one.b, &one.c, &one.d, &one.bias})
    place(*t, memory);
}
template <class Product>
void place_product(Product& one, const graph_memory& memory) {
  for (any_tensor* const t : {&one.a, &one.b, &one.c})
    place(*t, memory);
}
void place_all(blas::gemm& one, const graph_memory& memory) { place_product(one, memory); }
void place_all(blas::gemm_strided_batched& one, const graph_memory& memory) {
  place_product(one, memory);
}
void place_all(convolution_forward& one, const graph_memory& memory) {
  for (any_tensor* const t : {&one.x, &one.w, &one.y, &one.z, &one.bias})
    place(*t, memory);
}
template <class Function>
void place_all(Function& one, const graph_memory& memory) {
  for (auto* const list : {&one.inputs, &one.outputs}) {
    for (any_tensor& t : *list)
      place(t, memory);
  }
}

}  // namespace

any_tensor symbolic(std::size_t memory, std::int64_t bytes, dtype type, const shape& extents,
                    std::span<const std::int64_t> strides, memory_space space) noexcept {
  // Never null, which stands for no tensor.
  const auto address = (memory + 1) << address_bits | static_cast<std::uint64_t>(bytes);
  return any_tensor::unowned(reinterpret_cast<std::byte*>(address), type, extents, strides, space);
}

piece placed(piece one, const graph_memory& memory) {
  std::visit([&](auto& what) { place_all(what, memory); }, one);
  return one;
}

}  // namespace troupe::dnn
