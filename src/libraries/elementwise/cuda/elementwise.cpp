#include "libraries/elementwise/cuda/elementwise.hpp"

#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/elementwise/cuda/compiled/compilation.hpp"
#include "libraries/elementwise/cuda/compiled/compiled_kernels.hpp"
#include "libraries/elementwise/cuda/compiled/kernel_source.hpp"
#include "libraries/elementwise/cuda/interpreter/interpreter.hpp"
#include "libraries/elementwise/cuda/key_words.hpp"

#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe::cuda {
namespace {

void add_axes(key_words&, const elementwise::map&) {}
void add_axes(key_words& key, const elementwise::rows& r) {
  key.insert(key.end(), r.axes.begin(), r.axes.end());
}
template <class R>
void make_key(key_words& key, const R& r) {
  key.clear();
  key.push_back(std::is_same_v<R, elementwise::map>);
  add_to_key(key, r.what);
  add_axes(key, r);
  for (const auto* const list : {&r.inputs, &r.outputs}) {
    for (const any_tensor& t : *list)
      add_to_key(key, t);
  }
}

/// A request that a lane has run before.
struct known_request {
  kernel_plan plan;
  std::shared_ptr<compiled_kernel> kernel;           ///< null until it is ordered
  std::unique_ptr<interpreter_program> interpreted;  ///< null if the program is too large
  std::vector<std::pair<std::uint16_t, elementwise::number>> constants;  ///< in the plan's order
  std::size_t passes = 0;
  std::vector<bool> has_part;  ///< per pass of a split row
  bool nothing = false;        ///< no elements
};

/// The state of a lane.
struct lane_state {
  static constexpr std::size_t most_known = 512;
  std::unordered_map<key_words, known_request, key_hash> known;
  key_words key;  // the current request's
};
constexpr char attachment_key = 0;

bool waits_for_kernels(const lane& where) noexcept {
  const elementwise_method method = where.methods().elementwise;
  return method == elementwise_method::compiled || method == elementwise_method::callbacks;
}

/// The inputs of the background thread that writes a kernel's source. The tensors only carry types.
struct source_job {
  std::vector<any_tensor> inputs;
  std::vector<any_tensor> outputs;
  elementwise::bound_request request;
  elementwise::loops over;
  kernel_plan plan;
};

/// Orders the compiled kernel of a request.
using kernel_order = std::function<result<std::shared_ptr<compiled_kernel>>()>;

/// Prepares everything about a request that is cached. `order` is set unless only the interpreter
/// is wanted.
template <class R>
result<known_request> prepare(const driver& d, const R& r, const lane& where, kernel_order& order) {
  auto bound = TRY(elementwise::bind(r));
  const auto over = elementwise::loops::of(bound.over, r.inputs, r.outputs, r.what);
  known_request made;
  made.nothing = r.outputs.empty() || over.outer_count == 0 ||
                 (over.row_count == 0 && bound.over.reduced == 0);
  if (made.nothing) return made;
  auto plan = TRY(kernel_plan::of(bound, over, r.what, where.multiprocessors()));
  made.plan = std::move(plan);
  made.passes = bound.program.passes.size();
  std::vector<std::string> names;
  if (made.plan.split) {
    for (std::size_t i = 0; i < made.passes; ++i) {
      const elementwise::pass& one = bound.program.passes[i];
      made.has_part.push_back(!one.elements.empty() || !one.rows.empty());
      if (made.has_part.back()) names.push_back(fmt::format("part_{}", i));
      names.push_back(fmt::format("join_{}", i));
    }
  } else {
    names.emplace_back("elementwise");
  }
  for (const auto& one : bound.program.code) {
    if (one.op == elementwise::opcode::constant) made.constants.emplace_back(one.a, one.type);
  }
  made.interpreted = std::make_unique<interpreter_program>();
  if (!made.interpreted->assign(bound, over, made.plan)) made.interpreted.reset();
  if (made.interpreted && where.methods().elementwise == elementwise_method::interpreted)
    return made;
  auto job = std::make_shared<source_job>(r.inputs, r.outputs, std::move(bound), over, made.plan);
  job->request.inputs = job->inputs;
  job->request.outputs = job->outputs;
  order = [&d, job = std::move(job), names = std::move(names)] {
    return compiled_for(d, job->plan.kernel_key(job->request), names,
                        [job] { return source_of(job->request, job->over, job->plan); });
  };
  return made;
}

result<void> launch_compiled(const driver& d, const known_request& known, lane& where,
                             elementwise::gpu::parameters& parameters) {
  void* arguments[] = {&parameters};
  const auto launch = [&](std::string_view name, std::int64_t blocks, unsigned threads) {
    return check(
        d.cuLaunchKernel(known.kernel->functions.find(name)->second, static_cast<unsigned>(blocks),
                         1, 1, threads, 1, 1, 0, where.stream(), arguments, nullptr),
        "cuLaunchKernel");
  };
  const kernel_plan& p = known.plan;
  if (!p.split) return launch("elementwise", p.blocks, p.threads);
  for (std::size_t i = 0; i < known.passes; ++i) {
    if (known.has_part[i]) TRY(launch(fmt::format("part_{}", i), p.blocks, p.threads));
    TRY(launch(fmt::format("join_{}", i), p.joining_blocks, 256));
  }
  return {};
}

template <class R>
result<void> run(const R& r, lane& where) {
  const auto loaded = TRY(driver::load());
  const driver& d = *loaded;
  std::shared_ptr<void>& attached = where.attachment(&attachment_key);
  if (!attached) attached = std::make_shared<lane_state>();
  auto& state = *static_cast<lane_state*>(attached.get());
  make_key(state.key, r);
  auto place = state.known.find(state.key);
  kernel_order order;
  if (place == state.known.end()) {
    auto made = TRY(prepare(d, r, where, order));
    if (state.known.size() == lane_state::most_known) state.known.clear();
    place = state.known.emplace(state.key, std::move(made)).first;
  }
  known_request& known = place->second;
  if (known.nothing) return {};
  elementwise::gpu::parameters& parameters = known.plan.parameters;
  std::size_t k = 0;
  for (const auto* const list : {&r.inputs, &r.outputs}) {
    for (const any_tensor& t : *list)
      parameters.operands[k++].address = reinterpret_cast<char*>(t.address());
  }
  for (std::size_t i = 0; i < known.constants.size(); ++i) {
    const auto [n, type] = known.constants[i];
    parameters.constants[i] = bits_of(type, elementwise::constant_of(r.what, n));
  }
  if (known.plan.split) {
    const auto room = TRY(where.workspace(
        static_cast<std::size_t>(known.plan.partial_bytes + known.plan.cell_bytes)));
    parameters.partials = reinterpret_cast<char*>(room.data());
    parameters.cells = reinterpret_cast<long*>(room.data() + known.plan.partial_bytes);
  }
  const auto order_kernel = [&]() -> result<void> {
    if (!order) return {};
    known.kernel = TRY(order());
    return {};
  };
  if (waits_for_kernels(where) || !known.interpreted) {
    TRY(order_kernel());
    known.kernel->wait();
  }
  if (known.kernel) {
    if (known.kernel->now.load(std::memory_order_acquire) == compiled_kernel::state::ready) {
      where.retain(known.kernel);
      return launch_compiled(d, known, where, parameters);
    }
    if (!known.interpreted) {
      return error{
          .code = errc::library_error,
          .message = fmt::format("the program cannot be compiled: {}", known.kernel->failure)};
    }
  }
  if (order || (known.kernel && known.kernel->now.load(std::memory_order_relaxed) ==
                                    compiled_kernel::state::compiling))
    where.note_provisional();
  auto enqueued = enqueue_interpreter(*known.interpreted, known.plan, parameters, where.stream());
  // Ordering takes as long as the launch, so launch first: the interpreter runs meanwhile.
  return enqueued ? order_kernel() : std::move(enqueued);
}

}  // namespace

result<void> run_elementwise(const elementwise::map& r, lane& where) { return run(r, where); }
result<void> run_elementwise(const elementwise::rows& r, lane& where) { return run(r, where); }

}  // namespace troupe::cuda
