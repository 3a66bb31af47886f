#include "gpu/dnn/direct_cudnn.hpp"

#include "libraries/dnn/cuda/attention/attention_case.hpp"
#include "libraries/dnn/cuda/convolution/convolution_case.hpp"
#include "libraries/dnn/cuda/plan/compiled_plan.hpp"
#include "libraries/dnn/cuda/plan/graph_builder.hpp"

#include <array>
#include <chrono>
#include <stdexcept>
#include <vector>

namespace troupe::bench::raw {
namespace {

template <class T>
T good(result<T> made) {
  if (!made) throw std::runtime_error(made.error().to_string());
  if constexpr (!std::is_void_v<T>) return *std::move(made);
}

}  // namespace

struct cudnn_plan::parts {
  cuda::cudnn_handle library = good(cuda::cudnn_handle::make());
  cudaStream_t stream = nullptr;
  std::unique_ptr<cuda::compiled_plan> plan;
  std::vector<std::byte*> operands;
  std::unique_ptr<memory> workspace;
  double build_ms = 0;

  parts(raw::stream& on, const std::vector<cuda::graphs::description>& graphs)
      : stream(static_cast<cudaStream_t>(on.native())) {
    good(cuda::check(cudnnSetStream(library.get(), stream), "cudnnSetStream"));
    const auto begin = std::chrono::steady_clock::now();
    auto images = good(cuda::graphs::build(library.get(), graphs.front()));
    plan = good(cuda::compiled_plan::load(library.get(), std::move(images.front())));
    build_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    if (plan->workspace_bytes() > 0) {
      workspace = std::make_unique<memory>(memory::place::device, plan->workspace_bytes());
    }
  }

  static std::unique_ptr<parts> of(raw::stream& on, const cuda::convolution_case& what) {
    auto made = std::make_unique<parts>(on, what.graphs());
    using at = cuda::convolution_case::operand_number;
    made->operands.resize(at::operand_count);
    made->operands[at::first_at] = what.first().address();
    made->operands[at::second_at] = what.second().address();
    made->operands[at::result_at] = what.result().address();
    made->operands[at::bias_at] = what.follows().bias.address();
    return made;
  }
  static std::unique_ptr<parts> of(raw::stream& on, const cuda::attention_case& what) {
    auto made = std::make_unique<parts>(on, what.graphs());
    for (std::size_t i = 0; i < cuda::attention_case::operand_count; ++i)
      made->operands.push_back(what.operand(i).address());
    return made;
  }
};

cudnn_plan::cudnn_plan(stream& on, const dnn::convolution_forward& what)
    : parts_(parts::of(on, cuda::convolution_case(what))) {}
cudnn_plan::cudnn_plan(stream& on, const dnn::convolution_backward_data& what)
    : parts_(parts::of(on, cuda::convolution_case(what))) {}
cudnn_plan::cudnn_plan(stream& on, const dnn::convolution_backward_filter& what)
    : parts_(parts::of(on, cuda::convolution_case(what))) {}
cudnn_plan::cudnn_plan(stream& on, const dnn::attention_forward& what)
    : parts_(parts::of(on, cuda::attention_case(what))) {}
cudnn_plan::cudnn_plan(stream& on, const dnn::attention_backward& what)
    : parts_(parts::of(on, cuda::attention_case(what))) {}
cudnn_plan::~cudnn_plan() = default;

void cudnn_plan::run() {
  std::byte* const workspace =
      parts_->workspace ? static_cast<std::byte*>(parts_->workspace->address()) : nullptr;
  good(parts_->plan->run(parts_->library.get(), parts_->operands, workspace, parts_->stream));
}

double cudnn_plan::build_ms() const noexcept { return parts_->build_ms; }

}  // namespace troupe::bench::raw
