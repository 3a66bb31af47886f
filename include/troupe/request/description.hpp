#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>
#include <troupe/request/access.hpp>
#include <troupe/request/condition.hpp>
#include <troupe/request/extent.hpp>
#include <troupe/request/tensor_form.hpp>
#include <troupe/tensor/scalar.hpp>
#include <troupe/tensor/tensor.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

class argument_checks;
class description_table;

/// Memory layouts that a tensor may be required to have.
enum class layout : std::uint8_t {
  any,
  packed,        ///< no gaps, row-major
  dense,         ///< no gaps, the dimensions in any order
  vector,        ///< a stride of at least 1
  matrix,        ///< unit stride in one of the last two dimensions, as BLAS requires
  column_major,  ///< as LAPACK requires
};

/// Valid combinations of element types: each row has one type for each of several tensors.
struct type_rows {
  std::vector<std::vector<dtype>> rows{};

  type_rows(std::initializer_list<std::initializer_list<dtype>> list)
      : rows(list.begin(), list.end()) {}
  /// From a table of structs: `type_rows::of(combinations, &combination::a, &combination::b)`.
  template <class Range, class... Member>
  [[nodiscard]] static type_rows of(const Range& range, Member... member) {
    type_rows made({});
    for (const auto& row : range)
      made.rows.push_back({row.*member...});
    return made;
  }
};

namespace detail {

inline constexpr int most_enumerators = 24;

/// The compiler's text for these enumerators; their names are extracted from it at run time.
template <class Enum, Enum... Values>
[[nodiscard]] constexpr std::string_view spelling() noexcept {
  return __PRETTY_FUNCTION__;
}
template <class Enum, std::size_t... I>
[[nodiscard]] constexpr std::string_view spelling_of(std::index_sequence<I...>) noexcept {
  return spelling<Enum, static_cast<Enum>(I)...>();
}

/// Type-erased operations on a list of groups.
struct group_list_type {
  std::size_t (*size)(const void* list) noexcept = nullptr;
  void (*resize)(void* list, std::size_t count) = nullptr;
  std::byte* (*data)(void* list) noexcept = nullptr;
  std::size_t stride = 0;
};
template <class Group>
inline constexpr group_list_type group_list_type_of{
    .size =
        [](const void* list) noexcept {
          return static_cast<const std::vector<Group>*>(list)->size();
        },
    .resize = [](void* list, std::size_t n) { static_cast<std::vector<Group>*>(list)->resize(n); },
    .data =
        [](void* list) noexcept {
          return reinterpret_cast<std::byte*>(static_cast<std::vector<Group>*>(list)->data());
        },
    .stride = sizeof(Group)};

/// A request's own rule, type-erased; its caller casts it back to the original function type.
using any_rule = void (*)();
using rule_caller = void (*)(any_rule function, const void* request, argument_checks& check);

/// Likewise, a function that derives extents.
using extents_caller = void (*)(any_rule function, const void* request,
                                std::vector<std::int64_t>& extents);
/// Likewise, a function that derives the forms of a list of results.
using forms_caller = result<std::vector<tensor_form>> (*)(any_rule function, const void* request);

enum class field_kind : std::uint8_t {
  tensor,
  tensors,
  scalar,
  integer,
  unsigned_integer,
  real,
  boolean,
  enumeration,
  text,
  integers,
  scalars,
  groups,
};

/// Fills a table. All functions of `description` end here, in functions with plain arguments, so
/// that a plugin built with other headers still calls the same ones.
class TROUPE_EXPORT description_builder {
 public:
  explicit description_builder(description_table& table) noexcept : table_(&table) {}

  void about(std::string_view summary, std::string_view source);
  [[nodiscard]] int symbol(std::string_view name, int least, int most);
  void add(field_kind kind, std::string_view name, std::size_t offset, std::string_view text);
  void add_tensor(field_kind kind, std::string_view name, std::size_t offset, access role,
                  std::span<const extent> shape, std::string_view text);
  void add_enumeration(std::string_view name, std::size_t offset, std::size_t bytes,
                       std::string_view spelling, std::string_view text);
  void add_group(std::string_view name, std::size_t offset, const description_table& of);
  void add_groups(std::string_view name, std::size_t offset, const group_list_type& type,
                  const description_table& of, std::string_view text);

  // For the field added last.
  void role_where(std::span<const condition> any_of, access where);
  void shape_where(const condition& c, std::span<const extent> shape);
  void optional();
  void given_where(const condition& c);
  void only_where(const condition& c);
  void range(double least, double most, bool open);
  void may_be(std::size_t offset);
  void may_share(std::size_t offset);
  void may_repeat();
  void in_host_memory();
  void ordered_as(std::size_t offset);

  // For several fields, identified by their offsets.
  void layouts(layout how, std::span<const std::size_t> tensors);
  void types(std::span<const std::size_t> tensors, const type_rows& rows);
  void types_unless(std::span<const condition> any_of);
  void factors(std::span<const std::size_t> scalars, std::size_t tensor);
  void real(std::span<const std::size_t> scalars);
  void rule(std::string_view text, any_rule function, rule_caller call);
  void derive_extents(int symbol, any_rule function, extents_caller call);
  void derive_forms(std::size_t list, any_rule function, forms_caller call);
  void keeps_on_failure();
  void keeps_outcomes(errc of, const condition& where);

  /// The offset, within the group, of its first list of integers. Precondition: it has one.
  [[nodiscard]] static std::size_t first_list(const description_table& of);

 private:
  description_table* table_;
};

/// Makes the table of one type, once, and keeps it for the life of the process.
using describe_function = void (*)(description_table& table, const void* defaults);
[[nodiscard]] TROUPE_EXPORT const description_table& make_description_table(
    std::string_view name, std::size_t bytes, const void* defaults, describe_function describe);

}  // namespace detail

template <class R>
[[nodiscard]] const description_table& description_of();

/// The description of a request, made once for its type. These are derived from it: encoding and
/// decoding; hazards, keep-alive and retry safety; argument checks and their messages;
/// documentation pages, the command line and other languages; random requests for tests.
///
///     void gemm::describe(description<gemm>& d) {
///       const extent m = d.size("m"), n = d.size("n"), k = d.size("k");
///       d.about("Multiplies two matrices: c = alpha · a · b + beta · c.", "BLAS xGEMM");
///       d.reads("a", &gemm::a, {m, k}, "left factor");
///       …
///     }
///
/// Fields are sent and shown in the order in which they are described. The defaults are those of
/// `R{}`. A tensor that is written shares no element with any other field, unless `may_be` or
/// `may_share` allows it.
template <class R>
class description : private detail::description_builder {
  using base = detail::description_builder;
  using shape = std::initializer_list<extent>;
  using text = std::string_view;

 public:
  description(description_table& table, const R& defaults) noexcept
      : base(table), defaults_(&defaults) {}

  /// One sentence, and the source of the operation: a vendor's call, a paper.
  description& about(text summary, text source = {}) { return base::about(summary, source), *this; }
  /// A symbol for one extent.
  [[nodiscard]] extent size(text name) { return extent::of_symbol(base::symbol(name, 1, 1)); }
  /// A symbol for any number of leading extents.
  [[nodiscard]] extent sizes(text name, int least, int most = max_rank) {
    return extent::of_symbol(base::symbol(name, least, most));
  }

  // Fields. -------------------------------------------------------------------------------------
  // An empty shape means any shape.

  description& reads(text name, any_tensor R::* m, shape s, text t) {
    return tensor(name, at(m), access::read, s, t);
  }
  description& writes(text name, any_tensor R::* m, shape s, text t) {
    return tensor(name, at(m), access::write, s, t);
  }
  description& updates(text name, any_tensor R::* m, shape s, text t) {
    return tensor(name, at(m), access::update, s, t);
  }
  description& reads(text name, std::vector<any_tensor> R::* m, shape s, text t) {
    return tensors(name, at(m), access::read, s, t);
  }
  description& writes(text name, std::vector<any_tensor> R::* m, shape s, text t) {
    return tensors(name, at(m), access::write, s, t);
  }
  description& updates(text name, std::vector<any_tensor> R::* m, shape s, text t) {
    return tensors(name, at(m), access::update, s, t);
  }
  template <class T>
  description& value(text name, T R::* m, text t) {
    using kind = detail::field_kind;
    if constexpr (std::is_enum_v<T>) {
      constexpr std::make_index_sequence<detail::most_enumerators> all;
      base::add_enumeration(name, at(m), sizeof(T), detail::spelling_of<T>(all), t);
    } else if constexpr (std::same_as<T, scalar>) {
      base::add(kind::scalar, name, at(m), t);
    } else if constexpr (std::same_as<T, std::int64_t>) {
      base::add(kind::integer, name, at(m), t);
    } else if constexpr (std::same_as<T, std::uint64_t>) {
      base::add(kind::unsigned_integer, name, at(m), t);
    } else if constexpr (std::same_as<T, double>) {
      base::add(kind::real, name, at(m), t);
    } else if constexpr (std::same_as<T, bool>) {
      base::add(kind::boolean, name, at(m), t);
    } else if constexpr (std::same_as<T, std::string>) {
      base::add(kind::text, name, at(m), t);
    } else if constexpr (std::same_as<T, std::vector<std::int64_t>>) {
      base::add(kind::integers, name, at(m), t);
    } else {
      static_assert(std::same_as<T, std::vector<scalar>>,
                    "a value is a scalar, an int64, a uint64, a double, a bool, an enumeration, a "
                    "string, or a vector of int64 or scalars");
      base::add(kind::scalars, name, at(m), t);
    }
    return *this;
  }
  /// Includes the fields of a struct that has its own description, as if they were the request's.
  template <class Group>
  description& group(text name, Group R::* m) {
    return base::add_group(name, at(m), description_of<Group>()), *this;
  }
  /// A field of a struct within the request, for all functions here. It is named `mask.left`.
  template <class Group, class T>
  [[nodiscard]] auto in(Group R::* group, T Group::* m) const noexcept -> T R::* {
    const std::byte* const field = reinterpret_cast<const std::byte*>(&(defaults_->*group.*m));
    // In the ABI of g++, clang and nvcc a pointer to a data member is its offset.
    return std::bit_cast<T R::*>(field - reinterpret_cast<const std::byte*>(defaults_));
  }
  template <class Group>
  description& groups(text name, std::vector<Group> R::* m, text t) {
    base::add_groups(name, at(m), detail::group_list_type_of<Group>, description_of<Group>(), t);
    return *this;
  }

  // Conditions. ---------------------------------------------------------------------------------

  [[nodiscard]] condition zero(scalar R::* m) const { return on(condition::test::zero, m); }
  [[nodiscard]] condition zero(std::vector<scalar> R::* m) const {
    return on(condition::test::all_zero, m);
  }
  [[nodiscard]] condition is(bool R::* m) const { return on(condition::test::set, m); }
  [[nodiscard]] condition given(any_tensor R::* m) const { return on(condition::test::given, m); }
  /// True unless a group's first list of integers is empty, as the program of a function is.
  template <class Group>
    requires requires(description<Group>& d) { Group::describe(d); }
  [[nodiscard]] condition given(Group R::* m) const {
    condition c = on(condition::test::not_empty, m);
    c.field += small(base::first_list(description_of<Group>()));
    return c;
  }
  [[nodiscard]] condition has_rank(any_tensor R::* m, std::uint32_t rank) const {
    return on(condition::test::rank, m, rank);
  }
  [[nodiscard]] condition same_view(any_tensor R::* m, any_tensor R::* other) const {
    condition c = on(condition::test::same_view, m);
    c.other = small(at(other));
    return c;
  }
  [[nodiscard]] condition in_place(any_tensor R::* m, any_tensor R::* other) const {
    condition c = on(condition::test::in_place, m);
    c.other = small(at(other));
    return c;
  }
  [[nodiscard]] condition is(any_tensor R::* m, std::initializer_list<dtype> types) const {
    return on(condition::test::type_of, m, mask_of(types));
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  [[nodiscard]] condition is(Enum R::* m, std::initializer_list<Enum> values) const {
    return on(condition::test::one_of, m, mask_of(values));
  }
  /// True for the enumerators that satisfy one of these predicates.
  template <class Enum, class... Which>
    requires std::is_enum_v<Enum> && (std::is_invocable_r_v<bool, Which, Enum> && ...)
  [[nodiscard]] condition is(Enum R::* m, Which... which) const {
    std::uint32_t mask = 0;
    for (int v = 0; v < detail::most_enumerators; ++v) {
      if ((which(static_cast<Enum>(v)) || ...)) mask |= 1U << v;
    }
    return on(condition::test::one_of, m, mask);
  }

  // For the preceding field. --------------------------------------------------------------------

  /// The field is read and written if one of these conditions holds. Otherwise its stated role
  /// applies; if that is `updates`, it is overwritten.
  description& updated_where(std::initializer_list<condition> any_of) {
    return base::role_where(any_of, access::update), *this;
  }
  description& updated_where(const condition& c) { return updated_where({c}); }
  /// The field's old content is not used if `c` holds.
  description& old_content_unless(const condition& c) { return updated_where(!c); }
  /// The field is written if `c` holds; otherwise its stated role applies.
  description& written_where(const condition& c) {
    return base::role_where(std::initializer_list<condition>{c}, access::write), *this;
  }
  /// The field has these extents if `c` holds. If several conditions hold, the first one counts.
  description& shape_where(const condition& c, shape s) { return base::shape_where(c, s), *this; }
  description& optional() { return base::optional(), *this; }
  /// The field must be given if `c` holds, and must not be given otherwise.
  description& given_where(const condition& c) { return base::given_where(c), *this; }
  /// Unless `c` holds, the field is not given or has its default value. All such conditions apply.
  description& only_where(const condition& c) { return base::only_where(c), *this; }
  /// The range of a number, or of the length of a text or list.
  description& range(double least, double most) { return base::range(least, most, false), *this; }
  description& at_least(double least) { return base::range(least, infinite, false), *this; }
  description& above(double least) { return base::range(least, infinite, true), *this; }
  description& finite() { return base::range(-infinite, infinite, false), *this; }
  /// The field is written and may be the same view as `m`.
  description& may_be(any_tensor R::* m) { return base::may_be(at(m)), *this; }
  /// The field may share elements with `m`; a rule says how.
  description& may_share(any_tensor R::* m) { return base::may_share(at(m)), *this; }
  /// The field is written, and several of its indices may refer to the same element.
  description& may_repeat() { return base::may_repeat(), *this; }

  /// The field is a `host_tensor`: the program and the worker both access it.
  description& in_host_memory() { return base::in_host_memory(), *this; }
  /// A result that is left out gets the order of dimensions in memory that `m` has.
  description& ordered_as(any_tensor R::* m) { return base::ordered_as(at(m)), *this; }

  // For several fields. -------------------------------------------------------------------------

  description& layouts(layout how, std::initializer_list<any_tensor R::*> of) {
    return base::layouts(how, offsets(of)), *this;
  }
  description& layouts(layout how, std::initializer_list<std::vector<any_tensor> R::*> of) {
    return base::layouts(how, offsets(of)), *this;
  }
  /// The extents of results that are left out, where they follow from other fields but not from the
  /// extents of one tensor. `derive` is called before any check; it adds nothing where they do not
  /// follow. A rule checks the results that are given.
  description& derived(const extent& e,
                       void (*derive)(const R&, std::vector<std::int64_t>& extents)) {
    base::derive_extents(
        e.symbol(), reinterpret_cast<detail::any_rule>(derive),
        [](detail::any_rule function, const void* request, std::vector<std::int64_t>& extents) {
          reinterpret_cast<void (*)(const R&, std::vector<std::int64_t>&)>(function)(
              *static_cast<const R*>(request), extents);
        });
    return *this;
  }
  /// The types and extents of the results in a list that is left out. `derive` is called before any
  /// check.
  description& derived(std::vector<any_tensor> R::* m,
                       result<std::vector<tensor_form>> (*derive)(const R&)) {
    base::derive_forms(at(m), reinterpret_cast<detail::any_rule>(derive),
                       [](detail::any_rule function, const void* request) {
                         return reinterpret_cast<result<std::vector<tensor_form>> (*)(const R&)>(
                             function)(*static_cast<const R*>(request));
                       });
    return *this;
  }
  /// The types of these tensors must match one row. A tensor that is not given matches any row.
  description& types(std::initializer_list<any_tensor R::*> of, const type_rows& rows) {
    return base::types(offsets(of), rows), *this;
  }
  /// The types given last need not match if one of these conditions holds; a rule then checks them.
  description& types_unless(std::initializer_list<condition> any_of) {
    return base::types_unless(any_of), *this;
  }
  /// All of these tensors have the same type, which is one of `types`.
  description& same_type(std::initializer_list<any_tensor R::*> of,
                         std::initializer_list<dtype> types) {
    type_rows rows({});
    for (const dtype type : types)
      rows.rows.emplace_back(of.size(), type);
    return this->types(of, rows);
  }
  /// These numbers must suit the tensor's type: real for a real type, 32-bit integers for i32.
  description& factors(std::initializer_list<scalar R::*> of, any_tensor R::* m) {
    return base::factors(offsets(of), at(m)), *this;
  }
  /// These numbers have no imaginary part, whatever the types.
  description& real(std::initializer_list<scalar R::*> of) {
    return base::real(offsets(of)), *this;
  }
  /// A rule that the functions above cannot express. It runs after them, so it repeats none of
  /// them.
  description& rule(text what, void (*check)(argument_checks&, const R&)) {
    base::rule(what, reinterpret_cast<detail::any_rule>(check),
               [](detail::any_rule function, const void* request, argument_checks& to) {
                 reinterpret_cast<void (*)(argument_checks&, const R&)>(function)(
                     to, *static_cast<const R*>(request));
               });
    return *this;
  }

  // Outputs after a failure. ----------------------------------------------------------------------
  // The outputs of a failed request are undefined (`errc::tainted_buffer`), unless:

  /// The request fails before it writes anything.
  description& keeps_on_failure() { return base::keeps_on_failure(), *this; }
  /// It fails with this code because of its data (`errc::numerical`, `errc::capacity_exceeded`),
  /// and the condition holds: the caller has given a tensor that tells the outcome, and looks at
  /// it.
  description& keeps_outcomes(errc of, const condition& where) {
    return base::keeps_outcomes(of, where), *this;
  }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  // Computed within an existing object, because `offsetof` supports fewer types.
  template <class T>
  [[nodiscard]] std::size_t at(T R::* m) const noexcept {
    return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&(defaults_->*m)) -
                                    reinterpret_cast<const std::byte*>(defaults_));
  }
  [[nodiscard]] static std::uint32_t small(std::size_t offset) noexcept {
    return static_cast<std::uint32_t>(offset);
  }
  template <class T>
  [[nodiscard]] condition on(condition::test what, T R::* m, std::uint32_t mask = 0) const {
    return {.what = what, .field = small(at(m)), .mask = mask};
  }
  template <class Enum>
  [[nodiscard]] static std::uint32_t mask_of(std::initializer_list<Enum> values) noexcept {
    std::uint32_t mask = 0;
    for (const Enum value : values)
      mask |= 1U << static_cast<unsigned>(value);
    return mask;
  }
  template <class T>
  [[nodiscard]] std::vector<std::size_t> offsets(std::initializer_list<T R::*> of) const {
    std::vector<std::size_t> all;
    for (const auto m : of)
      all.push_back(at(m));
    return all;
  }
  description& tensor(text name, std::size_t offset, access role, shape s, text t) {
    return base::add_tensor(detail::field_kind::tensor, name, offset, role, s, t), *this;
  }
  description& tensors(text name, std::size_t offset, access role, shape s, text t) {
    return base::add_tensor(detail::field_kind::tensors, name, offset, role, s, t), *this;
  }

  const R* defaults_;
};

/// The table of a request or of a group of fields, made on first use.
template <class R>
const description_table& description_of() {
  static const R defaults{};
  static const description_table& table = detail::make_description_table(
      []() -> std::string_view {
        if constexpr (requires { R::name; }) return R::name;
        return {};
      }(),
      sizeof(R), &defaults,
      [](description_table& into, const void* of) {
        description<R> d(into, *static_cast<const R*>(of));
        R::describe(d);
      });
  return table;
}

}  // namespace troupe
