#include "backend/cuda/context/launch.cuh"
#include "backend/cuda/context/loading.hpp"
#include "backend/cuda/context/recording/failure_delivery.hpp"
#include "wire/layout.hpp"

namespace troupe::cuda {
namespace {

// The worker has written the ticket. The first failure of a run stays.
__global__ void deliver(const wire::reply_slot* from, wire::reply_slot* to) {
  if (from->code == 0 || to->code != 0) return;
  for (std::uint32_t i = 0; i < from->reply_bytes && i < sizeof(from->bytes); ++i)
    to->bytes[i] = from->bytes[i];
  to->vendor_code = from->vendor_code;
  to->library_bytes = from->library_bytes;
  to->call_bytes = from->call_bytes;
  to->code_name_bytes = from->code_name_bytes;
  to->reply_bytes = from->reply_bytes;
  to->heap_place = 0;
  to->code = from->code;
}

const kernel_loading delivery([] { return load(deliver); });

}  // namespace

result<void> deliver_failure(const std::byte* slot, std::byte* reply, cudaStream_t stream) {
  return launch(deliver, 1, 1, stream, reinterpret_cast<const wire::reply_slot*>(slot),
                reinterpret_cast<wire::reply_slot*>(reply - offsetof(wire::reply_slot, bytes)));
}

}  // namespace troupe::cuda
