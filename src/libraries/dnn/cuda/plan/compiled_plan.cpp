#include "libraries/dnn/cuda/plan/compiled_plan.hpp"

#include "backend/cuda/context/failure.hpp"
#include "libraries/dnn/cuda/plan/words.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

namespace troupe::cuda {
namespace {

constexpr std::size_t most_bindings = 64;

}  // namespace

result<std::unique_ptr<compiled_plan>> compiled_plan::load(cudnnHandle_t library,
                                                           plan_image image) {
  if (image.bindings.size() > most_bindings) {
    return error{.code = errc::unsupported,
                 .message = fmt::format("a plan of {} tensors; {} are the most",
                                        image.bindings.size(), most_bindings)};
  }
  auto native = cudnn_descriptor::make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (!native) return std::move(native).error();
  if (auto set = native->set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                             static_cast<std::int64_t>(image.plan.size()), image.plan.data());
      !set) {
    return std::move(set).error();
  }
  if (auto set = native->set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &library);
      !set) {
    return std::move(set).error();
  }
  if (auto done = native->finalize(); !done) return std::move(done).error();
  std::int64_t workspace = 0;
  if (auto got =
          check(cudnnBackendGetAttribute(native->get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                         CUDNN_TYPE_INT64, 1, nullptr, &workspace),
                "cudnnBackendGetAttribute");
      !got) {
    return std::move(got).error();
  }
  // The text is not needed any more, and long.
  std::exchange(image.plan, {}).shrink_to_fit();
  const auto bytes = static_cast<std::size_t>(workspace + image.frontend_workspace_bytes);
  return std::unique_ptr<compiled_plan>(
      new compiled_plan(*std::move(native), std::move(image), bytes));
}

result<void> compiled_plan::run(cudnnHandle_t library, std::span<std::byte* const> operands,
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
  for (const plan_image::preset& one : image_.presets) {
    std::byte* const to = workspace + one.at;
    auto done =
        one.values.empty()
            ? check(cudaMemsetAsync(to, 0, static_cast<std::size_t>(one.bytes), stream),
                    "cudaMemsetAsync")
            : check(enqueue_words({reinterpret_cast<const std::uint32_t*>(one.values.data()),
                                   one.values.size()},
                                  to, stream),
                    "store_words");
    if (!done) return done;
  }
  std::byte* const rest =
      workspace == nullptr ? nullptr : workspace + image_.frontend_workspace_bytes;
  auto pack = cudnn_descriptor::make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  if (!pack) return std::move(pack).error();
  const auto number = static_cast<std::int64_t>(count);
  if (auto set = pack->set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, number,
                           addresses.data());
      !set) {
    return set;
  }
  if (auto set =
          pack->set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, number, uids.data());
      !set) {
    return set;
  }
  if (auto set = pack->set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &rest);
      !set) {
    return set;
  }
  if (auto done = pack->finalize(); !done) return done;
  const std::lock_guard lock(mutex_);
  return check(cudnnBackendExecute(library, native_.get(), pack->get()), "cudnnBackendExecute",
               stream);
}

}  // namespace troupe::cuda
