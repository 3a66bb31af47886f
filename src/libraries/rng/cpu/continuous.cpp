#include "libraries/rng/cpu/draw.hpp"
#include "libraries/rng/shared/continuous_samplers.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {

namespace {

const plugin_operations continuous_operations([](operation_table& table) {
  table.add<rng::uniform>(draw_request<rng::uniform>, effort::by_size);
  table.add<rng::normal>(draw_request<rng::normal>, effort::by_size);
  table.add<rng::log_normal>(draw_request<rng::log_normal>, effort::by_size);
  table.add<rng::exponential>(draw_request<rng::exponential>, effort::by_size);
  table.add<rng::cauchy>(draw_request<rng::cauchy>, effort::by_size);
  table.add<rng::gamma>(draw_request<rng::gamma>, effort::by_size);
  table.add<rng::beta>(draw_request<rng::beta>, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
