#include "libraries/elementwise/cpu/steps.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

const plugin_operations cross_entropy_operations([](operation_table& table) {
  add_steps<elementwise::cross_entropy, elementwise::cross_entropy_backward, elementwise::nll_loss,
            elementwise::nll_loss_backward>(table);
});

}  // namespace
}  // namespace troupe::cpu
