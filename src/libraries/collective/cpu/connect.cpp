#include "libraries/collective/cpu/direct.hpp"

#include <troupe/collective/connect.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

// NCCL moves memory of GPUs; that of the tests moves any.
result<void> run_connect(const collective::connect& r, lane_context& lane) {
  const auto nccl = collective::nccl::load();
  if (!nccl) return nccl.error();
  if (!(*nccl)->is_of_tests) {
    return error{.code = errc::unsupported, .message = "NCCL connects GPUs, not processors"};
  }
  collective::nccl::connections::of_this_process().begin(**nccl, r.part, lane.sequence(), nullptr);
  return run_direct(r, lane, [] {});
}

const plugin_operations connections([](operation_table& table) {
  table.add<collective::connect>(run_connect);
});

}  // namespace
}  // namespace troupe::cpu
