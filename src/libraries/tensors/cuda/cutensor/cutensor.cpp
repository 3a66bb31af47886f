#if __has_include(<cutensor.h>)

#include "libraries/tensors/cuda/cutensor/cutensor.hpp"

#include <troupe/plugin/vendor_library.hpp>

#include <dlfcn.h>

#include <type_traits>

namespace troupe::cuda {
namespace {

const cutensor_functions* load() {
  auto library = open_vendor_library("libcutensor.so.2");
  if (!library) return nullptr;
  static cutensor_functions all;
  bool complete = true;
  const auto find = [&](auto*& to, const char* name) {
    to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(::dlsym(*library, name));
    complete = complete && to != nullptr;
  };
  find(all.version, "cutensorGetVersion");
  find(all.create, "cutensorCreate");
  find(all.destroy, "cutensorDestroy");
  find(all.describe, "cutensorCreateTensorDescriptor");
  find(all.destroy_tensor, "cutensorDestroyTensorDescriptor");
  find(all.contraction, "cutensorCreateContraction");
  find(all.reduction, "cutensorCreateReduction");
  find(all.permutation, "cutensorCreatePermutation");
  find(all.destroy_operation, "cutensorDestroyOperationDescriptor");
  find(all.prefer, "cutensorCreatePlanPreference");
  find(all.destroy_preference, "cutensorDestroyPlanPreference");
  find(all.estimate, "cutensorEstimateWorkspaceSize");
  find(all.plan, "cutensorCreatePlan");
  find(all.destroy_plan, "cutensorDestroyPlan");
  find(all.of_plan, "cutensorPlanGetAttribute");
  find(all.contract, "cutensorContract");
  find(all.reduce, "cutensorReduce");
  find(all.permute, "cutensorPermute");
  find(all.in_f32, "CUTENSOR_COMPUTE_DESC_32F");
  find(all.in_tf32, "CUTENSOR_COMPUTE_DESC_TF32");
  find(all.in_f64, "CUTENSOR_COMPUTE_DESC_64F");
  constexpr std::size_t of_major = 10000;
  if (!complete || all.version() / of_major != CUTENSOR_MAJOR) return nullptr;
  return &all;
}

}  // namespace

const cutensor_functions* cutensor() {
  static const cutensor_functions* const one = load();
  return one;
}

}  // namespace troupe::cuda

#endif
