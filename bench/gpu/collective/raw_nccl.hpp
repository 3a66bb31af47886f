#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace troupe::bench::raw {

/// The GPUs that this process can use; 0 if there is no driver.
[[nodiscard]] int gpu_count();

/// The GPUs of this machine, from number 0 on, as NCCL uses them from one thread: memory of
/// cudaMalloc, a communicator of all, a stream each.
class nccl_ranks {
 public:
  /// Null if NCCL or that many GPUs are not there.
  [[nodiscard]] static std::unique_ptr<nccl_ranks> make(int ranks, std::size_t bytes);
  virtual ~nccl_ranks() = default;

  enum class operation : std::uint8_t {
    all_reduce,
    all_reduce_in_place,
    reduce_scatter,
    broadcast,
    all_gather,
    all_to_all,
    copy,  ///< cudaMemcpyPeerAsync, from GPU 0 to 1
  };
  /// Enqueues it so often, on f32, and waits. `bytes` is the longer of the tensors of a rank.
  virtual void run(operation what, std::size_t bytes, int times) = 0;
};

}  // namespace troupe::bench::raw
