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

/// A product whose weights are compressed in it, or have been.
struct work_room {
  pieces all;
  std::size_t first_bad_at = all.add(sizeof(std::uint64_t));
  std::byte* memory = nullptr;

  [[nodiscard]] std::uint64_t* first_bad() const noexcept {
    return reinterpret_cast<std::uint64_t*>(memory + first_bad_at);
  }
  [[nodiscard]] result<void> take(lane& where) {
    auto room = where.workspace(all.bytes());
    if (!room) return std::move(room).error();
    memory = room->data();
    return {};
  }
};

result<void> run_compress(const sparse::structured_compress& r, lane& where,
                          late_failure failure) {
  auto library = structured_products_of(where);
  if (!library) return std::move(library).error();
  const auto needed = *library != nullptr ? (*library)->room_for(r.x) : std::nullopt;
  work_room room;
  const std::size_t scratch_at = room.all.add(needed ? needed->scratch_bytes : 0);
  if (auto taken = room.take(where); !taken) return taken;
  // All of it is written, whoever compresses.
  if (auto done = check(cudaMemsetAsync(r.compressed.address(), 0,
                                        static_cast<std::size_t>(r.compressed.count()),
                                        where.stream()),
                        "cudaMemsetAsync");
      !done) {
    return done;
  }
  if (needed) {
    if (auto done = (*library)->compress(r.x,
                                         r.compressed.address() + sparse::structured_stamp_bytes,
                                         room.memory + scratch_at, where.stream());
        !done) {
      return done;
    }
  }
  if (auto found = find_bad_group(r.x, room.first_bad(), where); !found) return found;
  const structured_stamp stamp(r.x, needed ? (*library)->version() : 0);
  return conclude_weights(r.x, room.first_bad(), stamp, r.compressed.address(), failure, where);
}

result<void> run_compressed(structured_products& library, const structured_products::plan& how,
                            const sparse::structured_matmul& r, late_failure failure,
                            lane& where) {
  const any_tensor weights = r.b.transpose();
  const bool given = !r.compressed.null();
  work_room room;
  const std::size_t workspace_at = room.all.add(how.workspace_bytes);
  const std::size_t scratch_at = room.all.add(given ? 0 : how.weights.scratch_bytes);
  const std::size_t compressed_at = room.all.add(given ? 0 : how.weights.compressed_bytes);
  if (auto taken = room.take(where); !taken) return taken;
  const std::byte* compressed = r.compressed.address() + sparse::structured_stamp_bytes;
  if (!given) {
    compressed = room.memory + compressed_at;
    if (auto done = library.compress(weights, room.memory + compressed_at,
                                     room.memory + scratch_at, where.stream());
        !done) {
      return done;
    }
  }
  if (auto done = library.run(how, r, compressed, room.memory + workspace_at, where.stream());
      !done) {
    return done;
  }
  if (!given) return check_weights(weights, room.first_bad(), failure, where);
  return check_stamp(r.compressed.address(), structured_stamp(weights, library.version()), false,
                     failure, where);
}

result<void> run_matmul(const sparse::structured_matmul& r, lane& where, late_failure failure) {
  const any_tensor weights = r.b.transpose();
  auto library = structured_products_of(where);
  if (!library) return std::move(library).error();
  if (*library != nullptr) {
    auto how = (*library)->plan_for(r, where.stream());
    if (!how) return std::move(how).error();
    if (*how != nullptr) return run_compressed(**library, **how, r, failure, where);
  }
  // What uses the workspace comes first: the product reads the weights, whatever they are.
  if (auto done = run_dense(sparse::as_dense(r), where); !done) return done;
  if (r.compressed.null()) return check_weights(weights, failure, where);
  return check_stamp(r.compressed.address(), structured_stamp(weights, 0), true, failure, where);
}

const plugin_operations operations([](operation_table& table) {
  add<sparse::structured_prune>(table, run_prune);
  add<sparse::structured_check>(table, run_check);
  add<sparse::structured_compress>(table, run_compress);
  add<sparse::structured_matmul>(table, run_matmul);
});

}  // namespace
}  // namespace troupe::cuda
