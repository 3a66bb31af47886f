#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

/// Makes a request type at run time, for operations that another language or a file brings. Its
/// requests are `any_request`s. Its executor is added by `operation_table::insert`; what
/// `operation::executor` points to is the executor's own.
///
/// The program and its workers make the same type each: its id follows from its name, fields and
/// reply, so that one which differs is refused as an operation that the worker does not have.
/// \code
///   request_builder made("image.blur");
///   const extent h = made.size("h"), w = made.size("w");
///   made.about("Averages each pixel with its neighbours.");
///   made.tensor("x", access::read, {h, w}, "image").tensor("y", access::write, {h, w}, "result");
///   made.value("radius", std::int64_t{1}, "in pixels").at_least(0);
///   const request_type* type = made.same_type({"x", "y"}, {dtype::f32}).make().value();
/// \endcode
class TROUPE_EXPORT request_builder {
 public:
  /// A field's default, from which its kind follows.
  using default_value = std::variant<scalar, std::int64_t, std::uint64_t, double, bool, std::string,
                                     std::vector<std::int64_t>, std::vector<scalar>>;
  using names = std::initializer_list<std::string_view>;
  using shape = std::initializer_list<extent>;
  using extents = std::span<const extent>;

  /// `library.operation`.
  explicit request_builder(std::string_view name);
  request_builder(request_builder&&) noexcept;
  request_builder& operator=(request_builder&&) noexcept;
  ~request_builder();

  // As in `description`, but that fields are named.

  request_builder& about(std::string_view summary, std::string_view source = {});
  [[nodiscard]] extent size(std::string_view name);
  [[nodiscard]] extent sizes(std::string_view name, int least, int most = max_rank);

  request_builder& tensor(std::string_view name, access role, shape s, std::string_view text);
  request_builder& tensors(std::string_view name, access role, shape s, std::string_view text);
  // The same where the number of extents is known at run time only. Without one, any shape.
  request_builder& tensor(std::string_view name, access role, extents s, std::string_view text);
  request_builder& tensors(std::string_view name, access role, extents s, std::string_view text);
  request_builder& value(std::string_view name, const default_value& otherwise,
                         std::string_view text);
  /// Its default is the first enumerator; there are at most 24.
  request_builder& enumeration(std::string_view name, const std::vector<std::string>& enumerators,
                               std::string_view text);

  // Properties of the last field.

  request_builder& optional();
  request_builder& range(double least, double most);
  request_builder& at_least(double least);

  // Properties of several fields.

  request_builder& layouts(layout how, names tensors);
  request_builder& types(names tensors, const type_rows& rows);
  request_builder& types(std::span<const std::string> tensors, const type_rows& rows);
  request_builder& same_type(names tensors, std::initializer_list<dtype> types);

  /// Adds a field of the reply. Without one there is no reply.
  request_builder& reply_value(std::string_view name, const default_value& otherwise,
                               std::string_view text);

  /// Makes the type, for good, and adds it to the catalogue. A type of the same name, fields and
  /// reply that is there already is answered instead. Nothing else may be called afterwards.
  /// \errors `invalid_argument`: the name is not `library.operation` or is of another type; a field
  /// of that name is there twice, or is not there; too many enumerators
  [[nodiscard]] result<const request_type*> make();

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace troupe
