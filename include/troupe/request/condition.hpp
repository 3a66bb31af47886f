#pragma once

#include <cstdint>

namespace troupe {

/// A condition on which a role, a presence, a shape or a value depends. It is data: it can be
/// evaluated for a request and printed for readers. Made by `description`; fields are identified by
/// their offsets in the request.
///
/// It is total: it can be evaluated for fields that have not been validated yet.
struct condition {
  enum class test : std::uint8_t {
    zero,       ///< a scalar is 0
    all_zero,   ///< every scalar of a list is 0, or the list is empty
    set,        ///< a bool is true
    one_of,     ///< an enumeration has one of these values
    type_of,    ///< a tensor has one of these types
    given,      ///< a tensor is given
    rank,       ///< a tensor has this rank
    same_view,  ///< two tensors are the same view
    in_place,   ///< two tensors have the same address
    not_empty,  ///< a list of integers has some
  };

  test what = test::given;
  bool negated = false;
  std::uint32_t field = 0;  ///< offset in the request
  std::uint32_t other = 0;  ///< offset of the second tensor
  std::uint32_t mask = 0;   ///< bits of enumerators or types; for `rank`, the rank

  [[nodiscard]] constexpr condition operator!() const noexcept {
    condition opposite = *this;
    opposite.negated = !negated;
    return opposite;
  }
};

}  // namespace troupe
