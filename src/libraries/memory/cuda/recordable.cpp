#include <troupe/memory/convert.hpp>
#include <troupe/memory/copy.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cuda {
namespace {

const plugin_recordings recordings([](recordable_operations& can) {
  can.be<memory::copy, memory::fill, memory::set_bytes, memory::convert>();
});

}  // namespace
}  // namespace troupe::cuda
