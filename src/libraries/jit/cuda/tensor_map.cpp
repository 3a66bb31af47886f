#include "libraries/jit/cuda/tensor_map.hpp"

#include "base/try.hpp"

#include <array>

namespace troupe::cuda {
namespace {

constexpr std::size_t most_dimensions = 5;

// Types that the copy engine does not know are copied as integers of their size. The engine
// computes nothing; only fill values depend on the type.
CUtensorMapDataType type_of(dtype type) noexcept {
  switch (type) {
    case dtype::f64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case dtype::f32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case dtype::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case dtype::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case dtype::i32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case dtype::i64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case dtype::i16:
    case dtype::u16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case dtype::u32:
      return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case dtype::u64:
    case dtype::c64:
    case dtype::c128:  // refused earlier
      return CU_TENSOR_MAP_DATA_TYPE_UINT64;
    case dtype::e4m3:
    case dtype::e5m2:
    case dtype::i8:
    case dtype::u8:
    case dtype::boolean:
      break;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

CUtensorMapSwizzle swizzle_of(jit::tile::swizzle how) noexcept {
  switch (how) {
    case jit::tile::swizzle::none:
      break;
    case jit::tile::swizzle::bytes_32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case jit::tile::swizzle::bytes_64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case jit::tile::swizzle::bytes_128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
  }
  return CU_TENSOR_MAP_SWIZZLE_NONE;
}

CUtensorMapL2promotion promotion_of(jit::tile::promotion how) noexcept {
  switch (how) {
    case jit::tile::promotion::none:
      break;
    case jit::tile::promotion::bytes_64:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
    case jit::tile::promotion::bytes_128:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
    case jit::tile::promotion::bytes_256:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
  }
  return CU_TENSOR_MAP_L2_PROMOTION_NONE;
}

}  // namespace

result<CUtensorMap> encode_tile(const driver& d, const any_tensor& t, const jit::tile& how) {
  std::array<cuuint64_t, most_dimensions> extents{};
  std::array<cuuint64_t, most_dimensions> strides{};  // in bytes, without the innermost
  std::array<cuuint32_t, most_dimensions> box{};
  std::array<cuuint32_t, most_dimensions> steps{};
  const int rank = t.rank();
  for (int i = 0; i < rank; ++i) {
    // The vendor's order begins with the innermost dimension.
    const int from = rank - 1 - i;
    const auto to = static_cast<std::size_t>(i);
    const auto at = static_cast<std::size_t>(from);
    extents[to] = static_cast<cuuint64_t>(t.extent(from));
    box[to] = static_cast<cuuint32_t>(how.box[at]);
    steps[to] = how.steps.empty() ? 1 : static_cast<cuuint32_t>(how.steps[at]);
    if (i > 0) {
      strides[to - 1] = static_cast<cuuint64_t>(t.stride(from) * size_of(t.type()));
    }
  }
  CUtensorMap made{};
  TRY(check(d.cuTensorMapEncodeTiled(&made, type_of(t.type()), static_cast<cuuint32_t>(rank),
                                     t.address(), extents.data(), strides.data(), box.data(),
                                     steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                                     swizzle_of(how.in_shared_memory), promotion_of(how.in_cache),
                                     how.outside == jit::tile::fill::nan
                                         ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                                         : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            "cuTensorMapEncodeTiled"));
  return made;
}

}  // namespace troupe::cuda
