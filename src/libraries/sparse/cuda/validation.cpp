#include "backend/cuda/context/executor.hpp"
#include "libraries/sparse/cuda/pattern_check.hpp"

#include <troupe/sparse/validation.hpp>

namespace troupe::cuda {
namespace {

result<void> run_validate(const sparse::validate& r, lane& where, late_failure failure) {
  auto room = where.workspace(sizeof(unsigned long long));
  if (!room) return std::move(room).error();
  auto* const first = reinterpret_cast<unsigned long long*>(room->data());
  constexpr auto claim = sparse::pattern_claim::order;
  auto done = enqueue_pattern_check(r.a, claim, first, where.stream());
  if (done) done = enqueue_pattern_report(r.a, claim, first, failure, where.stream());
  return done;
}

const plugin_operations operations([](operation_table& table) {
  add<sparse::validate>(table, run_validate);
});

}  // namespace
}  // namespace troupe::cuda
