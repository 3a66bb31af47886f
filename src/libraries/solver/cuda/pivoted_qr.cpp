#include "libraries/solver/cuda/kernels/pivoted_qr.hpp"

#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"

#include <troupe/solver/qr.hpp>

namespace troupe::cuda {
namespace {

result<void> run_geqp3(const solver::geqp3& r, lane& where) {
  if (r.columns.empty()) return {};
  call_frame c(where);
  staged qr(c, r.qr, staged::place::columns, {.reads = &r.a, .writes = true});
  const auto lengths = c.bytes(bytes_of_lengths(*qr));
  TRY(c.begin());
  TRY(factor_pivoted(
      *qr, {.tau = r.tau.address(), .order = r.columns.data<std::int64_t>(), .lengths = lengths},
      where));
  return c.end();
}

// Two kernels for each column may be more than the stream takes ahead.
const plugin_operations pivoted_qr_operations([](operation_table& table) {
  add<solver::geqp3>(table, run_geqp3, effort::blocks_host);
});

}  // namespace
}  // namespace troupe::cuda
