#include "libraries/solver/cpu/sparse/sparse_solve.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/solver/sparse_direct.hpp>

namespace troupe::cpu {
namespace {

// Their time depends on the pattern more than on how many elements there are.
const plugin_operations sparse_direct_operations([](operation_table& table) {
  table.add<solver::sparse_cholesky>(
      [](const solver::sparse_cholesky& r, lane_context&) { return solve_cholesky(r); });
  table.add<solver::sparse_lu>(
      [](const solver::sparse_lu& r, lane_context&) { return solve_lu(r); });
  table.add<solver::sparse_qr>(
      [](const solver::sparse_qr& r, lane_context&) { return solve_qr(r); });
});

}  // namespace
}  // namespace troupe::cpu
