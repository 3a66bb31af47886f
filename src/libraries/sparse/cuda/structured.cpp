#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "backend/cuda/context/pieces.hpp"
#include "backend/operation_of.hpp"
#include "libraries/sparse/cuda/structured/products.hpp"
#include "libraries/sparse/cuda/structured/weights.hpp"
#include "libraries/sparse/requests/structured_rules.hpp"

#include <cuda_runtime_api.h>

namespace troupe::cuda {
namespace {

using sparse::structured_stamp;

// What multiplies weights that are not compressed. Set once, while the plugin is loaded.
operation_of<blaslt::matmul> run_dense;
const plugin_operations finds_matmul([](operation_table& table) { run_dense.find_in(table); });

result<void> run_prune(const sparse::structured_prune& r, lane& where) {
  return r.x.empty() ? result<void>() : prune_weights(r.x, r.y, where);
}

/// Enqueues looking at weights; the last that a request enqueues.
result<void> check_weights(const any_tensor& x, std::uint64_t* first_bad, late_failure failure,
                           lane& where) {
  if (auto found = find_bad_group(x, first_bad, where); !found) return found;
  return conclude_weights(x, first_bad, {}, nullptr, failure, where);
}
/// The same, in workspace, so nothing that is there is needed any more.
result<void> check_weights(const any_tensor& x, late_failure failure, lane& where) {
  if (x.empty()) return {};
  auto room = where.workspace(sizeof(std::uint64_t));
  if (!room) return std::move(room).error();
  return check_weights(x, reinterpret_cast<std::uint64_t*>(room->data()), failure, where);
}

result<void> run_check(const sparse::structured_check& r, lane& where, late_failure failure) {
  return check_weights(r.x, failure, where);
}

result<void> run_compress(const sparse::structured_compress& r, lane& where, late_failure failure) {
  auto library = structured_products_of(where);
  if (!library) return std::move(library).error();
  const auto scratch = *library != nullptr ? (*library)->scratch_for(r.x) : std::nullopt;
  pieces all;
  const std::size_t first_bad_at = all.add(sizeof(std::uint64_t));
  const std::size_t scratch_at = all.add(scratch.value_or(0));
  auto room = where.workspace(all.bytes());
  if (!room) return std::move(room).error();
  std::byte* const compressed = r.compressed.address();
  // All of it is written, whoever compresses.
  auto done = check(cudaMemsetAsync(compressed, 0, static_cast<std::size_t>(r.compressed.count()),
                                    where.stream()),
                    "cudaMemsetAsync");
  if (done && scratch) {
    done = (*library)->compress(r.x, compressed + sparse::structured_stamp_bytes,
                                room->data() + scratch_at, where.stream());
  }
  auto* const first_bad = reinterpret_cast<std::uint64_t*>(room->data() + first_bad_at);
  if (done) done = find_bad_group(r.x, first_bad, where);
  if (!done) return done;
  const structured_stamp stamp(r.x, scratch ? (*library)->version() : 0);
  return conclude_weights(r.x, first_bad, stamp, compressed, failure, where);
}

result<void> run_matmul(const sparse::structured_matmul& r, lane& where, late_failure failure) {
  const any_tensor weights = r.b.transpose();
  // Compressing takes longer than the dense product does.
  if (r.compressed.null()) {
    if (auto done = run_dense(sparse::as_dense(r), where); !done) return done;
    return check_weights(weights, failure, where);
  }
  auto library = structured_products_of(where);
  if (!library) return std::move(library).error();
  bool multiplied = false;
  if (*library != nullptr) {
    auto taken =
        (*library)->multiply(r, r.compressed.address() + sparse::structured_stamp_bytes, where);
    if (!taken) return std::move(taken).error();
    multiplied = *taken;
  }
  if (!multiplied) {
    if (auto done = run_dense(sparse::as_dense(r), where); !done) return done;
  }
  const structured_stamp stamp(weights, multiplied ? (*library)->version() : 0);
  return check_stamp(r.compressed.address(), stamp, !multiplied, failure, where);
}

const plugin_operations operations([](operation_table& table) {
  add<sparse::structured_prune>(table, run_prune);
  add<sparse::structured_check>(table, run_check);
  add<sparse::structured_compress>(table, run_compress);
  add<sparse::structured_matmul>(table, run_matmul);
});

}  // namespace
}  // namespace troupe::cuda
