#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
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

/// The reflectors' factors of one matrix; `tau` is packed.
void* tau_of(const any_tensor& tau, std::int64_t matrix) noexcept {
  return tau.address() + matrix * tau.extent(tau.rank() - 1) * size_of(tau.type());
}

result<void> run_geqrf(const solver::geqrf& r, lane& where) {
  if (r.a.empty()) return {};
  const auto solver = TRY(cusolver_of(where));
  call_frame c(where);
  staged qr(c, r.qr, place::columns, {.reads = &r.a, .writes = true});
  const std::int64_t count = qr->count;
  const bool at_once = is_batch_of_small(count, std::max(qr->rows, qr->columns));
  const auto info = c.array<std::int32_t>(1);
  const auto lists = c.array<void*>(at_once ? 2 * count : 0);
  if (!at_once) c.share(TRY(geqrf_bytes(*solver, *qr, r.qr.address())));
  TRY(c.begin());
  if (at_once) {
    const std::int64_t bytes = std::min(qr->rows, qr->columns) * size_of(qr->type);
    TRY(write_series(where, lists,
                     {{qr->first, qr->step * size_of(qr->type)}, {r.tau.address(), bytes}}, count));
    TRY(geqrf_batched({*qr, lists}, lists + count, where));
  } else {
    TRY(for_each_matrix(count, [&](std::int64_t matrix) {
      return geqrf({*solver, c, *qr, matrix, info}, tau_of(r.tau, matrix));
    }));
  }
  return c.end();
}

result<void> run_orgqr(const solver::orgqr& r, lane& where) {
  if (r.q.empty()) return {};
  const auto solver = TRY(cusolver_of(where));
  const std::int64_t reflectors = r.tau.extent(r.tau.rank() - 1);
  call_frame c(where);
  // In place, the reflectors are already in the result. Otherwise they are copied to it.
  staged q(c, r.q, place::columns, {.writes = true});
  const auto info = c.array<std::int32_t>(reflectors > 0 ? 1 : 0);
  if (reflectors > 0) c.share(TRY(orgqr_bytes(*solver, *q, reflectors, r.qr.address())));
  TRY(c.begin());
  if (reflectors == 0) {  // without columns, Q is the identity
    TRY(fill_identity(*q, where));
    return c.end();
  }
  const any_tensor from = first_columns(r.qr, reflectors);
  const any_tensor to = first_columns(q.moved() ? as_tensor(*q, r.q) : r.q, reflectors);
  if (!from.same_view(to)) TRY(copy(from, to, where));
  TRY(for_each_matrix(q->count, [&](std::int64_t matrix) {
    return orgqr({*solver, c, *q, matrix, info}, reflectors, tau_of(r.tau, matrix));
  }));
  return c.end();
}

result<void> run_ormqr(const solver::ormqr& r, lane& where) {
  if (r.y.empty()) return {};
  const auto solver = TRY(cusolver_of(where));
  const std::int64_t reflectors = r.tau.extent(r.tau.rank() - 1);
  const cublasOperation_t transposed = is_complex(r.y.type()) ? CUBLAS_OP_C : CUBLAS_OP_T;
  const by_q how{.side = as_cublas(r.side),
                 .op = r.op_q == blas::storage_op::none ? CUBLAS_OP_N : transposed,
                 .reflectors = reflectors};
  call_frame c(where);
  staged qr(c, r.qr, place::columns, {.reads = reflectors > 0 ? &r.qr : nullptr});
  staged y(c, r.y, place::columns, {.reads = &r.x, .writes = true});
  const auto info = c.array<std::int32_t>(1);
  if (reflectors > 0) c.share(TRY(ormqr_bytes(*solver, *qr, how, *y, r.qr.address())));
  TRY(c.begin());
  if (reflectors > 0) {
    TRY(for_each_matrix(y->count, [&](std::int64_t matrix) {
      return ormqr({*solver, c, *qr, matrix, info}, how, tau_of(r.tau, matrix), *y);
    }));
  }
  return c.end();
}

const plugin_operations qr_operations([](operation_table& table) {
  add<solver::geqrf>(table, run_geqrf);
  add<solver::orgqr>(table, run_orgqr);
  add<solver::ormqr>(table, run_ormqr);
});

}  // namespace
}  // namespace troupe::cuda
