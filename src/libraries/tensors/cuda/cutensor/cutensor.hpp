#pragma once

#include <cutensor.h>

namespace troupe::cuda {

/// The functions of cuTENSOR, which is loaded at run time.
struct cutensor_functions {
  decltype(&cutensorGetVersion) version = nullptr;
  decltype(&cutensorCreate) create = nullptr;
  decltype(&cutensorDestroy) destroy = nullptr;
  decltype(&cutensorCreateTensorDescriptor) describe = nullptr;
  decltype(&cutensorDestroyTensorDescriptor) destroy_tensor = nullptr;
  decltype(&cutensorCreateContraction) contraction = nullptr;
  decltype(&cutensorCreateReduction) reduction = nullptr;
  decltype(&cutensorCreatePermutation) permutation = nullptr;
  decltype(&cutensorDestroyOperationDescriptor) destroy_operation = nullptr;
  decltype(&cutensorCreatePlanPreference) prefer = nullptr;
  decltype(&cutensorDestroyPlanPreference) destroy_preference = nullptr;
  decltype(&cutensorEstimateWorkspaceSize) estimate = nullptr;
  decltype(&cutensorCreatePlan) plan = nullptr;
  decltype(&cutensorDestroyPlan) destroy_plan = nullptr;
  decltype(&cutensorPlanGetAttribute) of_plan = nullptr;
  decltype(&cutensorContract) contract = nullptr;
  decltype(&cutensorReduce) reduce = nullptr;
  decltype(&cutensorPermute) permute = nullptr;
  // The types of arithmetic, which are objects of the library.
  const cutensorComputeDescriptor_t* in_f32 = nullptr;
  const cutensorComputeDescriptor_t* in_tf32 = nullptr;
  const cutensorComputeDescriptor_t* in_f64 = nullptr;
};

/// Null if cuTENSOR 2 is not installed. Searched once per process.
[[nodiscard]] const cutensor_functions* cutensor();

}  // namespace troupe::cuda
