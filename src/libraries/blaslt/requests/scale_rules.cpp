#include "libraries/blaslt/requests/geometry.hpp"
#include "libraries/blaslt/requests/limits.hpp"
#include "libraries/blaslt/requests/rules.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace troupe::blaslt {
namespace {

constexpr std::int64_t block = 128;

constexpr std::int64_t blocks(std::int64_t n) noexcept { return (n + block - 1) / block; }

std::string_view name_of(scaling s) noexcept {
  constexpr std::array<std::string_view, 4> names{"tensor", "outer_vector", "block_128",
                                                  "block_128x128"};
  const auto place = static_cast<std::size_t>(s);
  return place < names.size() ? names[place] : "unknown";
}

/// The layout that blocks have: strides that the library does not let one choose.
/// Source: cuBLAS documentation, "Scaling factors layouts".
argument_checks& factors_are_laid_out(argument_checks& check, const operand& t, scaling how,
                                      bool is_a, std::int64_t outer, std::int64_t k) {
  check.rule(how == scaling::tensor || !t.view.null(), errc::invalid_argument, [&] {
    return fmt::format("{} is not given but its scaling is {}", t.name, name_of(how));
  });
  if (t.view.null() || !check.good()) return check;
  begins_at_multiple(check, t, limits::cublaslt::scale_unit);
  if (how == scaling::tensor) return check;
  if (how == scaling::outer_vector) {
    return check.rule(t.view.packed(), errc::layout_unsupported, [&] {
      return fmt::format("{} must have unit stride, it is {}", t.name, t.view.to_string());
    });
  }
  const bool along_k = how == scaling::block_128x128;  // contiguous there
  const std::int64_t of_outer = along_k ? blocks(outer) : outer;
  const int outer_at = is_a ? 0 : 1;
  const std::int64_t outer_stride = along_k ? round_up(blocks(k), 4) : 1;
  const std::int64_t k_stride = along_k ? 1 : outer;
  check.rule((of_outer <= 1 || t.view.stride(outer_at) == outer_stride) &&
                 (blocks(k) <= 1 || t.view.stride(1 - outer_at) == k_stride),
             errc::layout_unsupported, [&] {
               return fmt::format(
                   "{} in scaling {} needs strides of {} along {} and {} along k, it "
                   "is {}",
                   t.name, name_of(how), outer_stride, is_a ? "m" : "n", k_stride,
                   t.view.to_string());
             });
  return check.rule(outer % 4 == 0, errc::unsupported, [&] {
    return fmt::format("{} must be a multiple of 4 where {} is in blocks, it is {}",
                       is_a ? "m" : "n", t.name, outer);
  });
}

bool go_together(scaling a, scaling b) noexcept {
  const auto in_blocks = [](scaling s) {
    return s == scaling::block_128 || s == scaling::block_128x128;
  };
  if (a == b) return a != scaling::block_128x128;
  return in_blocks(a) && in_blocks(b);
}

}  // namespace

argument_checks& scalings_fit(argument_checks& check, const matmul& r) {
  const bool by_tensor = r.scaling_a == scaling::tensor && r.scaling_b == scaling::tensor;
  check.rule(go_together(r.scaling_a, r.scaling_b), errc::unsupported, [&] {
    return fmt::format("cuBLASLt does not scale a by {} and b by {}", name_of(r.scaling_a),
                       name_of(r.scaling_b));
  });
  check.rule(by_tensor || !is_fp8(r.d.type()), errc::unsupported, [&] {
    return fmt::format("d must be f16, bf16 or f32 where a and b are scaled by {} and {}, it is {}",
                       name_of(r.scaling_a), name_of(r.scaling_b), to_string(r.d.type()));
  });
  return check.rule(by_tensor || r.d.rank() == 2, errc::unsupported, [&] {
    return fmt::format("a batch is scaled by tensor only, not by {} and {}", name_of(r.scaling_a),
                       name_of(r.scaling_b));
  });
}

argument_checks& scales_are_laid_out(argument_checks& check, const matmul& r) {
  const int rows = r.d.rank() - 2;
  const std::int64_t k = r.a.extent(rows + 1);
  factors_are_laid_out(check, {"scale_a", r.scale_a}, r.scaling_a, true, r.d.extent(rows), k);
  factors_are_laid_out(check, {"scale_b", r.scale_b}, r.scaling_b, false, r.d.extent(rows + 1), k);
  for (const operand& t :
       {operand{"scale_c", r.scale_c}, operand{"scale_d", r.scale_d}, operand{"amax_d", r.amax_d}})
    begins_at_multiple(check, t, limits::cublaslt::scale_unit);
  return check;
}

}  // namespace troupe::blaslt
