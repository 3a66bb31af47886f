#include "backend/cpu/rng/draw.hpp"
#include "backend/rng/bits_samplers.hpp"

#include <troupe/worker/plugin.hpp>

namespace troupe::cpu {

namespace {

const plugin_operations operations([](operation_table& table) {
  table.add<rng::bits>(draw_request<rng::bits>, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
