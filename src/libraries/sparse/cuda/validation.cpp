#include "backend/cuda/context/executor.hpp"
#include "libraries/sparse/cuda/pattern_check.hpp"

#include <troupe/sparse/validation.hpp>

namespace troupe::cuda {
namespace {

result<void> run_validate(const sparse::validate& r, lane& where, late_failure failure) {
  call_frame c(where);
  checking pattern(c, r.a, sparse::pattern_claim::order, failure);
  TRY(c.begin());
  return c.end();
}

const plugin_operations validation_operations([](operation_table& table) {
  add<sparse::validate>(table, run_validate);
});

}  // namespace
}  // namespace troupe::cuda
