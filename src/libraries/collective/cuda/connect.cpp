#include "libraries/collective/cuda/copies.hpp"

#include <troupe/collective/connect.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <atomic>

namespace troupe::cuda {
namespace {

std::atomic<int> gpu_of_worker{0};
// In the thread that makes the communicator. The worker's context is its GPU's primary one.
void attach() { (void)cudaSetDevice(gpu_of_worker); }

result<void> run_connect(const collective::connect& r, const part_lane& on) {
  const auto nccl = collective::nccl::load();
  if (!nccl) return nccl.error();
  if ((*nccl)->is_of_tests) {
    return error{.code = errc::unsupported, .message = "that is the tests' library for processors"};
  }
  int gpu = 0;
  TRY(check(cudaGetDevice(&gpu), "cudaGetDevice"));
  gpu_of_worker = gpu;
  collective::nccl::connections::of_this_process().begin(**nccl, r.part, on.where.sequence(),
                                                         attach);
  return pull_pieces_of(r, on);
}

const plugin_operations connections([](operation_table& table) {
  add_part<collective::connect, run_connect>(table);
});

}  // namespace
}  // namespace troupe::cuda
