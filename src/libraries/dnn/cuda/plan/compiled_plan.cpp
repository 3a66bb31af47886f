#include "libraries/dnn/cuda/plan/compiled_plan.hpp"

#include "backend/cuda/context/failure.hpp"
#include "base/try.hpp"
#include "libraries/dnn/cuda/plan/owned.hpp"
#include "libraries/dnn/cuda/plan/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace troupe::cuda {
namespace {

constexpr std::size_t most_bindings = 64;

// Memory that stands in for the operands of a run that is only recorded. The host reads numbers
// there, and the device could. It is never freed, like everything of the context. Null if out of
// memory.
std::byte* stand_in() noexcept {
  static std::byte* const page = [] {
    constexpr std::size_t bytes = 4096;
    void* made = nullptr;
    if (cudaHostAlloc(&made, bytes, cudaHostAllocPortable) != cudaSuccess) {
      (void)cudaGetLastError();
      return static_cast<std::byte*>(nullptr);
    }
    std::memset(made, 0, bytes);
    return static_cast<std::byte*>(made);
  }();
  return page;
}

}  // namespace

result<std::unique_ptr<compiled_plan>> compiled_plan::load(cudnnHandle_t library,
                                                           plan_image image) {
  if (image.bindings.size() > most_bindings) {
    return error{.code = errc::unsupported,
                 .message = fmt::format("a plan of {} tensors; {} are the most",
                                        image.bindings.size(), most_bindings)};
  }
  if (!image.lies_within_workspace()) {
    return error{.code = errc::library_error, .message = "the plan leaves its workspace"};
  }
  auto native = TRY(cudnn_descriptor::make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
  TRY(native.set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                 static_cast<std::int64_t>(image.plan.size()), image.plan.data()));
  TRY(native.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &library));
  TRY(native.finalize());
  std::int64_t workspace = 0;
  TRY(check(cudnnBackendGetAttribute(native.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                     CUDNN_TYPE_INT64, 1, nullptr, &workspace),
            "cudnnBackendGetAttribute"));
  // The text is long and no longer needed.
  std::exchange(image.plan, {}).shrink_to_fit();
  const auto bytes = static_cast<std::size_t>(workspace + image.frontend_workspace_bytes);
  return std::unique_ptr<compiled_plan>(
      new compiled_plan(std::move(native), std::move(image), bytes));
}

result<void> compiled_plan::run(cudnnHandle_t library, std::span<std::byte* const> operands,
                                std::byte* workspace, cudaStream_t stream) {
  TRY(preset(workspace, stream));
  return execute(library, operands, workspace, stream);
}

result<void> compiled_plan::preset(std::byte* workspace, cudaStream_t stream) {
  for (const plan_image::preset& one : image_.presets) {
    std::byte* const to = workspace + one.at;
    TRY(one.values.empty()
            ? check(cudaMemsetAsync(to, 0, static_cast<std::size_t>(one.bytes), stream),
                    "cudaMemsetAsync")
            : check(enqueue_words({reinterpret_cast<const std::uint32_t*>(one.values.data()),
                                   one.values.size()},
                                  to, stream),
                    "store_words"));
  }
  return {};
}

result<void> compiled_plan::execute(cudnnHandle_t library, std::span<std::byte* const> operands,
                                    std::byte* workspace, cudaStream_t stream) {
  std::array<std::int64_t, most_bindings> uids{};
  std::array<void*, most_bindings> addresses{};
  std::size_t count = 0;
  for (plan_image::binding& one : image_.bindings) {
    std::byte* at = nullptr;
    switch (one.what) {
      case plan_image::binding::kind::operand:
        if (one.operand < 1 || one.operand > std::ssize(operands)) {
          return error{.code = errc::library_error,
                       .message = fmt::format("the plan has an operand {}, the request {}",
                                              one.operand, operands.size())};
        }
        at = operands[static_cast<std::size_t>(one.operand - 1)] + one.at;
        break;
      case plan_image::binding::kind::constant:
        at = reinterpret_cast<std::byte*>(&one.constant);
        break;
      case plan_image::binding::kind::workspace:
        at = workspace + one.at;
        break;
    }
    uids[count] = one.uid;
    addresses[count++] = at;
  }
  std::byte* const rest =
      workspace == nullptr ? nullptr : workspace + image_.frontend_workspace_bytes;
  auto pack = TRY(cudnn_descriptor::make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
  const auto number = static_cast<std::int64_t>(count);
  TRY(pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, number,
               addresses.data()));
  TRY(pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, number, uids.data()));
  TRY(pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &rest));
  TRY(pack.finalize());
  const std::lock_guard lock(mutex_);
  return check(cudnnBackendExecute(library, native_.get(), pack.get()), "cudnnBackendExecute",
               stream);
}

void compiled_plan::load_code(cudnnHandle_t library) {
  cudaStream_t native_stream = nullptr;
  if (stand_in() == nullptr ||
      cudaStreamCreateWithFlags(&native_stream, cudaStreamNonBlocking) != cudaSuccess) {
    return;
  }
  const owned<cudaStream_t> stream(native_stream);
  std::int64_t count = 0;
  for (const plan_image::binding& one : image_.bindings)
    count = std::max(count, one.operand);
  const std::vector<std::byte*> operands(static_cast<std::size_t>(count), stand_in());
  cudaGraph_t recorded = nullptr;
  bool good = cudnnSetStream(library, native_stream) == CUDNN_STATUS_SUCCESS;
  if (good && cudaStreamBeginCapture(native_stream, cudaStreamCaptureModeRelaxed) == cudaSuccess) {
    good = execute(library, operands, stand_in(), native_stream).has_value();
    good = cudaStreamEndCapture(native_stream, &recorded) == cudaSuccess && good;
  }
  const owned<cudaGraph_t> graph(recorded);
  cudaGraphExec_t ready = nullptr;
  if (good && recorded != nullptr) (void)cudaGraphInstantiate(&ready, recorded, 0);
  const owned<cudaGraphExec_t> whole(ready);
  (void)cudnnSetStream(library, nullptr);
  (void)cudaGetLastError();  // not the error of a request
}

}  // namespace troupe::cuda
