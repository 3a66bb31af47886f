#include "backend/operation_of.hpp"
#include "libraries/dnn/cpu/convolution.hpp"
#include "libraries/dnn/shared/graph/known_graphs.hpp"

#include <troupe/plugin/static_registration.hpp>

#include <type_traits>

namespace troupe::cpu {
namespace {

// The operations that run the pieces. Set once, while the plugin is loaded.
operation_of<blaslt::matmul> run_matmul;
operation_of<blas::gemm> run_gemm;
operation_of<blas::gemm_strided_batched> run_gemm_batch;
operation_of<elementwise::map> run_map;
operation_of<elementwise::rows> run_rows;
const plugin_operations finds_pieces([](operation_table& table) {
  run_matmul.find_in(table);
  run_gemm.find_in(table);
  run_gemm_batch.find_in(table);
  run_map.find_in(table);
  run_rows.find_in(table);
});

result<void> run_piece(const blaslt::matmul& r, lane_context& lane) { return run_matmul(r, lane); }
result<void> run_piece(const blas::gemm& r, lane_context& lane) { return run_gemm(r, lane); }
result<void> run_piece(const blas::gemm_strided_batched& r, lane_context& lane) {
  return run_gemm_batch(r, lane);
}
result<void> run_piece(const elementwise::map& r, lane_context& lane) { return run_map(r, lane); }
result<void> run_piece(const elementwise::rows& r, lane_context& lane) { return run_rows(r, lane); }
result<void> run_piece(const dnn::convolution_forward& r, lane_context& lane) {
  return run_convolution(r, lane);
}

result<dnn::graph_run> run_graph(const dnn::graph& r, lane_context& lane) {
  auto found = dnn::lowered(r, dnn::products::plain);
  if (!found) return std::move(found).error();
  const dnn::lowered_graph& what = **found;
  dnn::graph_memory memory(r);
  // Apart from the workspace, which belongs to the piece that runs.
  auto workspace = lane.host_workspace(static_cast<std::size_t>(what.room_bytes));
  if (!workspace) return std::move(workspace).error();
  memory.first[dnn::graph_memory::room] = workspace->data();
  for (const dnn::piece& one : what.pieces) {
    const dnn::piece here = dnn::placed(one, memory);
    auto done = std::visit([&](const auto& request) { return run_piece(request, lane); }, here);
    if (!done) return std::move(done).error();
  }
  return dnn::graph_run{.pieces = std::ssize(what.pieces), .by = what.by};
}

const plugin_operations graph_operations([](operation_table& table) {
  table.add<dnn::graph>(run_graph, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
