#include "libraries/rng/cpu/draw.hpp"
#include "libraries/rng/shared/bits_samplers.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {

namespace {

const plugin_operations bits_operations([](operation_table& table) {
  table.add<rng::bits>(draw_request<rng::bits>, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
