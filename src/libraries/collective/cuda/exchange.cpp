#include "libraries/collective/cuda/copies.hpp"

#include <troupe/collective/exchange.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cuda {
namespace {

const plugin_operations exchanges([](operation_table& table) {
  add_part<collective::all_to_all, run_copies>(table);
  add_part<collective::all_to_allv, run_copies>(table);
  add_part<collective::exchange, run_copies>(table);
  add_part<collective::barrier, run_copies>(table);
});

}  // namespace
}  // namespace troupe::cuda
