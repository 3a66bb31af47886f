#include "libraries/elementwise/cpu/steps.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

const plugin_operations rotary_operations([](operation_table& table) {
  add_steps<elementwise::rotary_embedding, elementwise::rotary_embedding_backward>(table);
});

}  // namespace
}  // namespace troupe::cpu
