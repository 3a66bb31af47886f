#include "backend/cuda/context/executor.hpp"
#include "libraries/rng/cuda/draws.hpp"
#include "libraries/rng/shared/bits_samplers.hpp"

namespace troupe::cuda {

namespace {

const plugin_operations bits_operations([](operation_table& table) {
  add<rng::bits>(table, draw_request<rng::bits>);
});

}  // namespace

}  // namespace troupe::cuda
