#pragma once

#include <troupe/request/argument_checks.hpp>
#include <troupe/request/request.hpp>
#include <troupe/rng/generator.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

/// The common rules of this library's requests.
namespace troupe::rng {

/// The stream has all that a request consumes from `from` on.
argument_checks& stream_reaches(argument_checks& check, const any_tensor& to, const position& from,
                                std::int64_t consumes);
/// Only the pseudorandom generators will do.
argument_checks& is_pseudorandom(argument_checks& check, const position& from);

/// The stream of drawn numbers, into a `to` of one of these types.
template <class R>
void describe_stream(description<R>& d, std::initializer_list<dtype> types) {
  d.group("from", &R::from);
  d.same_type({&R::to}, types);
  d.rule("the stream reaches as far as the request consumes of it",
         [](argument_checks& check, const R& r) {
           stream_reaches(check, r.to, r.from, r.consumes());
         });
}
/// The same, and a `to` of any shape.
template <class R>
void describe_drawn(description<R>& d, std::initializer_list<dtype> types) {
  d.writes("to", &R::to, {}, "gets the drawn numbers, in row-major order");
  describe_stream(d, types);
}
template <class R>
void takes_pseudorandom_only(description<R>& d) {
  d.rule("the generator is pseudorandom",
         [](argument_checks& check, const R& r) { is_pseudorandom(check, r.from); });
}

}  // namespace troupe::rng
