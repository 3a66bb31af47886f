#include "libraries/memory/shared/strided_loops.hpp"

#include <troupe/dnn/kv_append.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <cstring>
#include <vector>

namespace troupe::cpu {
namespace {

void copy_piece(const any_tensor& all, std::int64_t piece, const any_tensor& to) {
  const std::int64_t size = size_of(all.type());
  const auto from = any_tensor::unowned(all.address() + piece * all.stride(0) * size, all.type(),
                                        shape(all.extents().subspan(1)), all.strides().subspan(1));
  const elementwise::strided_loops loops(from, to);
  if (loops.empty) return;
  const auto& inner = loops.innermost();
  loops.for_each_row(from.address(), to.address(), [&](const std::byte* f, std::byte* t) {
    if (inner.from == size && inner.to == size) {
      std::memcpy(t, f, static_cast<std::size_t>(inner.extent * size));
      return;
    }
    for (std::int64_t i = 0; i < inner.extent; ++i)
      std::memcpy(t + i * inner.to, f + i * inner.from, static_cast<std::size_t>(size));
  });
}

result<void> run(const dnn::kv_append& r, lane_context&) {
  for (std::size_t i = 0; i < r.rows_k.size(); ++i) {
    copy_piece(r.k, static_cast<std::int64_t>(i), r.rows_k[i]);
    copy_piece(r.v, static_cast<std::int64_t>(i), r.rows_v[i]);
  }
  return {};
}

const plugin_operations kv_append_operations([](operation_table& table) {
  table.add<dnn::kv_append>(run, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
