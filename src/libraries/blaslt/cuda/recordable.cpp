#include <troupe/blaslt/matmul.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cuda {
namespace {

// A kernel is measured in the first call of its plan, which is not recorded.
const plugin_recordings recordings([](recordable_operations& can) { can.be<blaslt::matmul>(); });

}  // namespace
}  // namespace troupe::cuda
