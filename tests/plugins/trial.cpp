#include "trial.hpp"

#include <string>

namespace trial {
namespace {

using troupe::errc;
using troupe::error;

troupe::result<void> check_vector(const char* field, const troupe::any_tensor& t) {
  if (!t.null() && t.type() == troupe::dtype::f32 && t.rank() == 1) return {};
  return error{.code = errc::type_mismatch,
               .message = std::string(field) + " is " + (t.null() ? "null" : t.to_string()) +
                          ", not f32[n]"};
}

}  // namespace

void affine::describe(troupe::field_visitor& fields) {
  fields.reads("x", x);
  fields.writes("y", y);
  fields.reads("until", until);
  fields.value("a", a);
  fields.value("b", b);
}

troupe::result<void> affine::validate() const {
  if (auto vector = check_vector("x", x); !vector) return vector;
  if (auto vector = check_vector("y", y); !vector) return vector;
  if (x.extent(0) != y.extent(0)) {
    return error{.code = errc::shape_mismatch,
                 .message = "x is " + x.to_string() + " but y is " + y.to_string()};
  }
  if (x.overlaps(y)) return error{.code = errc::aliasing, .message = "y overlaps x"};
  if (!y.injective()) return error{.code = errc::layout_unsupported, .message = "y is broadcast"};
  if (!until.null() && (until.type() != troupe::dtype::u32 || until.count() != 1 ||
                        until.space() != troupe::memory_space::host)) {
    return error{.code = errc::invalid_argument, .message = "until is one u32 in host memory"};
  }
  return {};
}

void total::describe(troupe::field_visitor& fields) { fields.reads("x", x); }

troupe::result<void> total::validate() const { return check_vector("x", x); }

void misdeed::describe(troupe::field_visitor& fields) {
  fields.option("what", what, deed::be_refused);
  fields.writes("y", y);
}

troupe::result<void> misdeed::validate() const { return {}; }

}  // namespace trial
