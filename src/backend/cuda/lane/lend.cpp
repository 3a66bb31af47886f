#include "backend/cuda/backend.hpp"
#include "backend/cuda/driver.hpp"
#include "backend/cuda/executor.hpp"

#include <troupe/ops/lane/lend.hpp>

namespace troupe::cuda {
namespace {

// The stream itself waits: no kernel, no thread.
result<void> hold_place(const troupe::lane::lend& r, cuda::lane& where) {
  auto loaded = driver::load();
  if (!loaded) return std::move(loaded).error();
  const driver& d = **loaded;
  const auto pointer = [](const any_tensor& flag) {
    return reinterpret_cast<CUdeviceptr>(flag.address());
  };
  auto told =
      check(d.cuStreamWriteValue32(where.stream(), pointer(r.begun), 1, 0), "cuStreamWriteValue32");
  if (!told) return told;
  return check(d.cuStreamWaitValue32(where.stream(), pointer(r.ended), 1, CU_STREAM_WAIT_VALUE_GEQ),
               "cuStreamWaitValue32");
}

}  // namespace

void add_lane_lend(operation_table& table) { add<troupe::lane::lend>(table, hold_place); }

}  // namespace troupe::cuda
