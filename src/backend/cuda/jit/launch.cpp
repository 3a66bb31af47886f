#include "backend/cuda/executor.hpp"
#include "backend/cuda/jit/modules.hpp"
#include "backend/cuda/jit/shape.hpp"
#include "backend/cuda/jit/tensor_map.hpp"

#include <troupe/ops/jit/launch.hpp>

#include <fmt/format.h>

#include <vector>

namespace troupe::cuda {
namespace {

/// The values of a launch's parameters, where the driver reads them from.
class parameter_values {
 public:
  /// \errors `invalid_argument` for another count or size than the image says, naming the
  /// parameter; those of tensor maps
  static result<parameter_values> of(const driver& d, const jit::launch& r, const launchable& k) {
    parameter_values made;
    made.addresses_.reserve(k.parameters.size());
    made.maps_.reserve(k.parameters.size());
    std::size_t count = 0;
    result<void> outcome;
    r.arguments.for_each([&](const jit::arguments::view& one) {
      if (one.what == jit::argument::kind::reached) return;
      const std::size_t i = count++;
      if (outcome && i < k.parameters.size()) outcome = made.add(d, one, i, k);
    });
    if (count != k.parameters.size()) {
      return error{.code = errc::invalid_argument,
                   .message = fmt::format("{} takes {} arguments, {} are given", r.kernel.name(),
                                          k.parameters.size(), count)};
    }
    if (!outcome) {
      error why = std::move(outcome).error();
      why.message = fmt::format("{} of {}", why.message, r.kernel.name());
      return why;
    }
    return made;
  }

  [[nodiscard]] void** pointers() noexcept { return pointers_.data(); }

 private:
  result<void> add(const driver& d, const jit::arguments::view& one, std::size_t i,
                   const launchable& k) {
    if (one.parameter_bytes() != k.parameters[i].bytes) {
      return error{
          .code = errc::invalid_argument,
          .message = fmt::format("{} ({} bytes) is given for the {} bytes of parameter {}",
                                 one.to_string(), one.parameter_bytes(), k.parameters[i].bytes, i)};
    }
    switch (one.what) {
      case jit::argument::kind::scalar:
      case jit::argument::kind::bytes:
        // The driver copies it, and writes nothing.
        pointers_.push_back(const_cast<std::byte*>(one.value.data()));
        break;
      case jit::argument::kind::tensor:
        addresses_.push_back(one.tensor->address());
        pointers_.push_back(&addresses_.back());
        break;
      case jit::argument::kind::tile: {
        const auto how = jit::tile::read(one.tile);
        if (!how) break;  // was found valid
        auto map = encode_tile(d, *one.tensor, *how);
        if (!map) {
          error why = std::move(map).error();
          why.message = fmt::format("{}: the tensor map for parameter {}", why.message, i);
          return why;
        }
        maps_.push_back(*map);
        pointers_.push_back(&maps_.back());
        break;
      }
      case jit::argument::kind::reached:
        break;
    }
    return {};
  }

  std::vector<void*> pointers_;
  std::vector<std::byte*> addresses_;  // grows no more than it was reserved for
  std::vector<CUtensorMap> maps_;
};

// Why a mark that is enqueued behind a programmatic launch is safe, is in docs/adr/0033.
result<void> run_launch(const jit::launch& r, lane& where) {
  auto loaded = driver::load();
  if (!loaded) return std::move(loaded).error();
  const driver& d = **loaded;
  auto found = kernel_of(d, where, r.kernel);
  if (!found) return std::move(found).error();
  launchable& k = **found;
  if (k.declared) {
    if (auto fits = k.declared->check(r.arguments); !fits) return fits;
  }
  if (auto fits = fit_shape(d, k, {r.block, r.shared_bytes, r.cluster}); !fits) return fits;
  auto values = parameter_values::of(d, r, k);
  if (!values) return std::move(values).error();

  launch_configuration how(r.grid, {r.block, r.shared_bytes, r.cluster}, where.stream());
  if (r.cooperative) {
    how.add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
  }
  if (r.programmatic) {
    how.add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        .programmaticStreamSerializationAllowed = 1;
  }
  return check(d.cuLaunchKernelEx(&how.native(), k.function, values->pointers(), nullptr),
               "cuLaunchKernelEx");
}

const plugin_operations operations([](operation_table& table) {
  add<jit::launch>(table, run_launch);
});

}  // namespace
}  // namespace troupe::cuda
