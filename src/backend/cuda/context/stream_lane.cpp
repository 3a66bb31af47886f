#include "backend/cuda/context/stream_lane.hpp"

#include "backend/cuda/context/stamp.hpp"
#include "wire/layout.hpp"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <atomic>
#include <bit>

namespace troupe::cuda {

result<std::unique_ptr<accelerator_lane>> stream_lane::make(const driver& d, int number,
                                                            int multiprocessors,
                                                            std::shared_ptr<kept_blobs> blobs,
                                                            library_methods methods) {
  std::unique_ptr<stream_lane> made(
      new stream_lane(d, number, multiprocessors, std::move(blobs), methods));
  // Parts of requests for several devices keep their peers waiting.
  auto created = number == wire::world_lane ? made->create_urgent(made->stream_)
                                            : made->create(made->stream_, 0);
  if (!created) return std::move(created).error();
  if (created =
          cuda::check(d.cuEventCreate(&made->passed_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
      !created) {
    return std::move(created).error();
  }
  return std::unique_ptr<accelerator_lane>(std::move(made));
}

stream_lane::~stream_lane() {
  attachments_.clear();
  for (const CUdeviceptr room : old_rooms_)
    (void)driver_.cuMemFree(room);
  if (workspace_ != 0 && recorder_) (void)driver_.cuMemFree(workspace_);
  if (workspace_ != 0 && !recorder_) (void)driver_.cuMemFreeAsync(workspace_, stream_);
  if (stored_ != nullptr) (void)driver_.cuEventDestroy(stored_);
  if (aside_ != nullptr) (void)driver_.cuStreamDestroy(aside_);
  if (passed_ != nullptr) (void)driver_.cuEventDestroy(passed_);
  if (stream_ != nullptr) (void)driver_.cuStreamDestroy(stream_);
}

result<std::span<std::byte>> stream_lane::workspace(std::size_t bytes) {
  if (bytes > workspace_bytes_) {
    if (auto grown = grow_workspace(bytes); !grown) return std::move(grown).error();
  }
  return std::span(reinterpret_cast<std::byte*>(workspace_), bytes);
}

result<void> stream_lane::grow_workspace(std::size_t bytes) {
  // First, so that both need not fit. In the stream's order it comes after the work that uses it.
  if (workspace_ != 0 && !recorder_) (void)driver_.cuMemFreeAsync(workspace_, stream_);
  if (workspace_ != 0 && recorder_) old_rooms_.push_back(workspace_);
  workspace_ = 0;
  workspace_bytes_ = 0;
  // Powers of two from 1 KiB, so that it soon stops growing; if that is too much, only the needed
  // size.
  constexpr std::size_t unit = std::size_t{2} << 20;
  const std::size_t rounded = std::bit_ceil(std::max<std::size_t>(bytes, 1024));
  const std::size_t least = (bytes + unit - 1) / unit * unit;
  auto got = allocate_workspace(rounded);
  if (!got && got.error().code == errc::out_of_memory && least < rounded)
    got = allocate_workspace(least);
  return got;
}

// That of a twin does not come in the stream's order: while it records, that would be a part of the
// recording. All its rooms together are less than twice the largest.
result<void> stream_lane::allocate_workspace(std::size_t bytes) {
  CUdeviceptr memory = 0;
  auto got = recorder_
                 ? recorder_->allocate(memory, bytes)
                 : cuda::check(driver_.cuMemAllocAsync(&memory, bytes, stream_), "cuMemAllocAsync");
  if (!got) return got;
  workspace_ = memory;
  workspace_bytes_ = bytes;
  return {};
}

accelerator_lane* stream_lane::twin() {
  constexpr std::size_t most_twins = 5;  // each has handles of libraries, of tens of MiB
  if (twins_.size() > replaced_twins_) return twins_.back().get();
  if (twins_.size() == most_twins) return nullptr;
  auto made = make(driver_, number_, multiprocessors_, blobs_, methods_);
  if (!made) return nullptr;
  twins_.emplace_back(static_cast<stream_lane*>(made->release()));
  twins_.back()->recorder_.emplace(driver_, twins_.back()->stream_);
  return twins_.back().get();
}

void stream_lane::replace_twin() noexcept { replaced_twins_ = twins_.size(); }

result<void> stream_lane::launch(recorded_work& work, std::byte* reply) {
  return static_cast<executable_graph&>(work).launch(stream_, reply);
}

result<void> stream_lane::stamp(std::uint64_t* where) { return enqueue_stamp(where, stream_); }

// Without a profiler each call only reads a pointer.
void stream_lane::begin_range(std::string_view request) noexcept {
  char name[64]{};  // NVTX needs a terminating zero
  request.copy(name, sizeof(name) - 1);
  (void)nvtxRangePushA(name);
}
void stream_lane::end_range() noexcept { (void)nvtxRangePop(); }

result<void> stream_lane::wait_for(accelerator_lane& other) {
  auto& awaited = static_cast<stream_lane&>(other);
  return follow(stream_, awaited.passed_, awaited.stream_);
}

// Work added to `later` from here on waits for the present work of `earlier`.
result<void> stream_lane::follow(CUstream later, CUevent passed, CUstream earlier) const {
  if (auto recorded = cuda::check(driver_.cuEventRecord(passed, earlier), "cuEventRecord");
      !recorded) {
    return recorded;
  }
  return cuda::check(driver_.cuStreamWaitEvent(later, passed, CU_EVENT_WAIT_DEFAULT),
                     "cuStreamWaitEvent");
}

result<void> stream_lane::mark(std::uint64_t* where, std::uint64_t value) {
  if (last_aside_ != 0) {
    // Acquire is not needed: nothing is read that was written before the mark.
    const std::atomic_ref<std::uint64_t> stored(*where);
    if (stored.load(std::memory_order_relaxed) < last_aside_) {
      if (auto ordered = follow(stream_, stored_, aside_); !ordered) return ordered;
    }
    last_aside_ = 0;
  }
  return store(stream_, where, value);
}

// The stream itself would stall for the 2 µs of the store; an event costs it nothing.
result<void> stream_lane::mark_aside(std::uint64_t* where, std::uint64_t value) {
  if (aside_ == nullptr) {
    if (auto made = make_aside(); !made) return made;
  }
  if (auto ordered = follow(aside_, passed_, stream_); !ordered) return ordered;
  last_aside_ = value;
  return store(aside_, where, value);
}

result<void> stream_lane::make_aside() {
  // Streams of one priority share a few connections to the device, where a waiting one holds up the
  // others: this one waits nearly all the time, so it uses the connections of another priority.
  if (stored_ == nullptr) {  // an earlier attempt may have failed only at the stream
    if (auto made =
            cuda::check(driver_.cuEventCreate(&stored_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
        !made) {
      return made;
    }
  }
  return create_urgent(aside_);
}

result<void> stream_lane::create(CUstream& made, int priority) const {
  return cuda::check(driver_.cuStreamCreateWithPriority(&made, CU_STREAM_NON_BLOCKING, priority),
                     "cuStreamCreateWithPriority");
}

result<void> stream_lane::create_urgent(CUstream& made) const {
  int least = 0;
  int greatest = 0;
  if (auto asked = cuda::check(driver_.cuCtxGetStreamPriorityRange(&least, &greatest),
                               "cuCtxGetStreamPriorityRange");
      !asked) {
    return asked;
  }
  return create(made, greatest);
}

result<void> stream_lane::store(CUstream in, std::uint64_t* where, std::uint64_t value) const {
  // With the default flag, earlier writes in the stream are visible to the host before the value.
  return cuda::check(driver_.cuStreamWriteValue64(in, reinterpret_cast<CUdeviceptr>(where), value,
                                                  CU_STREAM_WRITE_VALUE_DEFAULT),
                     "cuStreamWriteValue64");
}

result<void> stream_lane::check() {
  const CUresult code = driver_.cuStreamQuery(stream_);
  if (code == CUDA_ERROR_NOT_READY) return {};
  return cuda::check(code, "cuStreamQuery");
}

result<void> stream_lane::outcome_of(int code, std::string_view call) const {
  return cuda::check(static_cast<cudaError_t>(code), call);
}

result<void> stream_lane::finish() {
  return cuda::check(driver_.cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

}  // namespace troupe::cuda
