// cuTENSOR as documented, and the other work that executors of `tensors` enqueue, on the processor
// and by definition: tests the calls of cuTENSOR on any machine. Unkind if allowed: it uses all of
// its workspace, and takes nothing that the documentation does not list.

#include "cuda/emulated/cutensor.hpp"

#include "conformance/element.hpp"
#include "conformance/runner.hpp"
#include "cuda/emulated/lane.hpp"
#include "libraries/blas/cuda/product/product.hpp"
#include "libraries/elementwise/cuda/elementwise.hpp"
#include "libraries/elementwise/cuda/interpreter/interpreter.hpp"
#include "libraries/memory/cuda/kernels.hpp"
#include "libraries/tensors/cuda/cutensor/cutensor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <vector>

using troupe::dtype;
using troupe::conformance::number;
using troupe::emulated_cutensor::seen;

struct cutensorComputeDescriptor {
  enum { f32, tf32, f64 } in;
};
struct cutensorHandle {};
struct cutensorPlanPreference {};
struct cutensorTensorDescriptor {
  std::vector<std::int64_t> extents, strides;
  cudaDataType_t type;
  std::uint32_t alignment;
};

namespace {

struct operand {
  cutensorTensorDescriptor like;
  std::vector<std::int32_t> modes;
};

constexpr std::uint64_t workspace_bytes = 1000;

dtype type_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_16F:
      return dtype::f16;
    case CUDA_R_16BF:
      return dtype::bf16;
    case CUDA_R_64F:
      return dtype::f64;
    case CUDA_C_32F:
      return dtype::c64;
    case CUDA_C_64F:
      return dtype::c128;
    default:
      return dtype::f32;
  }
}
dtype scaled_in(dtype type) {
  return type == dtype::f16 || type == dtype::bf16 ? dtype::f32 : type;
}

}  // namespace

struct cutensorOperationDescriptor {
  std::vector<operand> inputs;
  operand d;
  cutensorComputeDescriptor in;
};
struct cutensorPlan {
  cutensorOperationDescriptor what;
};

namespace {

template <class Object, class... Args>
cutensorStatus_t make(Object** to, Args&&... args) {
  *to = new Object{std::forward<Args>(args)...};
  ++seen().alive;
  return CUTENSOR_STATUS_SUCCESS;
}
template <class Object>
cutensorStatus_t end(Object* one) {
  delete one;
  --seen().alive;
  return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t describe(cutensorHandle_t, cutensorTensorDescriptor_t* to, std::uint32_t modes,
                          const std::int64_t* extents, const std::int64_t* strides,
                          cudaDataType_t type, std::uint32_t alignment) {
  const auto size = static_cast<std::uint32_t>(troupe::size_of(type_of(type)));
  if (alignment < size || (alignment & (alignment - 1)) != 0) return CUTENSOR_STATUS_INVALID_VALUE;
  for (std::uint32_t i = 0; i < modes; ++i) {
    if (extents[i] <= 0 || strides[i] <= 0) return CUTENSOR_STATUS_INVALID_VALUE;
  }
  return make(to, std::vector(extents, extents + modes), std::vector(strides, strides + modes),
              type, alignment);
}

operand named(cutensorTensorDescriptor_t like, const std::int32_t* modes) {
  return {*like, std::vector(modes, modes + like->extents.size())};
}

/// No tensor has a mode twice; what a result has an input has, too. Types are one.
bool is_sound(const cutensorOperationDescriptor& what, bool may_sum, bool may_convert) {
  std::map<std::int32_t, int> lists;
  std::vector<operand> all = what.inputs;
  all.push_back(what.d);
  for (const operand& one : all) {
    const std::set<std::int32_t> each(one.modes.begin(), one.modes.end());
    if (each.size() != one.modes.size()) return false;
    if (!may_convert && one.like.type != what.d.like.type) return false;
    for (const std::int32_t mode : each)
      ++lists[mode];
  }
  for (const auto& [mode, count] : lists) {
    const bool kept = std::ranges::find(what.d.modes, mode) != what.d.modes.end();
    if (count == 1 && (kept || !may_sum)) return false;
  }
  const auto type = what.d.like.type;
  const bool wide = type == CUDA_R_64F || type == CUDA_C_64F;
  return !seen().refuses && wide == (what.in.in == cutensorComputeDescriptor::f64);
}

cutensorStatus_t make_sound(cutensorOperationDescriptor_t* to,
                            const cutensorOperationDescriptor& what, bool may_sum,
                            bool may_convert) {
  return is_sound(what, may_sum, may_convert) ? make(to, what) : CUTENSOR_STATUS_NOT_SUPPORTED;
}

cutensorStatus_t contraction(cutensorHandle_t, cutensorOperationDescriptor_t* to,
                             cutensorTensorDescriptor_t a, const std::int32_t* modes_a,
                             cutensorOperator_t op_a, cutensorTensorDescriptor_t b,
                             const std::int32_t* modes_b, cutensorOperator_t op_b,
                             cutensorTensorDescriptor_t c, const std::int32_t* modes_c,
                             cutensorOperator_t op_c, cutensorTensorDescriptor_t d,
                             const std::int32_t* modes_d, cutensorComputeDescriptor_t in) {
  const bool plain = op_a == CUTENSOR_OP_IDENTITY && op_b == op_a && op_c == op_a;
  if (!plain || c != d || modes_c != modes_d) return CUTENSOR_STATUS_NOT_SUPPORTED;
  return make_sound(to, {{named(a, modes_a), named(b, modes_b)}, named(d, modes_d), *in}, false,
                    false);
}

cutensorStatus_t reduction(cutensorHandle_t, cutensorOperationDescriptor_t* to,
                           cutensorTensorDescriptor_t a, const std::int32_t* modes_a,
                           cutensorOperator_t op_a, cutensorTensorDescriptor_t c,
                           const std::int32_t* modes_c, cutensorOperator_t op_c,
                           cutensorTensorDescriptor_t d, const std::int32_t* modes_d,
                           cutensorOperator_t op, cutensorComputeDescriptor_t in) {
  const bool plain = op_a == CUTENSOR_OP_IDENTITY && op_c == op_a && op == CUTENSOR_OP_ADD;
  if (!plain || c != d || modes_c != modes_d) return CUTENSOR_STATUS_NOT_SUPPORTED;
  return make_sound(to, {{named(a, modes_a)}, named(d, modes_d), *in}, true, false);
}

cutensorStatus_t permutation(cutensorHandle_t, cutensorOperationDescriptor_t* to,
                             cutensorTensorDescriptor_t a, const std::int32_t* modes_a,
                             cutensorOperator_t op_a, cutensorTensorDescriptor_t d,
                             const std::int32_t* modes_d, cutensorComputeDescriptor_t in) {
  if (op_a != CUTENSOR_OP_IDENTITY) return CUTENSOR_STATUS_NOT_SUPPORTED;
  return make_sound(to, {{named(a, modes_a)}, named(d, modes_d), *in}, false, true);
}

cutensorStatus_t prefer(cutensorHandle_t, cutensorPlanPreference_t* to, cutensorAlgo_t,
                        cutensorJitMode_t jit) {
  return jit == CUTENSOR_JIT_MODE_NONE ? make(to) : CUTENSOR_STATUS_NOT_SUPPORTED;
}

cutensorStatus_t estimate(cutensorHandle_t, cutensorOperationDescriptor_t, cutensorPlanPreference_t,
                          cutensorWorksizePreference_t, std::uint64_t* bytes) {
  *bytes = 2 * workspace_bytes;
  return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t plan(cutensorHandle_t, cutensorPlan_t* to, cutensorOperationDescriptor_t what,
                      cutensorPlanPreference_t, std::uint64_t most) {
  if (most < workspace_bytes) return CUTENSOR_STATUS_INSUFFICIENT_WORKSPACE;
  ++seen().plans;
  seen().in_tf32 = what->in.in == cutensorComputeDescriptor::tf32;
  return make(to, *what);
}

cutensorStatus_t of_plan(cutensorHandle_t, cutensorPlan_t, cutensorPlanAttribute_t which, void* to,
                         std::size_t bytes) {
  if (which != CUTENSOR_PLAN_REQUIRED_WORKSPACE || bytes != sizeof workspace_bytes)
    return CUTENSOR_STATUS_INVALID_VALUE;
  std::memcpy(to, &workspace_bytes, bytes);
  return CUTENSOR_STATUS_SUCCESS;
}

/// Element number `index` of each mode.
std::int64_t offset(const operand& one, const std::map<std::int32_t, std::int64_t>& index) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < one.modes.size(); ++i)
    at += one.like.strides[i] * index.at(one.modes[i]);
  return at * troupe::size_of(type_of(one.like.type));
}

bool overlap(const operand& x, const void* at_x, const operand& y, const void* at_y) {
  const auto end = [](const operand& one, const void* at) {
    std::map<std::int32_t, std::int64_t> last;
    for (std::size_t i = 0; i < one.modes.size(); ++i)
      last[one.modes[i]] = one.like.extents[i] - 1;
    return static_cast<const std::byte*>(at) + offset(one, last);
  };
  return at_x <= end(y, at_y) && at_y <= end(x, at_x);
}

/// d = alpha · Σ Π inputs + beta · d.
cutensorStatus_t run(const cutensorOperationDescriptor& what, const void* alpha,
                     const std::vector<const void*>& inputs, const void* beta, void* d) {
  const auto aligned = [](const operand& one, const void* at) {
    return reinterpret_cast<std::uintptr_t>(at) % one.like.alignment == 0;
  };
  if (inputs.size() != what.inputs.size() || !aligned(what.d, d))
    return CUTENSOR_STATUS_INVALID_VALUE;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!aligned(what.inputs[i], inputs[i]) || overlap(what.inputs[i], inputs[i], what.d, d))
      return CUTENSOR_STATUS_INVALID_VALUE;
  }
  using troupe::conformance::load;
  const dtype type = type_of(what.inputs[0].like.type);
  const dtype result = type_of(what.d.like.type);
  const number by = load(scaled_in(type), static_cast<const std::byte*>(alpha));
  const number and_by =
      beta == nullptr ? number(0) : load(scaled_in(type), static_cast<const std::byte*>(beta));
  std::map<std::int32_t, std::int64_t> index;
  std::vector<std::pair<std::int32_t, std::int64_t>> kept;
  std::vector<std::pair<std::int32_t, std::int64_t>> summed;
  kept.reserve(what.d.modes.size());
  for (std::size_t i = 0; i < what.d.modes.size(); ++i)
    kept.emplace_back(what.d.modes[i], what.d.like.extents[i]);
  const operand& first = what.inputs[0];
  for (std::size_t i = 0; i < first.modes.size(); ++i) {
    if (std::ranges::find(what.d.modes, first.modes[i]) == what.d.modes.end())
      summed.emplace_back(first.modes[i], first.like.extents[i]);
  }
  for (const auto& list : {kept, summed}) {
    for (const auto& [mode, extent] : list)
      index[mode] = 0;
  }
  const auto step = [&](const auto& list) {
    for (const auto& [mode, extent] : list) {
      if (++index[mode] < extent) return true;
      index[mode] = 0;
    }
    return false;
  };
  do {
    number sum = 0;
    do {
      number product = 1;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const operand& one = what.inputs[i];
        const number value =
            load(type, static_cast<const std::byte*>(inputs[i]) + offset(one, index));
        product = i == 0 ? value : product * value;
      }
      sum = summed.empty() ? product : sum + product;
    } while (step(summed));
    std::byte* const at = static_cast<std::byte*>(d) + offset(what.d, index);
    const number scaled = by == number(1) ? sum : by * sum;
    troupe::conformance::store(result, at,
                               and_by == number(0) ? scaled : scaled + and_by * load(result, at));
  } while (step(kept));
  ++seen().calls;
  return CUTENSOR_STATUS_SUCCESS;
}

/// Uses all of it.
bool uses(void* workspace, std::uint64_t bytes) {
  if (bytes < workspace_bytes || reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0)
    return false;
  std::memset(workspace, 0xee, workspace_bytes);
  return true;
}

cutensorStatus_t contract(cutensorHandle_t, cutensorPlan_t with, const void* alpha, const void* a,
                          const void* b, const void* beta, const void* c, void* d, void* workspace,
                          std::uint64_t bytes, cudaStream_t) {
  if (!uses(workspace, bytes)) return CUTENSOR_STATUS_INSUFFICIENT_WORKSPACE;
  if (c != d) return CUTENSOR_STATUS_NOT_SUPPORTED;
  ++seen().contractions;
  return run(with->what, alpha, {a, b}, beta, d);
}

cutensorStatus_t reduce(cutensorHandle_t, cutensorPlan_t with, const void* alpha, const void* a,
                        const void* beta, const void* c, void* d, void* workspace,
                        std::uint64_t bytes, cudaStream_t) {
  if (!uses(workspace, bytes)) return CUTENSOR_STATUS_INSUFFICIENT_WORKSPACE;
  if (c != d) return CUTENSOR_STATUS_NOT_SUPPORTED;
  return run(with->what, alpha, {a}, beta, d);
}

cutensorStatus_t permute(cutensorHandle_t, cutensorPlan_t with, const void* alpha, const void* a,
                         void* d, cudaStream_t) {
  return run(with->what, alpha, {a}, nullptr, d);
}

}  // namespace

namespace troupe::emulated_cutensor {
history& seen() noexcept {
  static history all;
  return all;
}
}  // namespace troupe::emulated_cutensor

namespace troupe::cuda {

const cutensor_functions* cutensor() {
  static cutensorComputeDescriptor descriptors[] = {{cutensorComputeDescriptor::f32},
                                                    {cutensorComputeDescriptor::tf32},
                                                    {cutensorComputeDescriptor::f64}};
  static const cutensorComputeDescriptor_t in[] = {&descriptors[0], &descriptors[1],
                                                   &descriptors[2]};
  static const cutensor_functions all{
      .version = [] { return std::size_t{CUTENSOR_VERSION}; },
      .create = [](cutensorHandle_t* to) { return make(to); },
      .destroy = [](cutensorHandle_t one) { return end(one); },
      .describe = &describe,
      .destroy_tensor = [](cutensorTensorDescriptor_t one) { return end(one); },
      .contraction = &contraction,
      .reduction = &reduction,
      .permutation = &permutation,
      .destroy_operation = [](cutensorOperationDescriptor_t one) { return end(one); },
      .prefer = &prefer,
      .destroy_preference = [](cutensorPlanPreference_t one) { return end(one); },
      .estimate = &estimate,
      .plan = &plan,
      .destroy_plan = [](cutensorPlan_t one) { return end(one); },
      .of_plan = &of_plan,
      .contract = &contract,
      .reduce = &reduce,
      .permute = &permute,
      .in_f32 = &in[0],
      .in_tf32 = &in[1],
      .in_f64 = &in[2]};
  return seen().missing ? nullptr : &all;
}

// The work beside it. --------------------------------------------------------------------------

namespace {

template <class R>
result<void> on_the_processor(const R& r) {
  conformance::emulated_lane lane;
  const operation* const found = conformance::backend_operations().find(request_type_of<R>().id);
  return found->run(found->executor, &r, lane, nullptr);
}

template <class F>
void for_each_place(const strided_map& map, const std::byte* from, std::byte* to, int d, F f) {
  if (d < 0) return f(from, to);
  for (std::int64_t i = 0; i < map.dimensions[d].extent; ++i) {
    for_each_place(map, from + i * map.dimensions[d].from, to + i * map.dimensions[d].to, d - 1, f);
  }
}

}  // namespace

result<void> load_interpreter() { return {}; }
result<void> run_elementwise(const elementwise::map& r, lane&) { return on_the_processor(r); }
result<void> run_elementwise(const elementwise::rows& r, lane&) { return on_the_processor(r); }

result<void> enqueue_copy(const strided_map& map, unit moved, const std::byte* from, std::byte* to,
                          cudaStream_t) {
  for_each_place(map, from, to, map.rank - 1, [&](const std::byte* source, std::byte* target) {
    std::memcpy(target, source, static_cast<std::size_t>(moved.bytes));
  });
  return {};
}

result<void> multiply(const product& p, lane&) {
  const auto place = [](const any_tensor& t, std::int64_t i, std::int64_t j, std::int64_t k) {
    return t.address() + (i * t.stride(0) + j * t.stride(1) + k * t.stride(2)) * size_of(t.type());
  };
  const dtype type = p.a.type();
  const auto alpha = p.alpha.as<number>();
  const auto beta = p.beta.as<number>();
  for (std::int64_t i = 0; i < p.c.extent(0); ++i) {
    for (std::int64_t j = 0; j < p.c.extent(1); ++j) {
      for (std::int64_t k = 0; k < p.c.extent(2); ++k) {
        number sum = 0;
        for (std::int64_t l = 0; l < p.a.extent(2); ++l) {
          sum += conformance::load(type, place(p.a, i, j, l)) *
                 conformance::load(type, place(p.b, i, l, k));
        }
        std::byte* const at = place(p.c, i, j, k);
        const number addend = beta == number(0) ? number(0) : beta * conformance::load(type, at);
        conformance::store(type, at, alpha * sum + addend);
      }
    }
  }
  return {};
}

}  // namespace troupe::cuda
