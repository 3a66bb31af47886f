#include "backend/cuda/context/executor.hpp"
#include "libraries/blas/cuda/kernels/addresses.hpp"
#include "libraries/solver/cuda/call.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/routines/batches.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <troupe/solver/qr.hpp>

#include <algorithm>

namespace troupe::cuda {
namespace {

using place = staged::place;

constexpr std::int64_t i32_bytes = size_of(dtype::i32);

/// The factors of one matrix's reflectors, which are packed.
void* tau_of(const any_tensor& tau, std::int64_t matrix) noexcept {
  return tau.address() + matrix * tau.extent(tau.rank() - 1) * size_of(tau.type());
}

result<void> run_geqrf(const solver::geqrf& r, lane& where) {
  if (r.a.empty()) return {};
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  workroom room;
  staged qr(r.qr, place::columns, room.parts());
  const std::int64_t count = qr->count;
  const bool at_once = is_batch_of_small(count, std::max(qr->rows, qr->columns));
  const std::size_t info_at = room.add(i32_bytes);
  const std::size_t lists_at = at_once ? room.add(2 * list_bytes(count)) : 0;
  if (!at_once) {
    auto bytes = geqrf_bytes(**solver, *qr, r.qr.address());
    if (!bytes) return std::move(bytes).error();
    room.add_routine(*bytes);
  }
  if (auto taken = room.take(where); !taken) return taken;
  qr.place_in(room.base());
  if (auto done = qr.load(r.a, where); !done) return done;
  if (at_once) {
    void** const lists = room.at<void*>(lists_at);
    const std::int64_t bytes = std::min(qr->rows, qr->columns) * size_of(qr->type);
    auto listed_both = write_series(
        where, lists, {{qr->first, qr->step * size_of(qr->type)}, {r.tau.address(), bytes}}, count);
    if (!listed_both) return listed_both;
    if (auto done = geqrf_batched({*qr, lists}, lists + count, where); !done) return done;
  } else {
    auto done = for_each_matrix(count, [&](std::int64_t matrix) {
      return geqrf({**solver, room, *qr, matrix, room.at<std::int32_t>(info_at)},
                   tau_of(r.tau, matrix));
    });
    if (!done) return done;
  }
  return qr.store(where);
}

result<void> run_orgqr(const solver::orgqr& r, lane& where) {
  if (r.q.empty()) return {};
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  const std::int64_t reflectors = r.tau.extent(r.tau.rank() - 1);
  workroom room;
  // In place the reflectors are where the result goes; else the columns that they lack are its own.
  staged q(r.q, place::columns, room.parts());
  if (reflectors == 0) {  // of no columns: Q is the identity
    if (auto taken = room.take(where); !taken) return taken;
    q.place_in(room.base());
    if (auto done = fill_identity(*q, where); !done) return done;
    return q.store(where);
  }
  const std::size_t info_at = room.add(i32_bytes);
  auto bytes = orgqr_bytes(**solver, *q, reflectors, r.qr.address());
  if (!bytes) return std::move(bytes).error();
  room.add_routine(*bytes);
  if (auto taken = room.take(where); !taken) return taken;
  q.place_in(room.base());
  const any_tensor from = first_columns(r.qr, reflectors);
  const any_tensor to = first_columns(q.moved() ? as_tensor(*q, r.q) : r.q, reflectors);
  if (!from.same_view(to)) {
    if (auto done = copy(from, to, where); !done) return done;
  }
  auto done = for_each_matrix(q->count, [&](std::int64_t matrix) {
    return orgqr({**solver, room, *q, matrix, room.at<std::int32_t>(info_at)}, reflectors,
                 tau_of(r.tau, matrix));
  });
  return done ? q.store(where) : std::move(done);
}

result<void> run_ormqr(const solver::ormqr& r, lane& where) {
  if (r.y.empty()) return {};
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  const std::int64_t reflectors = r.tau.extent(r.tau.rank() - 1);
  workroom room;
  staged qr(r.qr, place::columns, room.parts());
  staged y(r.y, place::columns, room.parts());
  const std::size_t info_at = room.add(i32_bytes);
  const cublasOperation_t transposed = is_complex(r.y.type()) ? CUBLAS_OP_C : CUBLAS_OP_T;
  const by_q how{.side = as_cublas(r.side),
                 .op = r.op_q == blas::storage_op::none ? CUBLAS_OP_N : transposed,
                 .reflectors = reflectors};
  if (reflectors > 0) {
    auto bytes = ormqr_bytes(**solver, *qr, how, *y, r.qr.address());
    if (!bytes) return std::move(bytes).error();
    room.add_routine(*bytes);
  }
  if (auto taken = room.take(where); !taken) return taken;
  qr.place_in(room.base());
  y.place_in(room.base());
  if (auto done = y.load(r.x, where); !done) return done;
  if (reflectors > 0) {
    if (auto done = qr.load(r.qr, where); !done) return done;
    auto done = for_each_matrix(y->count, [&](std::int64_t matrix) {
      return ormqr({**solver, room, *qr, matrix, room.at<std::int32_t>(info_at)}, how,
                   tau_of(r.tau, matrix), *y);
    });
    if (!done) return done;
  }
  return y.store(where);
}

const plugin_operations operations([](operation_table& table) {
  add<solver::geqrf>(table, run_geqrf);
  add<solver::orgqr>(table, run_orgqr);
  add<solver::ormqr>(table, run_ormqr);
});

}  // namespace
}  // namespace troupe::cuda
