// The checks of a single tensor, and of two of them.
#include "request/aliasing.hpp"
#include "request/checker.hpp"
#include "request/matrix_layout.hpp"
#include "request/reach.hpp"

#include <troupe/request/argument_checks.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>

namespace troupe {
namespace {

std::string layout_text(const any_tensor& t) {
  return fmt::format("[{}] with strides [{}]", fmt::join(t.extents(), ", "),
                     fmt::join(t.strides(), ", "));
}

// Each dimension begins where the inner ones end.
bool is_dense(const any_tensor& t) noexcept {
  if (t.empty()) return true;
  std::int64_t step = 1;
  std::uint32_t left = (1U << static_cast<unsigned>(t.rank())) - 1;
  for (std::uint32_t before = 0; left != before;) {
    before = left;
    for (int d = 0; d < t.rank(); ++d) {
      const std::uint32_t bit = 1U << static_cast<unsigned>(d);
      if ((left & bit) == 0 || (t.extent(d) != 1 && t.stride(d) != step)) continue;
      step *= t.extent(d);
      left &= ~bit;
    }
  }
  return left == 0;
}

}  // namespace

// For a list, with the index.
std::string checker::view_name(std::size_t i) const {
  return t_.fields[i].kind == field_kind::tensor ? name(i) : fmt::format("{}[{}]", name(i), place_);
}

bool checker::views(std::size_t i) {
  const field& f = t_.fields[i];
  if (f.kind == field_kind::tensor) return view(i, tensor(i), true);
  place_ = 0;
  for (const any_tensor& one : value_at<std::vector<any_tensor>>(request_, f.offset)) {
    if (!view(i, one, false)) return false;
    ++place_;
  }
  return true;
}

bool checker::view(std::size_t i, const any_tensor& x, bool is_one) {
  const field_details& d = t_.details[i];
  if (x.null() && d.optional) return true;
  int rank = -1;  // any
  if (d.has_shape) {
    const tensor_shape& shape = shape_of(i);
    if (!x.null() && (x.rank() < shape.least_rank || x.rank() > shape.most_rank)) {
      return wrong_rank(i, x);
    }
    if (shape.least_rank == shape.most_rank) rank = shape.least_rank;
  }
  if ((x.null() || !surely_fits(x)) && !fits(i, x, rank)) return false;
  if (d.in_host_memory && !x.null() && x.space() != memory_space::host) {
    return refuse(errc::invalid_argument,
                  fmt::format("{} must be a host_tensor; it is in device memory", view_name(i)));
  }
  if (!meets_layout(i, x)) return false;
  const bool writes = role_of(t_, t_.fields[i], request_) != access::read;
  if (writes && !d.may_repeat && !x.injective()) {
    return refuse(
        errc::aliasing,
        fmt::format(
            "{} is written, so no two of its indices may refer to the same element; it is {}",
            view_name(i), layout_text(x)));
  }
  if (is_one && !x.empty()) {
    const std::uint8_t place = t_.fields[i].place;
    const auto [begin, end] = x.reach();
    reaches_[place] = {.begin = x.address() + begin, .end = x.address() + end};
    present_ |= 1U << place;
    if (writes) written_ |= 1U << place;
  }
  return true;
}

// The slow check. A tensor without memory counts as given if it has the required rank, and no
// elements.
bool checker::fits(std::size_t i, const any_tensor& x, int rank) {
  if (argument_checks().tensor({name(i), x}, rank).good()) return true;
  const error why = argument_checks().tensor({view_name(i), x}, rank).verdict().error();
  return refuse(why.code, why.message);
}

bool checker::meets_layout(std::size_t i, const any_tensor& x) {
  std::string_view must;
  switch (t_.details[i].layout) {
    case layout::any:
      return true;
    case layout::packed:
      if (x.packed()) return true;
      must = "be packed, row-major";
      break;
    case layout::dense:
      if (is_dense(x)) return true;
      must = "have no gaps between its elements";
      break;
    case layout::vector:
      if (x.extent(0) <= 1 || x.stride(0) >= 1) return true;
      must = "have a stride of at least 1";
      break;
    case layout::matrix:
      // Row-major first: most are.
      if (blas::layout_of(x, blas::order::row_major).ld != 0) return true;
      must =
          "be a row-major or column-major matrix: stride 1 in one of its last two dimensions and, "
          "in the other, a stride of at least that dimension's extent";
      break;
    case layout::column_major:
      if (blas::leading_dimension(x, blas::order::column_major) != 0) return true;
      must = "be column-major";
      break;
  }
  return refuse(errc::layout_unsupported,
                fmt::format("{} must {}; it is {}", view_name(i), must, layout_text(x)));
}

bool checker::apart() {
  for (std::uint32_t left = written_; left != 0; left &= left - 1) {
    const auto one = static_cast<unsigned>(std::countr_zero(left));
    // A pair of two written tensors is checked once.
    for (std::uint32_t others = present_ & ~(written_ & ((2U << one) - 1)); others != 0;
         others &= others - 1) {
      const auto other = static_cast<unsigned>(std::countr_zero(others));
      const std::uint16_t written = t_.tensors[one];
      const std::uint16_t second = t_.tensors[other];
      if ((t_.may_share[one] >> other & 1) != 0) continue;
      if (reaches_[one].begin >= reaches_[other].end || reaches_[other].begin >= reaches_[one].end)
        continue;
      if ((t_.may_be[one] >> other & 1) != 0 && tensor(written).same_view(tensor(second))) continue;
      if (!share_elements(tensor(written), tensor(second))) continue;
      return refuse(
          errc::aliasing,
          fmt::format("{} is written and must not overlap {}; {} is {}, {} is {}", name(written),
                      name(second), name(written), layout_text(tensor(written)), name(second),
                      layout_text(tensor(second))));
    }
  }
  return true;
}

}  // namespace troupe
