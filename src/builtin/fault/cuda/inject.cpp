#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/loading.hpp"
#include "backend/cuda/driver.hpp"
#include "builtin/fault/cuda/kernels.hpp"
#include "worker/process/process_fault.hpp"

#include <troupe/fault/inject.hpp>

namespace troupe::cuda {
namespace {

// No card has that much.
constexpr std::size_t too_many_bytes = std::size_t{1} << 50;

/// Enqueues `kernel` with memory of the lane, `offset` bytes into it.
result<void> with_scratch(result<void> (*kernel)(std::byte*, cudaStream_t), std::size_t offset,
                          lane& where) {
  constexpr std::size_t scratch_bytes = 256;
  auto scratch = where.workspace(scratch_bytes);
  if (!scratch) return std::move(scratch).error();
  return kernel(scratch->data() + offset, where.stream());
}

// The driver requires whole granules of memory, which a tensor with memory of its own has.
result<void> withdraw(const any_tensor& t) {
  constexpr std::size_t granule = std::size_t{2} << 20;
  const auto bytes = static_cast<std::size_t>(t.count() * size_of(t.type()));
  auto loaded = driver::load();
  if (!loaded) return std::move(loaded).error();
  const driver& cuda = **loaded;
  CUdevice device = 0;
  if (auto done = check(cuda.cuCtxGetDevice(&device), "cuCtxGetDevice"); !done) return done;
  const CUmemAccessDesc nobody{.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                               .flags = CU_MEM_ACCESS_FLAGS_PROT_NONE};
  return check(cuda.cuMemSetAccess(reinterpret_cast<CUdeviceptr>(t.address()),
                                   (bytes + granule - 1) / granule * granule, &nobody, 1),
               "cuMemSetAccess");
}

result<void> run_inject(const fault::inject& r, lane& where) {
  switch (r.what) {
    case fault::kind::segmentation_fault:
    case fault::kind::abort:
    case fault::kind::exit:
    case fault::kind::kill:
    case fault::kind::exception:
      worker::fault_process(r.what);
      return {};
    case fault::kind::hang:
      return enqueue_spin(fault::longest_spin_ns, where.stream());
    case fault::kind::out_of_memory: {
      auto room = where.workspace(too_many_bytes);
      if (!room) return std::move(room).error();
      return error{.code = errc::library_error,
                   .message = "was given more memory than any device has"};
    }
    case fault::kind::write_frozen:
      return enqueue_write(r.target.address(), where.stream());
    case fault::kind::spin:
      return enqueue_spin(r.duration_ns, where.stream());
    case fault::kind::trap:
      return enqueue_trap(where.stream());
    case fault::kind::stack_overflow:
      return with_scratch(enqueue_stack_overflow, 0, where);
    case fault::kind::unmapped_address:
      return enqueue_write(reinterpret_cast<std::byte*>(worker::address_of_nothing),
                           where.stream());
    case fault::kind::misaligned_address:
      return with_scratch(enqueue_write_word, 1, where);
    case fault::kind::failed_assertion:
      return enqueue_failed_assertion(where.stream());
    case fault::kind::invalid_launch:
      return enqueue_invalid_launch(where.stream());
    case fault::kind::withdraw:
      return withdraw(r.target);
  }
  return {};
}

const kernel_loading ahead_of_use(load_fault_kernels);
const plugin_operations inject_operations([](operation_table& table) {
  add<fault::inject>(table, run_inject);
});

}  // namespace

}  // namespace troupe::cuda
