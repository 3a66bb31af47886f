#include "backend/cuda/context/executor.hpp"
#include "libraries/rng/cuda/draws.hpp"
#include "libraries/rng/shared/continuous_samplers.hpp"

namespace troupe::cuda {

namespace {

const plugin_operations continuous_operations([](operation_table& table) {
  add<rng::uniform>(table, draw_request<rng::uniform>);
  add<rng::normal>(table, draw_request<rng::normal>);
  add<rng::log_normal>(table, draw_request<rng::log_normal>);
  add<rng::exponential>(table, draw_request<rng::exponential>);
  add<rng::cauchy>(table, draw_request<rng::cauchy>);
  add<rng::gamma>(table, draw_request<rng::gamma>);
  add<rng::beta>(table, draw_request<rng::beta>);
});

}  // namespace

}  // namespace troupe::cuda
