#include "libraries/dnn/cpu/onednn/plan.hpp"

#include <omp.h>

#include <unordered_map>

namespace troupe::cpu {
namespace {

constexpr std::size_t alignment = 64;

}  // namespace

const dnnl::engine& onednn_plan::engine() {
  static const dnnl::engine& one = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return one;
}

dnnl::primitive_attr onednn_plan::with_own_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

onednn_plan::place onednn_plan::workspace(const dnnl::memory::desc& what) {
  descs_.push_back(what);
  offsets_.push_back(bytes_);
  bytes_ += (what.get_size() + alignment - 1) / alignment * alignment;
  return descs_.size() - 1;
}

onednn_plan::place onednn_plan::moved(place operand, const dnnl::memory::desc& wanted) {
  if (descs_[operand] == wanted) return operand;
  const place made = workspace(wanted);
  add_move(operand, made);
  return made;
}

void onednn_plan::add(dnnl::primitive what, std::vector<std::pair<int, place>> arguments) {
  steps_.push_back({std::move(what), std::move(arguments)});
}

void onednn_plan::add_move(place from, place to, float alpha, float beta) {
  dnnl::primitive_attr attributes;
  if (alpha != 1) attributes.set_output_scales(0, {alpha});
  if (beta != 0) {
    dnnl::post_ops ops;
    ops.append_sum(beta);
    attributes.set_post_ops(ops);
  }
  const dnnl::reorder::primitive_desc pd(engine(), descs_[from], engine(), descs_[to], attributes);
  add(dnnl::reorder(pd), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

result<void> onednn_plan::run(const addresses& at, lane_context& lane) const {
  std::byte* first = nullptr;
  if (bytes_ > 0) {
    auto memory = lane.workspace(bytes_);
    if (!memory) return std::move(memory).error();
    first = memory->data();
  }
  omp_set_num_threads(threads_);  // for this thread's parallel regions
  try {
    dnnl::stream stream(engine());
    for (const step& one : steps_) {
      std::unordered_map<int, dnnl::memory> arguments;
      for (const auto& [argument, p] : one.arguments) {
        std::byte* const here = p < operands ? at[p] : first + offsets_[p];
        arguments.emplace(argument, dnnl::memory(descs_[p], engine(), here));
      }
      one.what.execute(stream, arguments);
    }
    stream.wait();
  } catch (const dnnl::error& failed) {
    return error{
        .code = failed.status == dnnl_out_of_memory ? errc::out_of_memory : errc::library_error,
        .message = failed.message,
        .library = "onednn",
        .call = "primitive::execute"};
  }
  return {};
}

}  // namespace troupe::cpu
