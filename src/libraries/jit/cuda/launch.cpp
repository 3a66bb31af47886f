#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/jit/cuda/modules.hpp"
#include "libraries/jit/cuda/shape.hpp"
#include "libraries/jit/cuda/tensor_map.hpp"

#include <troupe/jit/launch.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace troupe::cuda {
namespace {

/// Checks the number and sizes of arguments against the image, and their types against the name.
/// The check is skipped if kinds, types and sizes equal those of the last arguments that fitted, as
/// in a loop. Without arguments the number is always checked, because an empty cache looks the
/// same.
result<void> check_arguments(const jit::launch& r, launchable& k) {
  if (!k.fitting.empty() && std::ranges::equal(r.arguments.codes(), k.fitting)) return {};
  if (k.declared) TRY(k.declared->check(r.arguments));
  std::size_t count = 0;
  result<void> outcome;
  r.arguments.for_each([&](const jit::arguments::view& one) {
    if (one.what == jit::argument::kind::reached) return;
    const std::size_t i = count++;
    if (!outcome || i >= k.parameters.size() || one.parameter_bytes() == k.parameters[i].bytes) {
      return;
    }
    outcome =
        error{.code = errc::invalid_argument,
              .message = fmt::format(
                  "{} ({} bytes) is given for the {} bytes of parameter {} of {}", one.to_string(),
                  one.parameter_bytes(), k.parameters[i].bytes, i, r.kernel.name())};
  });
  if (count != k.parameters.size()) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("{} takes {} arguments, {} are given", r.kernel.name(),
                                        k.parameters.size(), count)};
  }
  if (outcome) k.fitting.assign(r.arguments.codes().begin(), r.arguments.codes().end());
  return outcome;
}

/// Stores the parameters' values in `k.values`, where the driver reads them. Precondition: the
/// arguments fit. \errors those of tensor maps, naming the parameter
result<void> place_values(const driver& d, const jit::launch& r, launchable& k) {
  launchable::parameter_values& made = k.values;
  made.pointers.clear();
  made.addresses.clear();
  made.maps.clear();
  // Pointers into the vectors are kept, so these must not reallocate.
  made.addresses.reserve(k.parameters.size());
  made.maps.reserve(k.parameters.size());
  result<void> outcome;
  r.arguments.for_each([&](const jit::arguments::view& one) {
    switch (one.what) {
      case jit::argument::kind::scalar:
      case jit::argument::kind::bytes:
        // The driver copies the value and does not write it.
        made.pointers.push_back(const_cast<std::byte*>(one.value.data()));
        break;
      case jit::argument::kind::tensor:
        made.addresses.push_back(one.tensor->address());
        made.pointers.push_back(&made.addresses.back());
        break;
      case jit::argument::kind::tile: {
        const auto how = jit::tile::read(one.tile);
        if (!how || !outcome) break;  // validated before
        auto map = encode_tile(d, *one.tensor, *how);
        if (!map) {
          error why = std::move(map).error();
          why.message = fmt::format("{}: the tensor map for parameter {} of {}", why.message,
                                    made.pointers.size(), r.kernel.name());
          outcome = std::move(why);
          break;
        }
        made.maps.push_back(*map);
        made.pointers.push_back(&made.maps.back());
        break;
      }
      case jit::argument::kind::reached:
        break;
    }
  });
  return outcome;
}

// ADR 18 says why a mark that is enqueued behind a programmatic launch is safe.
result<void> run_launch(const jit::launch& r, lane& where) {
  const auto loaded = TRY(driver::load());
  const driver& d = *loaded;
  const auto found = TRY(kernel_of(d, where, r.kernel));
  launchable& k = *found;
  TRY(check_arguments(r, k));
  TRY(fit_shape(d, k, {r.block, r.shared_bytes, r.cluster}));
  TRY(place_values(d, r, k));

  launch_configuration how(r.grid, {r.block, r.shared_bytes, r.cluster}, where.stream());
  if (r.cooperative) {
    how.add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
  }
  if (r.programmatic) {
    how.add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        .programmaticStreamSerializationAllowed = 1;
  }
  const CUlaunchConfig& c = how.native();
  void** const values = k.values.pointers.data();
  if (c.numAttrs == 0) {  // the shorter way
    return check(
        d.cuLaunchKernel(k.function, c.gridDimX, c.gridDimY, c.gridDimZ, c.blockDimX, c.blockDimY,
                         c.blockDimZ, c.sharedMemBytes, c.hStream, values, nullptr),
        "cuLaunchKernel");
  }
  return check(d.cuLaunchKernelEx(&c, k.function, values, nullptr), "cuLaunchKernelEx");
}

const plugin_operations launch_operations([](operation_table& table) {
  add<jit::launch>(table, run_launch);
});

}  // namespace
}  // namespace troupe::cuda
