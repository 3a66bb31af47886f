#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "backend/operation_of.hpp"
#include "libraries/sparse/cuda/structured/products.hpp"
#include "libraries/sparse/cuda/structured/weights.hpp"
#include "libraries/sparse/requests/structured_rules.hpp"

#include <cuda_runtime_api.h>

namespace troupe::cuda {
namespace {

using sparse::structured_stamp;

// The operation that multiplies uncompressed weights. Set once, while the plugin is loaded.
operation_of<blaslt::matmul> run_dense;
const plugin_operations finds_matmul([](operation_table& table) { run_dense.find_in(table); });

result<void> run_prune(const sparse::structured_prune& r, lane& where) {
  return r.x.empty() ? result<void>() : prune_weights(r.x, r.y, where);
}

/// Enqueues a check of the weights. It overwrites the workspace, and must be the last work of a
/// request.
result<void> check_weights(const any_tensor& x, late_failure failure, lane& where) {
  if (x.empty()) return {};
  call_frame c(where);
  const auto first_bad = c.array<std::uint64_t>(1);
  TRY(c.begin());
  TRY(find_bad_group(x, first_bad, where));
  return conclude_weights(x, first_bad, {}, nullptr, failure, where);
}

result<void> run_check(const sparse::structured_check& r, lane& where, late_failure failure) {
  return check_weights(r.x, failure, where);
}

result<void> run_compress(const sparse::structured_compress& r, lane& where, late_failure failure) {
  const auto library = TRY(structured_products_of(where));
  const auto scratch = library != nullptr ? library->scratch_for(r.x) : std::nullopt;
  call_frame c(where);
  const auto first_bad = c.array<std::uint64_t>(1);
  c.share(static_cast<std::size_t>(scratch.value_or(0)));
  TRY(c.begin());
  std::byte* const compressed = r.compressed.address();
  // Every byte must be written, whether the library compresses or not.
  TRY(check(cudaMemsetAsync(compressed, 0, static_cast<std::size_t>(r.compressed.count()),
                            where.stream()),
            "cudaMemsetAsync"));
  if (scratch) {
    TRY(library->compress(r.x, compressed + sparse::structured_stamp_bytes, c.shared(),
                          where.stream()));
  }
  TRY(find_bad_group(r.x, first_bad, where));
  const structured_stamp stamp(r.x, scratch ? library->version() : 0);
  return conclude_weights(r.x, first_bad, stamp, compressed, failure, where);
}

result<void> run_matmul(const sparse::structured_matmul& r, lane& where, late_failure failure) {
  const any_tensor weights = r.b.transpose();
  // Compressing would take longer than the dense product.
  if (r.compressed.null()) {
    TRY(run_dense(sparse::as_dense(r), where));
    return check_weights(weights, failure, where);
  }
  const auto library = TRY(structured_products_of(where));
  bool multiplied = false;
  if (library != nullptr) {
    multiplied =
        TRY(library->multiply(r, r.compressed.address() + sparse::structured_stamp_bytes, where));
  }
  if (!multiplied) TRY(run_dense(sparse::as_dense(r), where));
  const structured_stamp stamp(weights, multiplied ? library->version() : 0);
  return check_stamp(r.compressed.address(), stamp, !multiplied, failure, where);
}

const plugin_operations structured_operations([](operation_table& table) {
  add<sparse::structured_prune>(table, run_prune);
  add<sparse::structured_check>(table, run_check);
  add<sparse::structured_compress>(table, run_compress);
  add<sparse::structured_matmul>(table, run_matmul);
});

}  // namespace
}  // namespace troupe::cuda
