#include "libraries/tensors/cuda/executors.hpp"

#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/part_lane.hpp"
#include "libraries/blas/cuda/product/product.hpp"
#include "libraries/elementwise/cuda/elementwise.hpp"
#include "libraries/elementwise/cuda/interpreter/interpreter.hpp"
#include "libraries/memory/cuda/kernels.hpp"
#include "libraries/tensors/cuda/cutensor/tensor_library.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe::cuda {
namespace {

/// An H100 or H200. A launch takes the host about as long as the GPU copies a megabyte.
constexpr tensors::machine gpu{.bytes_per_ns = 2000,
                               .flops_per_ns = 40'000,
                               .half_flops_per_ns = 500'000,
                               .call_ns = 4000,
                               .tile = 64,
                               .widens = false,
                               .dots = false};

// The workspace of a function: the partial results of rows that several blocks share (at most four
// blocks per multiprocessor, 16 bytes each), and their values (at most 256 of eight bytes).
constexpr std::size_t function_bytes_of_multiprocessor = std::size_t{4} * (16 * 16 + 256 * 8);

/// A program and the plans of its sums.
struct planned_program {
  std::shared_ptr<tensor_library> library;  ///< ends after its plans
  tensors::program what;
  std::vector<std::unique_ptr<tensor_plan>> plans;  ///< per step; empty without a library
  std::size_t library_bytes = 0;
};

/// The state of a lane, which caches programs.
struct lane_state {
  static constexpr std::size_t most_programs = 512;
  std::shared_ptr<tensor_library> library;
  tensors::machine with_library = gpu;
  std::unordered_map<std::string, std::shared_ptr<const planned_program>> programs;
};
constexpr char attachment_key = 0;

tensors::library_use use_of_library(tensors_method method) noexcept {
  switch (method) {
    case tensors_method::products:
      return tensors::library_use::never;
    case tensors_method::cutensor:
      return tensors::library_use::always;
    case tensors_method::automatic:
      break;
  }
  return tensors::library_use::where_faster;
}

// A worker may get a request before it is warm. This plugin has its own copy of the interpreter,
// which must be loaded first: only then may a block use more than 48 KiB of shared memory, which
// complex functions of three tensors need.
result<lane_state*> state_of(lane& where) {
  std::shared_ptr<void>& place = where.attachment(&attachment_key);
  if (!place) {
    TRY(load_interpreter());
    auto made = std::make_shared<lane_state>();
    made->with_library.library = use_of_library(where.methods().tensors);
    if (made->with_library.library != tensors::library_use::never) {
      made->library = open_tensor_library();
    }
    place = std::move(made);
  }
  return static_cast<lane_state*>(place.get());
}

/// Runs the steps of a program on this backend.
class tensor_steps {
 public:
  tensor_steps(lane& where, blas::math_mode math, const planned_program& program,
               std::span<std::byte> library) noexcept
      : where_(where), math_(math), program_(program), library_(library) {}

  [[nodiscard]] result<void> copy(const any_tensor& from, const any_tensor& to) {
    elementwise::strided_loops loops(from, to);
    if (loops.empty) return {};
    const unit moved = choose_unit(loops, size_of(to.type()), from.address(), to.address());
    return enqueue_copy(strided_map(loops, true), moved, from.address(), to.address(),
                        where_.stream());
  }
  template <class R>
  [[nodiscard]] result<void> run(const R& r) {
    return run_elementwise(r, where_);
  }
  [[nodiscard]] result<void> multiply(const any_tensor& a, const any_tensor& b, const any_tensor& d,
                                      const scalar& alpha, const scalar& beta) {
    return cuda::multiply({a, b, d, alpha, beta, blas::op::none, blas::op::none, math_}, where_);
  }
  [[nodiscard]] result<void> sum(std::size_t number, std::span<const any_tensor> inputs,
                                 const any_tensor& d) {
    const tensors::step& one = program_.what.steps[number];
    return program_.plans[number]->run(inputs, d, one.alpha, one.beta, library_, where_.stream());
  }

 private:
  lane& where_;
  blas::math_mode math_;
  const planned_program& program_;
  std::span<std::byte> library_;
};

/// Rounds up the size of a part of a lane's workspace.
std::size_t aligned(std::size_t bytes) noexcept {
  constexpr std::size_t unit = 256;
  return (bytes + unit - 1) / unit * unit;
}

/// Plans the sums of a program. Returns false if it has none, or if the library does not support
/// all.
bool plan_sums(planned_program& to, std::span<const any_tensor* const> operands,
               blas::math_mode math, tensor_library& library) {
  to.plans.resize(to.what.steps.size());
  bool any = false;
  const auto placed = [&](std::size_t number) {
    const tensors::place& p = to.what.places[number];
    // Parts of the workspace have the alignment of a null pointer.
    std::byte* const first =
        p.operand == tensors::place::in_workspace
            ? nullptr
            : operands[static_cast<std::size_t>(p.operand)]->address() + p.offset_bytes;
    return any_tensor::unowned(first, p.layout.type(), shape(p.layout.extents()),
                               p.layout.strides());
  };
  for (std::size_t i = 0; i < to.what.steps.size(); ++i) {
    const tensors::step& one = to.what.steps[i];
    if (one.what != tensors::step::kind::sum) continue;
    named_sum s{.tensors = {}, .names = one.names, .math = math};
    for (const std::size_t number : one.inputs)
      s.tensors.push_back(placed(number));
    s.tensors.push_back(placed(one.output));
    to.plans[i] = library.plan(s);
    if (to.plans[i] == nullptr) return false;
    to.library_bytes = std::max(to.library_bytes, aligned(to.plans[i]->workspace_bytes()));
    any = true;
  }
  return any;
}

/// Adds everything else that the library's plans depend on to a key.
void add_alignments(std::string& key, std::span<const any_tensor* const> operands,
                    blas::math_mode math) {
  key += static_cast<char>(math);
  for (const any_tensor* const one : operands)
    key += static_cast<char>(alignment_of(one->address()));
}

bool has_functions(const tensors::program& p) noexcept {
  return std::ranges::any_of(
      p.steps, [](const tensors::step& one) { return one.what == tensors::step::kind::rows; });
}

}  // namespace

result<void> prepare_tensors(lane& where) {
  TRY(state_of(where));
  return {};
}

result<void> run_program(const void* request, std::string key, make_program make,
                         std::span<const any_tensor* const> operands, blas::math_mode math,
                         lane& where) {
  lane_state& state = *TRY(state_of(where));
  if (state.library) add_alignments(key, operands, math);
  auto place = state.programs.find(key);
  if (place == state.programs.end()) {
    if (state.programs.size() == lane_state::most_programs) state.programs.clear();
    planned_program made;
    made.library = state.library;
    if (state.library) made.what = make(request, state.with_library);
    if (!state.library || !plan_sums(made, operands, math, *state.library)) {
      made = {};
      made.what = make(request, gpu);
    }
    auto kept = std::make_shared<const planned_program>(std::move(made));
    place = state.programs.emplace(std::move(key), std::move(kept)).first;
  }
  where.retain(place->second);
  const planned_program& planned = *place->second;
  const tensors::program& what = planned.what;
  const std::size_t for_functions =
      has_functions(what)
          ? static_cast<std::size_t>(where.multiprocessors()) * function_bytes_of_multiprocessor
          : 0;
  call_frame c(where);
  const auto own = c.bytes(what.workspace_bytes);
  const auto of_library = c.bytes(planned.library_bytes);
  const auto of_functions = c.bytes(for_functions);
  TRY(c.begin());
  part_lane functions(where, {of_functions.get(), for_functions});
  tensor_steps steps(functions, math, planned, {of_library.get(), planned.library_bytes});
  return tensors::program_run(what, operands, own, steps)();
}

}  // namespace troupe::cuda
