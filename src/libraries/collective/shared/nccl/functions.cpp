#include "libraries/collective/shared/nccl/functions.hpp"

#include <troupe/plugin/vendor_library.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <type_traits>

#if __has_include(<nccl.h>)
#include <nccl.h>
namespace troupe::collective::nccl {
namespace {
// The declarations above are those of the header.
static_assert(sizeof(unique_id) == sizeof(ncclUniqueId));
static_assert(int{ncclInt8} == i8 && int{ncclUint8} == u8 && int{ncclInt32} == i32 &&
              int{ncclUint32} == u32 && int{ncclInt64} == i64 && int{ncclUint64} == u64 &&
              int{ncclFloat16} == f16 && int{ncclFloat32} == f32 && int{ncclFloat64} == f64 &&
              int{ncclBfloat16} == bf16);
static_assert(int{ncclSum} == sum && int{ncclProd} == prod && int{ncclMax} == max &&
              int{ncclMin} == min && int{ncclAvg} == avg);
static_assert(int{ncclScalarDevice} == on_device && int{ncclScalarHostImmediate} == host_immediate);
#if NCCL_VERSION_CODE >= 22400
static_assert(int{ncclFloat8e4m3} == e4m3 && int{ncclFloat8e5m2} == e5m2);
#endif
}  // namespace
}  // namespace troupe::collective::nccl
#endif

namespace troupe::collective::nccl {
namespace {

constexpr int least_version = 21400;  // sends of a rank to itself, as we make them

result<const functions*> search() {
  // All connections are made with the communicator: later calls wait for no peer.
  ::setenv("NCCL_RUNTIME_CONNECT", "0", 0);  // NOLINT(concurrency-mt-unsafe)
  // No multicast between GPUs, whose state would not end with a worker that is killed.
  ::setenv("NCCL_NVLS_ENABLE", "0", 0);  // NOLINT(concurrency-mt-unsafe)
  auto library = open_vendor_library("libnccl.so.2");
  if (!library) return std::move(library).error();
  static functions all;
  std::string missing;
  const auto find = [&](auto*& to, const char* name) {
    to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(::dlsym(*library, name));
    if (to == nullptr) missing = name;
  };
  find(all.version, "ncclGetVersion");
  find(all.text_of, "ncclGetErrorString");
  find(all.get_id, "ncclGetUniqueId");
  find(all.init_rank, "ncclCommInitRank");
  find(all.abort, "ncclCommAbort");
  find(all.async_error, "ncclCommGetAsyncError");
  find(all.group_start, "ncclGroupStart");
  find(all.group_end, "ncclGroupEnd");
  find(all.all_reduce, "ncclAllReduce");
  find(all.reduce, "ncclReduce");
  find(all.reduce_scatter, "ncclReduceScatter");
  find(all.broadcast, "ncclBroadcast");
  find(all.all_gather, "ncclAllGather");
  find(all.send, "ncclSend");
  find(all.receive, "ncclRecv");
  find(all.make_scaled_sum, "ncclRedOpCreatePreMulSum");
  find(all.end_operation, "ncclRedOpDestroy");
  const auto refuse = [](std::string why) {
    return error{.code = errc::version_mismatch, .message = std::move(why), .call = "dlsym"};
  };
  if (!missing.empty()) return refuse("libnccl.so.2 has no " + missing);
  int version = 0;
  if (all.version(&version) != success || version < least_version) {
    return refuse("libnccl.so.2 has version " + std::to_string(version) + "; it must be at least " +
                  std::to_string(least_version));
  }
  all.is_of_tests = ::dlsym(*library, "troupe_test_nccl") != nullptr;
  return &all;
}

}  // namespace

result<const functions*> load() {
  static const result<const functions*> one = search();
  return one;
}

result<void> outcome_of(const functions& nccl, int code, const char* call) {
  if (code == success) return {};
  return error{.code = errc::library_error,
               .message = std::string(nccl.text_of(code)),
               .call = call,
               .vendor_code = code};
}

}  // namespace troupe::collective::nccl
