#include "backend/cuda/context/executor.hpp"
#include "backend/operation_of.hpp"
#include "base/try.hpp"

#include <troupe/dnn/kv_append.hpp>
#include <troupe/memory/copy.hpp>

#include <vector>

namespace troupe::cuda {
namespace {

// The operation that copies. Set once, while the plugin is loaded.
operation_of<memory::copy> run_copy;
const plugin_operations finds_copy([](operation_table& table) { run_copy.find_in(table); });

// Copies one piece after the other. A generation step has one or two, which take little beside
// attention over all keys.
result<void> append(const any_tensor& from, const std::vector<any_tensor>& rows, lane& where) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].empty()) continue;
    const auto at = static_cast<std::int64_t>(i);
    const auto piece = TRY(from.slice(0, at, at + 1));
    std::vector<std::int64_t> extents(rows[i].extents().begin(), rows[i].extents().end());
    std::vector<std::int64_t> strides(piece.strides().begin() + 1, piece.strides().end());
    const auto view = TRY(piece.as_strided(shape(extents), std::span<const std::int64_t>(strides)));
    TRY(run_copy({.from = view, .to = rows[i]}, where));
  }
  return {};
}

result<void> run_kv_append(const dnn::kv_append& r, lane& where) {
  TRY(append(r.k, r.rows_k, where));
  return append(r.v, r.rows_v, where);
}

const plugin_operations kv_append_operations([](operation_table& table) {
  add<dnn::kv_append>(table, run_kv_append);
});

}  // namespace
}  // namespace troupe::cuda
