#include "libraries/tensors/cuda/executors.hpp"

#include "backend/cuda/context/executor.hpp"
#include "libraries/blas/cuda/product/product.hpp"
#include "libraries/elementwise/cuda/elementwise.hpp"
#include "libraries/elementwise/cuda/interpreter/interpreter.hpp"
#include "libraries/memory/cuda/kernels.hpp"
#include "libraries/tensors/cuda/part_lane.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>

namespace troupe::cuda {
namespace {

/// One H100 or H200, of which launches take the host about as long as the copy of a megabyte.
constexpr tensors::machine gpu{.bytes_per_ns = 2000,
                               .flops_per_ns = 40'000,
                               .half_flops_per_ns = 500'000,
                               .call_ns = 4000,
                               .tile = 64,
                               .widens = false,
                               .dots = false};

// What a function works in: the partial results of rows that several blocks share, at most four
// blocks a multiprocessor with 16 bytes each, and their values, at most 256 of eight bytes.
constexpr std::size_t function_bytes_of_multiprocessor = std::size_t{4} * (16 * 16 + 256 * 8);

/// What a lane keeps: programs are the same each time.
struct lane_state {
  static constexpr std::size_t most_programs = 512;
  std::unordered_map<std::string, tensors::program> programs;
};
constexpr char attachment_key = 0;

// A worker need not be warm when it gets a request. The interpreter of this plugin, which is not
// that of elementwise's, must be loaded first: only then may it share more than 48 KiB in a block,
// which complex functions of three tensors do.
result<lane_state*> state_of(lane& where) {
  std::shared_ptr<void>& place = where.attachment(&attachment_key);
  if (!place) {
    if (auto loaded = load_interpreter(); !loaded) return std::move(loaded).error();
    place = std::make_shared<lane_state>();
  }
  return static_cast<lane_state*>(place.get());
}

/// The steps of a program on this backend.
class tensor_steps {
 public:
  tensor_steps(lane& where, blas::math_mode math) noexcept : where_(where), math_(math) {}

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

 private:
  lane& where_;
  blas::math_mode math_;
};

bool has_functions(const tensors::program& p) noexcept {
  return std::ranges::any_of(
      p.steps, [](const tensors::step& one) { return one.what == tensors::step::kind::rows; });
}

}  // namespace

result<void> run_program(const void* request, std::string key, make_program make,
                         std::span<const any_tensor* const> operands, blas::math_mode math,
                         lane& where) {
  auto found = state_of(where);
  if (!found) return std::move(found).error();
  lane_state& state = **found;
  auto place = state.programs.find(key);
  if (place == state.programs.end()) {
    if (state.programs.size() == lane_state::most_programs) state.programs.clear();
    place = state.programs.emplace(std::move(key), make(request, gpu)).first;
  }
  const tensors::program& what = place->second;
  const std::size_t own = what.workspace_bytes;
  const std::size_t for_functions =
      has_functions(what)
          ? static_cast<std::size_t>(where.multiprocessors()) * function_bytes_of_multiprocessor
          : 0;
  std::span<std::byte> memory;
  if (own + for_functions > 0) {
    auto taken = where.workspace(own + for_functions);
    if (!taken) return std::move(taken).error();
    memory = *taken;
  }
  part_lane functions(where, memory.subspan(own));
  tensor_steps steps(functions, math);
  return tensors::program_run(what, operands, memory.data(), steps)();
}

}  // namespace troupe::cuda
