#include "libraries/dnn/cuda/plan/measure.hpp"

#include "backend/cuda/context/failure.hpp"
#include "backend/cuda/context/pieces.hpp"
#include "base/try.hpp"
#include "libraries/dnn/cuda/plan/graph_fingerprint.hpp"
#include "libraries/dnn/cuda/plan/owned.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace troupe::cuda {
namespace {

constexpr int rounds = 5;

std::int64_t bytes_of(const graphs::tensor& t) noexcept {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < t.extents.size(); ++i)
    last += (t.extents[i] - 1) * t.strides[i];
  return (last + 1) * size_of(t.type);
}

/// Memory for all operands, allocated in stream order.
class scratch {
 public:
  explicit scratch(cudaStream_t stream) noexcept : stream_(stream) {}
  ~scratch() {
    if (memory_ != nullptr) (void)cudaFreeAsync(memory_, stream_);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  [[nodiscard]] result<void> take(std::size_t bytes) {
    void* made = nullptr;
    TRY(check(cudaMallocAsync(&made, bytes, stream_), "cudaMallocAsync"));
    memory_ = static_cast<std::byte*>(made);
    return check(cudaMemsetAsync(memory_, 0, bytes, stream_), "cudaMemsetAsync");
  }
  [[nodiscard]] std::byte* at(std::size_t offset) const noexcept { return memory_ + offset; }

 private:
  cudaStream_t stream_;
  std::byte* memory_ = nullptr;
};

/// Times the plans of one graph.
class timing {
 public:
  [[nodiscard]] static result<std::unique_ptr<timing>> make(cudnnHandle_t library,
                                                            const graphs::description& what,
                                                            std::size_t workspace_bytes) {
    cudaStream_t stream = nullptr;
    TRY(check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
              "cudaStreamCreateWithFlags"));
    std::unique_ptr<timing> made(new timing(library, stream));
    pieces all;
    std::vector<std::pair<std::size_t, std::size_t>> places;
    for (const graphs::tensor& t : what.tensors) {
      if (t.operand == 0) continue;
      const auto index = static_cast<std::size_t>(t.operand - 1);
      if (made->operands_.size() <= index) made->operands_.resize(index + 1);
      if (t.by_value) {
        made->operands_[index] = reinterpret_cast<std::byte*>(
            t.type == dtype::f64 ? static_cast<void*>(&made->wide_one_) : &made->one_);
      } else {
        places.emplace_back(index, all.add(bytes_of(t)));
      }
    }
    const std::size_t workspace_at = all.add(static_cast<std::int64_t>(workspace_bytes));
    TRY(made->memory_.take(std::max<std::size_t>(all.bytes(), 1)));
    for (const auto& [index, offset] : places)
      made->operands_[index] = made->memory_.at(offset);
    made->workspace_ = made->memory_.at(workspace_at);
    for (owned<cudaEvent_t>* const one : {&made->before_, &made->after_}) {
      cudaEvent_t event = nullptr;
      TRY(check(cudaEventCreate(&event), "cudaEventCreate"));
      one->reset(event);
    }
    TRY(check(cudnnSetStream(library, stream), "cudnnSetStream"));
    return made;
  }
  ~timing() { (void)cudnnSetStream(library_, nullptr); }
  timing(const timing&) = delete;
  timing& operator=(const timing&) = delete;

  /// The shortest of several runs, in ms.
  [[nodiscard]] result<float> of(compiled_plan& plan) {
    float least = std::numeric_limits<float>::max();
    for (int i = 0; i <= rounds; ++i) {  // the first run loads code
      TRY(check(cudaEventRecord(before_.get(), stream_.get()), "cudaEventRecord"));
      TRY(plan.run(library_, operands_, workspace_, stream_.get()));
      TRY(check(cudaEventRecord(after_.get(), stream_.get()), "cudaEventRecord"));
      TRY(check(cudaEventSynchronize(after_.get()), "cudaEventSynchronize"));
      float took = 0;
      TRY(check(cudaEventElapsedTime(&took, before_.get(), after_.get()), "cudaEventElapsedTime"));
      if (i > 0) least = std::min(least, took);
    }
    return least;
  }

 private:
  timing(cudnnHandle_t library, cudaStream_t stream) noexcept
      : library_(library), stream_(stream), memory_(stream) {}

  cudnnHandle_t library_;
  owned<cudaStream_t> stream_;
  scratch memory_;
  owned<cudaEvent_t> before_;
  owned<cudaEvent_t> after_;
  std::vector<std::byte*> operands_;
  std::byte* workspace_ = nullptr;
  float one_ = 1;
  double wide_one_ = 1;
};

}  // namespace

bool fits(const compiled_plan& plan, std::span<const graphs::description> graphs) {
  if (plan.alternative() >= std::ssize(graphs)) return false;
  const graphs::description& graph = graphs[static_cast<std::size_t>(plan.alternative())];
  if (plan.image().graph != graphs::fingerprint(graph)) return false;
  std::vector<std::int64_t> bytes;
  for (const graphs::tensor& t : graph.tensors) {
    if (t.operand == 0) continue;
    const auto index = static_cast<std::size_t>(t.operand - 1);
    if (bytes.size() <= index) bytes.resize(index + 1);
    bytes[index] = bytes_of(t);
  }
  return plan.image().lies_within(bytes);
}

result<chosen_plan> fastest_of(cudnnHandle_t library, const graphs::description& what,
                               std::vector<plan_image> images) {
  std::vector<chosen_plan> loaded;
  error why{.code = errc::unsupported, .message = "cuDNN proposes no engine", .library = "cudnn"};
  std::size_t workspace_bytes = 0;
  for (plan_image& image : images) {
    std::vector<std::byte> bytes = image.to_bytes();
    auto plan = compiled_plan::load(library, std::move(image));
    if (!plan) {
      why = std::move(plan).error();
      continue;
    }
    workspace_bytes = std::max(workspace_bytes, (*plan)->workspace_bytes());
    loaded.push_back({*std::move(plan), std::move(bytes)});
  }
  if (loaded.empty()) return why;
  if (loaded.size() == 1) return std::move(loaded.front());
  // If timing fails, keep cuDNN's order, which puts the best plan first.
  std::size_t best = 0;
  float least = std::numeric_limits<float>::max();
  if (auto times = timing::make(library, what, workspace_bytes)) {
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      const auto took = (*times)->of(*loaded[i].plan);
      if (!took || *took >= least) continue;
      least = *took;
      best = i;
    }
  }
  return std::move(loaded[best]);
}

}  // namespace troupe::cuda
