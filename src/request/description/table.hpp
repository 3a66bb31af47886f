#pragma once

#include <troupe/request/fields.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The data of a field that encoding, decoding and checks need.
struct field {
  field_kind kind{};
  access role{};       ///< a tensor's, if `role_where` holds or there is none
  access otherwise{};  ///< a tensor's, otherwise
  std::uint8_t enumeration_bytes = 0;
  std::uint8_t last_enumerator = 0;
  std::uint8_t role_conditions = 0;  ///< how many, from `role_where` on: one must hold
  std::int16_t role_where = -1;      ///< a condition of the table
  std::int16_t groups = -1;          ///< a `group_list` of the table
  std::uint8_t place = 0;            ///< a single tensor's, among the table's tensors
  std::uint32_t offset = 0;          ///< in the request

  [[nodiscard]] bool is_tensor() const noexcept {
    return kind == field_kind::tensor || kind == field_kind::tensors;
  }
};

/// The extents that a tensor must have, and the ranks that they allow.
struct tensor_shape {
  std::vector<extent> extents;
  int least_rank = 0;
  int most_rank = max_rank;
};

/// The other properties of a field. Numbers of conditions and fields refer to the same table.
struct field_details {
  std::string name;
  std::string text;
  std::string group;  ///< the group that it came with
  std::vector<std::string> enumerators;
  bool has_shape = false;
  tensor_shape shape;
  struct other_shape {
    int where = 0;  ///< condition
    tensor_shape shape;
  };
  std::vector<other_shape> other_shapes;
  troupe::layout layout = troupe::layout::any;
  bool optional = false;
  int given_where = -1;                ///< condition
  std::vector<int> only_where;         ///< conditions
  std::vector<std::size_t> may_be;     ///< offsets of tensors
  std::vector<std::size_t> may_share;  ///< likewise
  bool may_repeat = false;             ///< written, and an element may have several indices
  bool in_host_memory = false;
  bool of_world = false;  ///< filled in by the world that the request is sent to, not by its user
  int ordered_as = -1;    ///< field, a tensor, whose order of dimensions it gets if omitted
  detail::any_rule derive_forms = nullptr;  ///< of a list that is omitted
  detail::forms_caller call_forms = nullptr;
  struct bounds {
    double least = 0;
    double most = 0;
    bool open = false;  ///< `least` itself is excluded
  };
  std::vector<bounds> range;  ///< one or none
  int factor_of = -1;         ///< field, a tensor
  bool is_real = false;       ///< a scalar without imaginary part, for any types
};

/// A symbol of extents; one that stands for several leading ones has other bounds than 1 and 1.
struct symbol {
  std::string name;
  int least = 1;
  int most = 1;
  std::uint32_t offset = 0;  ///< the group's that it came with
  detail::any_rule derive = nullptr;
  detail::extents_caller call = nullptr;

  [[nodiscard]] bool is_single() const noexcept { return least == 1 && most == 1; }
};

/// Types of some tensors that go together. A row holds a byte for each.
struct type_table {
  static constexpr std::size_t most_fields = 8;
  static constexpr unsigned bits = 8;

  std::vector<std::uint16_t> fields;
  std::vector<std::uint64_t> rows;
  std::vector<int> unless;  ///< conditions of the table: if one holds, no row has to match

  [[nodiscard]] static dtype type_in(std::uint64_t row, std::size_t place) noexcept {
    return static_cast<dtype>(row >> (bits * place) & 0xff);
  }
};

struct own_rule {
  std::string text;
  std::uint32_t offset = 0;  ///< the group's whose rule it is
  detail::any_rule function = nullptr;
  detail::rule_caller call = nullptr;
};

struct group_list {
  const detail::group_list_type* type = nullptr;
  const description_table* of = nullptr;
};

/// One part of a request's encoding: a tensor, values that are contiguous in the request, or a
/// field whose length varies.
struct wire_part {
  enum class sort : std::uint8_t { tensor, values, varying };

  sort what{};
  std::uint16_t field = 0;  ///< for a tensor or a varying field
  std::uint32_t offset = 0;
  std::uint16_t bytes = 0;        ///< for values
  std::uint16_t first_check = 0;  ///< the first of their `byte_checks`
  std::uint16_t last_check = 0;   ///< one after
};
/// A byte among values that must not exceed `most`: a kind, an enumerator, a bool.
struct byte_check {
  std::uint16_t at = 0;  ///< among the bytes of the part
  std::uint8_t most = 0;
  std::uint16_t field = 0;
};

/// One step of a check, in the order in which they run.
struct check_step {
  enum class sort : std::uint8_t {
    given,       ///< a tensor is given if it must be, and only then
    view,        ///< a tensor's rank, layout and reach; no element is written twice
    shape,       ///< its extents
    enumerator,  ///< an enumeration has one of its enumerators
    types,       ///< those of a `type_table`
    only,        ///< a value is its default unless it has a meaning
    range,
    factor,
    groups,  ///< each of a list
    apart,   ///< written tensors share no element with others
    rule,    ///< the request's own
  };

  sort what{};
  std::uint16_t index = 0;  ///< the index of the field, the type table or the rule
};

/// The result of a `description`. Made once for each type and never destroyed.
class description_table {
 public:
  static constexpr std::size_t most_tensors = 32;
  static constexpr std::size_t most_symbols = 32;

  std::string name;
  std::string summary;
  std::string source;
  std::size_t bytes = 0;
  const void* defaults = nullptr;

  std::vector<field> fields;
  std::vector<field_details> details;  ///< by field
  std::vector<condition> conditions;
  std::vector<symbol> symbols;
  std::vector<type_table> types;
  std::vector<own_rule> rules;
  std::vector<group_list> lists;
  bool keeps_on_failure = false;  ///< it writes nothing where it fails
  /// The offset of its `world_part`, if it is a request for several devices.
  std::optional<std::size_t> part_at;
  struct kept_outcome {
    errc of{};
    int where = 0;  ///< condition
  };
  std::vector<kept_outcome> kept_outcomes;

  // Made by `finish` from the above.
  std::vector<check_step> checks;
  std::vector<wire_part> wire;
  std::vector<byte_check> byte_checks;
  std::vector<std::uint16_t> tensors;    ///< the fields that are one tensor
  std::vector<std::uint32_t> may_be;     ///< by tensor: a bit for each that it may be the view of
  std::vector<std::uint32_t> may_share;  ///< likewise: those that it may share elements with
  bool has_varying_roles = false;        ///< roles are known once all fields are there
  const description_table* made_before = nullptr;  ///< of all that the library has made
  std::uint64_t fingerprint = 0;                   ///< of names, kinds and roles of all fields

  /// To be called once all is described.
  void finish();

  [[nodiscard]] std::uint32_t named_by(std::uint16_t i,
                                       std::vector<std::size_t> field_details::* list) const;
  /// True for a list of tensors that holds one per rank and item.
  [[nodiscard]] bool is_per_rank(std::size_t i) const noexcept {
    return part_at && fields[i].kind == field_kind::tensors && !details[i].of_world;
  }
  /// The field at an offset. Precondition: there is one.
  [[nodiscard]] std::uint16_t field_at(std::size_t offset) const noexcept;
};

/// A field's value in a request.
template <class T>
[[nodiscard]] const T& value_at(const void* request, std::size_t offset) noexcept {
  return *reinterpret_cast<const T*>(static_cast<const std::byte*>(request) + offset);
}
template <class T>
[[nodiscard]] T& value_at(void* request, std::size_t offset) noexcept {
  return *reinterpret_cast<T*>(static_cast<std::byte*>(request) + offset);
}
/// The number of an enumerator, whatever the size of its type.
[[nodiscard]] inline std::uint32_t enumerator_at(const field& f, const void* request) noexcept {
  if (f.enumeration_bytes == 1) return value_at<std::uint8_t>(request, f.offset);
  std::uint32_t value = 0;
  std::memcpy(&value, static_cast<const std::byte*>(request) + f.offset, f.enumeration_bytes);
  return value;
}

/// Whether a condition holds of a request.
[[nodiscard]] bool holds(const condition& c, const void* request) noexcept;

/// How a request uses one of its tensors.
[[nodiscard]] inline access role_of(const description_table& t, const field& f,
                                    const void* request) noexcept {
  if (f.role_conditions == 0) return f.role;
  for (std::size_t i = 0; i < f.role_conditions; ++i) {
    if (holds(t.conditions[static_cast<std::size_t>(f.role_where) + i], request)) return f.role;
  }
  return f.otherwise;
}

/// True if a failure with this code, of a request that had begun, leaves its outputs defined.
[[nodiscard]] bool keeps_outputs(const description_table& t, const void* request,
                                 errc code) noexcept;

/// True if a field has its default value: for a tensor null, for a list empty.
[[nodiscard]] bool is_default(const description_table& t, const field& f,
                              const void* request) noexcept;

}  // namespace troupe
