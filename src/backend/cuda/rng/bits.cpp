#include "backend/cuda/executor.hpp"
#include "backend/cuda/rng/draws.hpp"
#include "backend/rng/bits_samplers.hpp"

namespace troupe::cuda {

namespace {

const plugin_operations operations([](operation_table& table) {
  add<rng::bits>(table, draw_request<rng::bits>);
});

}  // namespace

}  // namespace troupe::cuda
